"""What goes over OpenAI's wires, held against the vendor's own types; and
the vendor's own client on the other side of our fake."""

import asyncio
from collections.abc import Iterable

import openai
import pytest
from openai.types.chat import (
    ChatCompletionMessageParam,
    ChatCompletionToolUnionParam,
)
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.responses import (
    FunctionToolParam,
    Response,
    ResponseInputItemParam,
    ResponseStreamEvent,
)
from openai.types.responses.response_create_params import (
    ResponseCreateParamsBase,
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.providers.catalog.vendors import Vendor, find_vendor, vendors
from claw.providers.connection import Connection
from claw.providers.openai.chat.response import StreamReader
from claw.providers.openai.official import OpenAIProvider
from claw.providers.openai.provider import CompatibleProvider
from claw.providers.openai.responses.response import ResponsesReader
from claw.providers.settings import ReasoningSettings
from claw.testing.fake_openai import FakeOpenAI, Reply
from claw.testing.fake_responses import events


def read_answer(data):
    reader = StreamReader()
    reader.take_whole(data)
    return reader.end()[1]


def read_response(data):
    reader = ResponsesReader()
    reader.take_whole(data)
    return reader.end()[1]


MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
TOOLS = TypeAdapter(Iterable[ChatCompletionToolUnionParam])
PLAIN = TypeAdapter(CompletionCreateParamsNonStreaming)
STREAMED = TypeAdapter(CompletionCreateParamsStreaming)
ITEMS = TypeAdapter(list[ResponseInputItemParam])
FLAT_TOOLS = TypeAdapter(list[FunctionToolParam])
EVENT = TypeAdapter(ResponseStreamEvent)

CALL = ToolCall("call_1", "get_weather", '{"city": "Oslo"}')
PNG = "data:image/png;base64,iVBORw0KGgo="
REPLAY = ('{"by": "openai-responses", "items": [{"type": "reasoning", "id": '
          '"rs_1", "summary": [], "encrypted_content": "x"}, {"type": '
          '"function_call", "id": "fc_1", "call_id": "call_1", "name": '
          '"get_weather", "arguments": "{}", "status": "completed"}]}')
REQUESTS = {
    "short": ChatRequest([ChatMessage.user("hi")]),
    "long": ChatRequest([
        ChatMessage.system("Be brief."),
        ChatMessage.user(f"what is this? [IMAGE:{PNG}]"),
        encode_tool_calls(AssistantToolCalls("I look.", (CALL,), "hm",
                                             REPLAY)),
        encode_tool_result(ToolResultMessage("call_1", "5 C")),
        ChatMessage.assistant("5 degrees"),
        encode_tool_calls(AssistantToolCalls(None, (CALL,))),
        encode_tool_result(ToolResultMessage("call_1", "5 C")),
        ChatMessage.assistant("still 5 degrees"), ChatMessage.user("thanks"),
    ], tools=[ToolSpec("get_weather", "The weather.",
                       closed_object(city=string("a city"))),
              ToolSpec("mcp.odd/name", "", {"type": "object"})],
        max_tokens=100, response_schema={"type": "object"}),
}
EACH = pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
ROOMS = pytest.mark.parametrize("room", [CompatibleProvider, OpenAIProvider])
THINKING = ReasoningSettings(reasoning_effort="low")


def bodies(request, *, room=CompatibleProvider, wire_api="chat_completions",
           model="m", row=None):
    """What is sent, plain and streamed."""
    async def go(url):
        vendor = row or (find_vendor("openai") if room is OpenAIProvider
                         else Vendor("acme", "Acme", "", vision=True))
        provider = room.build(Connection(
            replace(vendor, url=url, wire_api=wire_api), "sk-1",
            reasoning=THINKING))
        await provider.chat(request, model, 0.5)
        async for _ in provider.stream_chat(request, model, 0.5):
            pass
        await provider.aclose()
    with FakeOpenAI(["fine"]) as server:
        asyncio.run(go(server.url))
    return [r.body for r in server.requests]


def fields(params):
    found = set(params.__annotations__)
    for base in params.__orig_bases__:
        found |= set(getattr(base, "__annotations__", {}))
    return found


@EACH
@ROOMS
def test_every_body_is_valid(request_, room):
    plain, streamed = bodies(request_, room=room, model="gpt-5-mini")

    PLAIN.validate_python(plain)
    STREAMED.validate_python(streamed)
    for body in (plain, streamed):
        MESSAGES.validate_python(body["messages"], strict=True)
        list(TOOLS.validate_python(body.get("tools", [])))


@EACH
@ROOMS
def test_nothing_is_sent_that_the_sdk_does_not_know(request_, room):
    known = fields(CompletionCreateParamsNonStreaming) | fields(
        CompletionCreateParamsStreaming)

    for body in bodies(request_, room=room, model="gpt-5-mini"):
        assert set(body) <= known


@EACH
@pytest.mark.parametrize("row", [
    v for v in vendors() if v.plugin == "compatible"], ids=lambda v: v.name)
def test_messages_and_tools_of_every_vendor_are_valid(request_, row):
    for body in bodies(request_, row=row):
        MESSAGES.validate_python(body["messages"], strict=True)
        list(TOOLS.validate_python(body.get("tools", [])))


@EACH
@ROOMS
@pytest.mark.parametrize("model", ["m", "gpt-6-luna"])
def test_every_body_of_the_responses_api_is_valid(request_, room, model):
    plain, streamed = bodies(request_, room=room, wire_api="responses",
                             model=model)

    TypeAdapter(ResponseCreateParamsNonStreaming).validate_python(plain)
    TypeAdapter(ResponseCreateParamsStreaming).validate_python(streamed)
    for body in (plain, streamed):
        ITEMS.validate_python(body["input"], strict=True)
        FLAT_TOOLS.validate_python(body.get("tools", []), strict=True)
        assert set(body) <= {*ResponseCreateParamsBase.__annotations__,
                             "stream"}


REPLIES = {
    "text": Reply("Hello there."),
    "calls": Reply("I look.", tool_calls=(("now", '{"a": 1}'), ("b", "{}"))),
    "thoughts": Reply("so", reasoning="hm", tool_calls=(("now", "{}"),)),
    "refusal": Reply(refusal="I can't help with that."),
    "short": Reply("cut", finish_reason="length"),
}
BY_REPLY = pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)


def with_sdk(reply, work):
    """What the official client makes of the fake's answer."""
    async def go(url):
        async with openai.AsyncOpenAI(api_key="sk-1", base_url=url,
                                      max_retries=0) as client:
            return await work(client)
    with FakeOpenAI([reply]) as server:
        return asyncio.run(go(server.url))


@BY_REPLY
def test_the_official_client_reads_the_fakes_chat_as_we_do(reply):
    async def plain(client):
        return await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}])
    found = with_sdk(reply, plain)
    message, ours = found.choices[0].message, read_answer(
        found.model_dump())

    assert (message.content or message.refusal) == ours.text
    assert [c.function.name for c in message.tool_calls or []] == [
        c.name for c in ours.tool_calls]


@BY_REPLY
def test_the_official_client_reads_the_fakes_response_as_we_do(reply):
    async def plain(client):
        return await client.responses.create(model="m", input="hi")
    found = with_sdk(reply, plain)
    Response.model_validate(found.model_dump(warnings=False))
    ours = read_response(found.model_dump(warnings=False))

    assert found.output_text == ("" if reply.refusal else ours.text)
    assert [i.name for i in found.output if i.type == "function_call"] == [
        c.name for c in ours.tool_calls]


@BY_REPLY
def test_the_official_client_reads_the_fakes_stream_as_we_do(reply):
    async def streamed(client):
        stream = await client.responses.create(model="m", input="hi",
                                               stream=True)
        async with stream:
            return [event async for event in stream]
    found = with_sdk(reply, streamed)
    text = "".join(e.delta for e in found if e.type in (
        "response.output_text.delta", "response.refusal.delta"))

    assert text == (reply.text or reply.refusal)
    assert found[-1].type in ("response.completed", "response.incomplete")


@BY_REPLY
def test_the_fakes_events_have_the_sdks_types(reply):
    for event in events(reply, {"model": "m", "input": "hi"}):
        EVENT.validate_json(event.partition("data: ")[2])
