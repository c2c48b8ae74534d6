"""The `ollama` SDK as the other side: requests fit its types, the answers
and streams that it reads from the fake are read alike by claw. That holds
the fake to the protocol, where no real Ollama can run.

Runs where `ollama` is installed (pip install ollama).
"""

import asyncio

import pytest

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, integer, string
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection
from claw.providers.ollama.provider import OllamaProvider
from claw.providers.settings import ReasoningSettings
from claw.testing.fake_ollama import FakeOllama, Model, broken_down
from claw.testing.fake_openai import Reply, tool_call

sdk = pytest.importorskip("ollama", reason="pip install ollama")
pytestmark = pytest.mark.peers

TOOL = ToolSpec("weather", "The weather.", closed_object(
    city=string("where"), days=integer("how many", default=3)))
PNG = "iVBORw0KGgo="
MODELS = [Model("m", tools=True, vision=True, thinking=True, num_ctx=8192)]
FULL = ChatRequest([
    ChatMessage.system("Be brief."),
    ChatMessage.user(f"Look [IMAGE:data:image/png;base64,{PNG}]"),
    encode_tool_calls(AssistantToolCalls(
        "I ask.", (ToolCall("c1", "weather", '{"city": "Oslo"}'),), "hm")),
    encode_tool_result(ToolResultMessage("c1", "5 degrees")),
    ChatMessage.user("And now? 你好")],
    tools=[TOOL], max_tokens=99, response_schema={"type": "object"})


def ours(server, request, stream=False):
    async def go():
        provider = OllamaProvider.build(Connection(
            Vendor("ollama", "Ollama", server.url, local=True),
            reasoning=ReasoningSettings(reasoning_enabled=True)))
        try:
            if not stream:
                return await provider.chat(request, "m", 0.5)
            return [c async for c in provider.stream_chat(
                request, "m", 0.5)][-1].response
        finally:
            await provider.aclose()
    return asyncio.run(go())


def wire(message):
    """A message of the SDK as it goes over the wire."""
    return message.model_dump(exclude_none=True)


def without_ids(message):
    """The SDK knows no ids of calls; servers that do get ours."""
    found = {k: v for k, v in message.items() if k != "tool_call_id"}
    if "tool_calls" in found:
        found["tool_calls"] = [{"function": c["function"]}
                               for c in found["tool_calls"]]
    return found


@pytest.mark.parametrize("stream", [False, True])
def test_a_full_request_fits_the_types(stream):
    with FakeOllama(["{}"], MODELS) as server:
        ours(server, FULL, stream)
    body = server.chats[0].body
    types = pytest.importorskip("ollama._types")
    parsed = types.ChatRequest(**body)
    dumped = parsed.model_dump(exclude_none=True)

    assert dumped["stream"] is stream
    assert dumped["think"] is True
    assert dumped["format"] == {"type": "object"}
    options = sdk.Options(**body["options"])
    assert (options.num_predict, options.temperature) == (99, 0.5)
    assert [wire(m) for m in (
        sdk.Message(role="system", content="Be brief."),
        sdk.Message(role="user", content="Look",
                    images=[sdk.Image(value=PNG)]),
        sdk.Message(role="assistant", content="I ask.", thinking="hm",
                    tool_calls=[sdk.Message.ToolCall(
                        function=sdk.Message.ToolCall.Function(
                            name="weather", arguments={"city": "Oslo"}))]),
        sdk.Message(role="tool", content="5 degrees", tool_name="weather"),
        sdk.Message(role="user", content="And now? 你好"))
    ] == [without_ids(m) for m in body["messages"]]
    assert parsed.tools[0].function.name == "weather"


@pytest.mark.parametrize("reply", [
    Reply("Hello 你好."), Reply("4", reasoning="two and two"),
    tool_call("weather", city="Oslo"), Reply("cut", finish_reason="length")])
@pytest.mark.parametrize("stream", [False, True])
def test_the_sdk_and_claw_read_the_same(reply, stream):
    request = ChatRequest([ChatMessage.user("hello")])
    with FakeOllama([reply], MODELS) as server:
        mine = ours(server, request, stream)
        with sdk.Client(server.url) as client:
            said = client.chat("m", [{"role": "user", "content": "hello"}],
                               stream=stream)
            pieces = list(said) if stream else [said]

    last = pieces[-1]
    assert last.done
    assert (mine.text or "") == "".join(
        p.message.content or "" for p in pieces)
    assert (mine.reasoning_content or "") == "".join(
        p.message.thinking or "" for p in pieces)
    assert [c.name for c in mine.tool_calls] == [
        c.function.name for p in pieces for c in p.message.tool_calls or ()]
    assert mine.finish_reason == last.done_reason
    assert (mine.usage.input_tokens, mine.usage.output_tokens) == (
        last.prompt_eval_count, last.eval_count)


def test_the_sdk_reads_what_the_fake_tells_of_models():
    with FakeOllama(models=MODELS, loads=[("m", 4096)]) as server, \
            sdk.Client(server.url) as client:
        shown = client.show("m")
        listed = client.list()
        running = client.ps()

    assert shown.capabilities == ["completion", "tools", "vision",
                                  "thinking"]
    assert shown.modelinfo["fake.context_length"] == 32768
    assert "8192" in shown.parameters
    assert [m.model for m in listed.models] == ["m"]
    assert running.models[0].context_length == 4096


def test_the_sdk_sees_the_fakes_errors():
    with FakeOllama([broken_down()], MODELS) as server, \
            sdk.Client(server.url) as client:
        with pytest.raises(sdk.ResponseError, match="not found") as missing:
            client.chat("none", [])
        with pytest.raises(sdk.ResponseError, match="running the model"):
            list(client.chat("m", [], stream=True))

    assert missing.value.status_code == 404
