"""The Anthropic wire against aimock, someone else's idea of the API."""

import asyncio
import json

import pytest

from claw.core.errors import (
    ClawError,
    IncompleteAnswerError,
    OverloadedError,
    RateLimitedError,
)
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.providers.anthropic.provider import AnthropicProvider
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection

pytestmark = pytest.mark.peers

MODEL = "claude-haiku-4-5"
WEATHER = ToolSpec("get_weather", "The weather in a city.",
                   closed_object(city=string("a city")))
LONG = "Hello from the other side, a longer answer that comes in pieces. 안녕"

FIXTURES = [
    # results first: the first fixture that matches is played
    {"match": {"toolCallId": "call_2"},
     "response": {"content": "5 degrees in Oslo, 20 in Rome."}},
    {"match": {"toolCallId": "call_1"},
     "response": {"content": "It is 5 degrees in Oslo."}},
    {"match": {"userMessage": "both cities"}, "response": {"toolCalls": [
        {"id": f"call_{n}", "name": "get_weather",
         "arguments": json.dumps({"city": city})}
        for n, city in ((1, "Oslo"), (2, "Rome"))]}},
    {"match": {"userMessage": "weather"}, "response": {"toolCalls": [
        {"id": "call_1", "name": "get_weather",
         "arguments": json.dumps({"city": "Oslo"})}]}},
    {"match": {"userMessage": "think"}, "response": {
        "content": "42", "reasoning": "Let me think about it."}},
    {"match": {"userMessage": "too fast"}, "response": {
        "error": {"message": "slow down", "type": "rate_limit_error"},
        "status": 429}},
    {"match": {"userMessage": "too many"}, "response": {
        "error": {"message": "Overloaded", "type": "overloaded_error"},
        "status": 529}},
    {"match": {"userMessage": "break off"},
     "response": {"content": LONG}, "truncateAfterChunks": 3},
    {"match": {"userMessage": "hello"}, "response": {"content": LONG}},
]


@pytest.fixture(scope="module")
def url(aimock, tmp_path_factory):
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES,
                "--chunk-size", "7") as address:
        yield address


@pytest.fixture
def provider(url):
    return AnthropicProvider.build(Connection(
        Vendor("anthropic", "Anthropic", url), "sk-ant-api03-canary"))


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def asked(text, *history, tools=(WEATHER,)):
    return ChatRequest([ChatMessage.user(text), *history], tools=tools)


def chat(provider, request):
    return run(provider, provider.chat(request, MODEL, 0.5))


def stream(provider, request):
    async def collect():
        return [c async for c in provider.stream_chat(request, MODEL, 0.5)]
    return run(provider, collect())


def streamed(provider, request):
    return stream(provider, request)[-1].response


both = pytest.mark.parametrize("ask", [chat, streamed],
                               ids=["plain", "streamed"])


@both
def test_an_answer(provider, ask):
    response = ask(provider, asked("hello", tools=None))

    assert (response.text, response.finish_reason) == (LONG, "stop")
    assert response.usage is not None


def test_a_streamed_answer_comes_in_pieces(provider):
    chunks = stream(provider, asked("hello", tools=None))

    assert len(chunks) > 5
    assert "".join(c.delta for c in chunks) == LONG


@both
def test_a_tool_turn_and_its_result(provider, ask):
    (call,) = ask(provider, asked("weather")).tool_calls

    assert (call.id, call.name) == ("call_1", "get_weather")
    assert json.loads(call.arguments) == {"city": "Oslo"}

    answer = ask(provider, asked(
        "weather", encode_tool_calls(AssistantToolCalls(None, (call,))),
        encode_tool_result(ToolResultMessage(call.id, "5 C"))))
    assert answer.text == "It is 5 degrees in Oslo."


@both
def test_two_tools_in_one_turn(provider, ask):
    calls = ask(provider, asked("both cities")).tool_calls
    assert [json.loads(c.arguments)["city"] for c in calls] == [
        "Oslo", "Rome"]

    answer = ask(provider, asked(
        "both cities", encode_tool_calls(AssistantToolCalls("", calls)),
        *(encode_tool_result(ToolResultMessage(c.id, "fine"))
          for c in calls)))
    assert answer.text == "5 degrees in Oslo, 20 in Rome."


@both
def test_thoughts_are_kept_apart(provider, ask):
    response = ask(provider, asked("think", tools=None))

    assert response.text == "42"
    assert response.reasoning_content == "Let me think about it."


@both
@pytest.mark.parametrize(("text", "kind", "status"), [
    ("too fast", RateLimitedError, 429), ("too many", OverloadedError, 529)])
def test_errors_by_their_names(provider, ask, text, kind, status):
    with pytest.raises(kind, match=rf"\({status}\)"):
        ask(provider, asked(text))


def test_a_stream_that_breaks_off(provider):
    with pytest.raises(IncompleteAnswerError):
        stream(provider, asked("break off", tools=None))


def test_what_no_fixture_answers(provider):
    with pytest.raises(ClawError) as raised:
        chat(provider, asked("something else"))

    assert "canary" not in str(raised.value)


def test_models_and_warming_up(provider):
    assert run(provider, provider.models())
    run(provider, provider.warmup())
