"""The Gemini provider against aimock, someone else's idea of the API."""

import asyncio
import json

import pytest

from claw.core.errors import RateLimitedError
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.providers.catalog.vendors import Vendor
from claw.providers.check import check_provider
from claw.providers.connection import Connection
from claw.providers.gemini.provider import GeminiProvider

pytestmark = pytest.mark.peers

WEATHER = ToolSpec("get_weather", "The weather in a city.",
                   closed_object(city=string("a city")))
LONG = "Hello from the other side, a longer answer that comes in pieces. 안녕"
CITIES = ("Oslo", "Bergen")

FIXTURES = [
    # results first: the first fixture that matches is played
    {"match": {"toolCallId": "call_2"},
     "response": {"content": "5 degrees in both."}},
    {"match": {"userMessage": "weather"}, "response": {"toolCalls": [
        {"id": f"call_{n}", "name": "get_weather",
         "arguments": json.dumps({"city": city})}
        for n, city in enumerate(CITIES, 1)]}},
    {"match": {"userMessage": "too fast"}, "response": {
        "error": {"message": "slow down", "type": "rate_limit_error"},
        "status": 429}},
    {"match": {"userMessage": "think"}, "response": {
        "content": "yes", "reasoning": "hm, hm"}},
    {"match": {"userMessage": "cut"}, "response": {
        "content": "half", "finishReason": "length"}},
    {"match": {"userMessage": "hello"}, "response": {
        "content": LONG, "usage": {"promptTokenCount": 12,
                                   "candidatesTokenCount": 34}}},
    {"match": {"userMessage": "report_word"}, "response": {"toolCalls": [
        {"name": "report_word", "arguments": '{"word": "OK"}'}]}},
    {"match": {"userMessage": "OK"}, "response": {"content": "OK"}},
    {"match": {"userMessage": "colour"}, "response": {"content": "red"}},
]


@pytest.fixture(scope="module")
def url(aimock, tmp_path_factory):
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES,
                "--chunk-size", "7") as address:
        yield address.removesuffix("/v1")


def provider_at(url):
    return GeminiProvider(Connection(Vendor("gemini", "Gemini", url),
                                     key="any-key"))


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def asked(text, *history, tools=(WEATHER,)):
    return ChatRequest([ChatMessage.user(text), *history], tools=tools)


def chunks_of(provider, request):
    async def collect():
        return [c async for c in provider.stream_chat(
            request, "gemini-2.5-flash", 0.5)]
    return run(provider, collect())


def chat(provider, request):
    return run(provider, provider.chat(request, "gemini-2.5-flash", 0.5))


def stream(provider, request):
    return chunks_of(provider, request)[-1].response


ASKS = pytest.mark.parametrize("ask", [chat, stream],
                               ids=["plain", "streamed"])


@ASKS
def test_an_answer(ask, url):
    response = ask(provider_at(url), asked("hello", tools=None))

    assert response.text == LONG
    assert response.finish_reason == "stop"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (
        12, 34)


def test_a_streamed_answer_comes_in_pieces(url):
    chunks = chunks_of(provider_at(url), asked("hello"))

    assert len(chunks) > 5
    assert "".join(c.delta for c in chunks) == LONG


@ASKS
def test_a_turn_of_two_calls_and_their_results(ask, url):
    first = ask(provider_at(url), asked("weather"))

    assert [c.id for c in first.tool_calls] == ["call_1", "call_2"]
    assert [json.loads(c.arguments)["city"]
            for c in first.tool_calls] == list(CITIES)
    assert first.finish_reason == "tool_calls"

    calls = [replace(c, id=f"mine-{c.id}") for c in first.tool_calls]
    answer = ask(provider_at(url), asked(
        "weather", encode_tool_calls(AssistantToolCalls(
            first.text, tuple(calls), replay=first.replay)),
        *(encode_tool_result(ToolResultMessage(c.id, "5 C"))
          for c in calls)))
    assert answer.text == "5 degrees in both."


@ASKS
def test_thoughts_are_kept_apart(ask, url):
    response = ask(provider_at(url), asked("think"))

    assert (response.text, response.reasoning_content) == ("yes", "hm, hm")


@ASKS
def test_an_answer_at_its_limit(ask, url):
    assert ask(provider_at(url), asked("cut")).finish_reason == "length"


@ASKS
def test_a_rate_limit(ask, url):
    with pytest.raises(RateLimitedError, match=r"\(429\): slow down"):
        ask(provider_at(url), asked("too fast"))


def test_the_probes_pass(url):
    provider = provider_at(url)
    checks = run(provider, check_provider(provider, "gemini-2.5-flash"))

    assert {c.id for c in checks} >= {"reach", "key", "model", "answer",
                                      "stream", "tools"}
    assert [c for c in checks if not c.ok] == []
