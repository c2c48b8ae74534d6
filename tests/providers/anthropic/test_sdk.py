"""The official SDK as the other side: what we ask is valid by its types,
and both read the same answers from the same server."""

import asyncio
import json
from typing import get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.core.errors import ClawError, IncompleteAnswerError
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
from claw.net.http import to_bytes
from claw.providers.anthropic.errors import STATUSES
from claw.providers.anthropic.provider import AnthropicProvider
from claw.providers.anthropic.request import RequestOptions, build_request
from claw.providers.anthropic.response import FINISHED
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection
from claw.providers.settings import ReasoningSettings
from claw.testing.fake_anthropic import FakeAnthropic
from claw.testing.fake_anthropic_answers import Reply, faulty
from claw.testing.fake_anthropic_rules import complaint

anthropic = pytest.importorskip("anthropic")
pydantic = pytest.importorskip("pydantic")

PARAMS = anthropic.types.message_create_params
BODY = pydantic.TypeAdapter(PARAMS.MessageCreateParamsNonStreaming)
STREAMED = pydantic.TypeAdapter(PARAMS.MessageCreateParamsStreaming)
SYSTEM = pydantic.TypeAdapter(list[anthropic.types.TextBlockParam])
TOOLS = pydantic.TypeAdapter(list[anthropic.types.ToolParam])
BLOCKS = {kind: pydantic.TypeAdapter(of) for kind, of in {
    "text": anthropic.types.TextBlockParam,
    "image": anthropic.types.ImageBlockParam,
    "tool_use": anthropic.types.ToolUseBlockParam,
    "tool_result": anthropic.types.ToolResultBlockParam,
    "thinking": anthropic.types.ThinkingBlockParam,
    "redacted_thinking": anthropic.types.RedactedThinkingBlockParam,
}.items()}
# Gone from the SDK's types with the API's version 2026-10-21; models up to
# Claude 4.6 still take it in the version that we speak.
OLD_KEYS = {"temperature"}

PNG = "[IMAGE:data:image/png;base64,iVBORw0KGgo=]"
REPLAY = json.dumps({"by": "anthropic", "blocks": [
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "ZGF0YQ=="}]})
TOOL = ToolSpec("get_weather", "The weather.",
                closed_object(city=string("a city")))


def check(body):
    """Raises where the SDK's types, or the API's rules, are broken."""
    body = json.loads(to_bytes(body))
    (STREAMED if body.get("stream") else BODY).validate_python(body)
    SYSTEM.validate_python(body.get("system", []))
    TOOLS.validate_python(body.get("tools", []))
    for message in body["messages"]:
        assert set(message) == {"role", "content"}
        for block in message["content"]:
            known = BLOCKS[block["type"]]
            known.validate_python(block)
            content = block.get("content")
            for inner in content if isinstance(content, list) else ():
                BLOCKS[inner["type"]].validate_python(inner)
    assert set(body) <= OLD_KEYS | set(get_type_hints(
        PARAMS.MessageCreateParamsNonStreaming))
    assert complaint(body) is None


def test_the_checks_find_what_is_wrong():
    good = build_request(ChatRequest([ChatMessage.user("hi")]), "m", 0.5,
                    RequestOptions()).body
    check(good)

    for broken in ({**good, "max_tokens": "many"}, {**good, "odd": 1},
                   {**good, "messages": [{"role": "user", "content": [
                       {"type": "text"}]}]},
                   {**good, "tools": [{"name": "a"}]},
                   {**good, "system": [{"type": "text", "text": 3}]}):
        with pytest.raises((AssertionError, pydantic.ValidationError)):
            check(broken)


def calls(*ids, **more):
    return encode_tool_calls(AssistantToolCalls("I look.", tuple(
        ToolCall(i, "get_weather", '{"city": "Oslo"}') for i in ids),
        **more))


def result(given, text="5 C"):
    return encode_tool_result(ToolResultMessage(given, text))


REQUESTS = {
    "short": ChatRequest([ChatMessage.user("hi")]),
    "long": ChatRequest([
        ChatMessage.system("x" * 4000), ChatMessage.user(f"see {PNG}"),
        calls("1", "2", replay=REPLAY), result("1"),
        result("2", f"Error: no {PNG}"), ChatMessage.assistant("5 degrees"),
        ChatMessage.user("thanks")], tools=[TOOL], max_tokens=5000,
        response_schema={"type": "object", "properties": {
            "a": {"type": "integer"}}}),
}
MODELS = ["claude-haiku-4-5", "claude-opus-4-6", "claude-sonnet-5", "other"]


@pytest.mark.each("request_", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.each("model", MODELS)
@pytest.mark.each("reasoning", [
    ReasoningSettings(), ReasoningSettings(reasoning_enabled=False),
    ReasoningSettings(reasoning_effort="high")])
@pytest.mark.each("stream", [False, True])
def test_every_body_is_valid(request_, model, reasoning, stream):
    asking = RequestOptions(reasoning, identity=stream)

    check(build_request(request_, model, 1.7, asking, stream=stream).body)


ODD = st.text(st.one_of(st.characters(), st.sampled_from(
    "\0\n \ud83d\ude00")), max_size=20) | st.sampled_from(
    [PNG, "[IMAGE:https://x.io/a.png]", " ", "Error: x", "",
     "[IMAGE:data:image/png;base64,###]"])
IDS = st.sampled_from(["1", "1", "2", "x.y", "", "호"])
ARGUMENTS = st.sampled_from(["{}", '{"a": NaN}', "[", "", '{"a": [1]}'])
MESSAGES = st.one_of(
    st.builds(ChatMessage, st.sampled_from(
        ["system", "user", "assistant", "tool"]), ODD),
    st.builds(lambda text, found, replay: encode_tool_calls(
        AssistantToolCalls(text, tuple(found), replay=replay)),
        st.none() | ODD,
        st.lists(st.builds(ToolCall, IDS, ODD, ARGUMENTS), max_size=3),
        st.sampled_from([None, REPLAY, "{"])),
    st.builds(result, IDS, ODD))


@settings(max_examples=300, deadline=None,
          suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MESSAGES, max_size=9),
       st.lists(st.builds(ToolSpec, ODD, ODD, st.just({})), max_size=3),
       st.sampled_from(MODELS), st.none() | st.integers(1, 9000),
       st.sampled_from([None, False, True]))
def test_any_conversation_makes_a_valid_body(messages, tools, model,
                                             max_tokens, thinks):
    request = ChatRequest(messages, tools=tools, max_tokens=max_tokens)
    asking = RequestOptions(ReasoningSettings(reasoning_enabled=thinks))

    check(build_request(request, model, 0.5, asking).body)


def thinking(text="hm"):
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


def text(value):
    return {"type": "text", "text": value}


def tool(wire_id="t1", **given):
    return {"type": "tool_use", "id": wire_id, "name": "get_weather",
            "input": given}


SEARCH = ({"type": "server_tool_use", "id": "s1", "name": "web_search",
           "input": {"query": "x"}},
          {"type": "web_search_tool_result", "tool_use_id": "s1",
           "content": []})
COUNTS = (("input_tokens", 20), ("output_tokens", 9),
          ("cache_read_input_tokens", 30),
          ("cache_creation_input_tokens", 4))
ANSWERS = {
    "basic": Reply("Hello there! 안녕 😀", usage=COUNTS),
    "tool": Reply(blocks=(text("I look."), tool(city="Paris"))),
    "tools": Reply(blocks=(tool(city="Oslo"), tool("t2", city="Rome"))),
    "no input": Reply(blocks=(tool(),)),
    "thinking": Reply(blocks=(thinking(), text("42"))),
    "interleaved": Reply(blocks=(thinking("a"), text("I look."),
                                 thinking("b"), tool(city="Oslo"))),
    "redacted": Reply(blocks=({"type": "redacted_thinking", "data": "ZA=="},
                              text("fine"))),
    "server tools": Reply(blocks=(*SEARCH, text("found"), tool(city="x"))),
    "cut": Reply("half an", stop_reason="max_tokens", usage=COUNTS),
    "long": Reply("word " * 2000 + "end", chunk_size=3),
}
STOPS = {"stop": "end_turn", "length": "max_tokens",
         "tool_calls": "tool_use"}


def ours(url, *, stream):
    async def go():
        provider = AnthropicProvider.build(Connection(
            Vendor("anthropic", "Anthropic", url), "sk-test"))
        request = ChatRequest([ChatMessage.user("hi")], tools=[TOOL])
        try:
            if not stream:
                return await provider.chat(request, "claude-haiku-4-5", 0.5)
            return [c async for c in provider.stream_chat(
                request, "claude-haiku-4-5", 0.5)][-1].response
        finally:
            await provider.aclose()
    return asyncio.run(go())


def theirs(url, *, stream):
    asked = {"model": "claude-haiku-4-5", "max_tokens": 4096,
             "messages": [{"role": "user", "content": [text("hi")]}]}
    with anthropic.Anthropic(base_url=url, api_key="sk-test",
                             max_retries=0) as client:
        if not stream:
            return client.messages.create(**asked)
        with client.messages.stream(**asked) as found:
            return found.get_final_message()


@pytest.mark.each("reply", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.each("stream", [False, True])
def test_both_read_the_same(reply, stream):
    with FakeAnthropic([reply]) as server:
        mine, other = (ask(server.url, stream=stream)
                       for ask in (ours, theirs))

    content = other.content
    assert (mine.text or "") == "\n".join(
        b.text for b in content if b.type == "text")
    assert [(c.id, c.name, json.loads(c.arguments))
            for c in mine.tool_calls] == [
        (b.id, b.name, b.input) for b in content if b.type == "tool_use"]
    assert (mine.reasoning_content or "") == "\n\n".join(
        b.thinking for b in content if b.type == "thinking")
    assert STOPS[mine.finish_reason] == other.stop_reason
    assert mine.model == other.model
    usage = other.usage
    assert mine.usage.output_tokens == usage.output_tokens
    assert mine.usage.cached_input_tokens == usage.cache_read_input_tokens
    assert mine.usage.cache_write_tokens \
        == usage.cache_creation_input_tokens
    assert mine.usage.input_tokens == (
        usage.input_tokens + usage.cache_read_input_tokens
        + usage.cache_creation_input_tokens)
    if mine.replay:
        kept = json.loads(mine.replay)["blocks"]
        assert kept == [
            {k: v for k, v in b.model_dump(exclude_unset=True).items()
             if k in ("type", "thinking", "signature", "data")}
            for b in content if b.type in ("thinking", "redacted_thinking")]


def test_what_the_sdk_gives_as_half_a_call_is_an_error_here():
    """The SDK parses partial JSON and hands over what there is; a tool must
    not run on half its arguments."""
    reply = Reply(blocks=(text("I write."), {
        **tool(), "input": '{"filename": "taxes.txt", "lines": ["a'}),
        stop_reason="max_tokens")
    with FakeAnthropic([reply]) as server:
        other = theirs(server.url, stream=True)
        with pytest.raises(IncompleteAnswerError, match="middle of a tool"):
            ours(server.url, stream=True)

    assert other.content[1].input["filename"] == "taxes.txt"


@pytest.mark.parametrize("fault", ["disconnect", "error", "malformed"])
def test_where_the_sdk_raises_so_do_we(fault):
    with FakeAnthropic([faulty(fault)]) as server:
        with pytest.raises(Exception) as other:
            theirs(server.url, stream=True)
        with pytest.raises(ClawError):
            ours(server.url, stream=True)

    assert not isinstance(other.value, ClawError)


def test_an_early_end_that_the_sdk_takes_for_an_answer_is_an_error_here():
    with FakeAnthropic([faulty("no_end")]) as server, \
            pytest.raises(IncompleteAnswerError, match="ended before"):
        ours(server.url, stream=True)


def test_every_reason_to_stop_and_every_error_is_known():
    stops = anthropic.types.stop_reason.StopReason.__args__
    kinds = anthropic.types.shared.error_type.ErrorType.__args__
    assert set(stops) <= set(FINISHED)
    assert {k for k in kinds if not k.startswith("memory_")} \
        <= set(STATUSES)
