"""Providers against aimock, someone else's idea of the OpenAI API."""

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
from claw.providers.catalog.vendors import Vendor, find_vendor
from claw.providers.check import check_provider
from claw.providers.connection import Connection
from claw.providers.factory import create_provider
from claw.providers.openai.official import OpenAIProvider
from claw.providers.openai.provider import CompatibleProvider
from claw.providers.settings import NamedProviderSettings

pytestmark = pytest.mark.peers

WEATHER = ToolSpec("get_weather", "The weather in a city.",
                   closed_object(city=string("a city")))
LONG = "Hello from the other side, a longer answer that comes in pieces. 안녕"

FIXTURES = [
    # results first: the first fixture that matches is played
    {"match": {"toolCallId": "call_1"},
     "response": {"content": "It is 5 degrees in Oslo."}},
    {"match": {"userMessage": "weather"}, "response": {"toolCalls": [
        {"id": "call_1", "name": "get_weather",
         "arguments": json.dumps({"city": "Oslo"})}]}},
    {"match": {"userMessage": "two things"}, "response": {
        "content": "I look.", "toolCalls": [
            {"id": "call_2", "name": "get_weather",
             "arguments": json.dumps({"city": "Oslo"})},
            {"id": "call_3", "name": "get_weather",
             "arguments": json.dumps({"city": "Rome, Überall 안녕"})}]}},
    {"match": {"userMessage": "think"}, "response": {
        "content": "so", "reasoning": "hm, hm"}},
    {"match": {"userMessage": "too fast"}, "response": {
        "error": {"message": "slow down", "type": "rate_limit_error"},
        "status": 429}},
    {"match": {"userMessage": "hello"}, "response": {"content": LONG}},
    {"match": {"userMessage": "OK"}, "response": {"content": "OK"}},
]


@pytest.fixture(scope="module")
def url(aimock, tmp_path_factory):
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES,
                "--chunk-size", "7") as address:
        yield address


@pytest.fixture(params=["compatible", "openai"])
def room(request):
    return request.param


@pytest.fixture(params=["chat_completions", "responses"])
def provider(request, room, url):
    """Both rooms, each over both APIs."""
    row = find_vendor("openai") if room == "openai" else Vendor(
        "custom", "Custom provider", "")
    kind = OpenAIProvider if room == "openai" else CompatibleProvider
    return kind.build(Connection(
        replace(row, url=url), "sk-test",
        NamedProviderSettings(wire_api=request.param)))


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
    return run(provider, provider.chat(request, "gpt-4o", 0.5))


def stream(provider, request):
    async def collect():
        return [c async for c in provider.stream_chat(request, "gpt-4o",
                                                      0.5)]
    return run(provider, collect())


def test_a_plain_answer(provider):
    response = chat(provider, asked("hello", tools=None))

    assert response.text == LONG
    assert response.finish_reason == "stop"


def test_a_streamed_answer_comes_in_pieces(provider):
    chunks = stream(provider, asked("hello", tools=None))

    assert len(chunks) > 5
    assert "".join(c.delta for c in chunks) == LONG
    assert chunks[-1].response.text == LONG


@pytest.mark.parametrize("ask", [
    chat, lambda *a: stream(*a)[-1].response], ids=["plain", "streamed"])
def test_a_tool_turn_and_its_result(provider, url, ask):
    (call,) = ask(provider, asked("weather")).tool_calls

    assert (call.id, call.name) == ("call_1", "get_weather")
    assert json.loads(call.arguments) == {"city": "Oslo"}

    again = create_provider(f"custom:{url}")
    answer = ask(again, asked(
        "weather", encode_tool_calls(AssistantToolCalls(None, (call,))),
        encode_tool_result(ToolResultMessage(call.id, "5 C"))))
    assert answer.text == "It is 5 degrees in Oslo."


@pytest.mark.parametrize("ask", [
    chat, lambda *a: stream(*a)[-1].response], ids=["plain", "streamed"])
def test_text_and_several_calls_in_one_answer(provider, ask):
    response = ask(provider, asked("two things"))

    assert response.text == "I look."
    assert [(c.id, json.loads(c.arguments)["city"])
            for c in response.tool_calls] == [
        ("call_2", "Oslo"), ("call_3", "Rome, Überall 안녕")]
    assert response.finish_reason == "tool_calls"


@pytest.mark.parametrize("ask", [
    chat, lambda *a: stream(*a)[-1].response], ids=["plain", "streamed"])
def test_thoughts_are_kept_apart(provider, ask):
    response = ask(provider, asked("think", tools=None))

    assert (response.text, response.reasoning_content) == ("so", "hm, hm")


@pytest.mark.parametrize("ask", [
    chat, lambda *a: stream(*a)[-1].response], ids=["plain", "streamed"])
def test_usage_is_counted(provider, ask):
    usage = ask(provider, asked("hello", tools=None)).usage

    assert usage is not None
    assert usage.input_tokens is not None


def test_a_rate_limit(provider):
    with pytest.raises(RateLimitedError, match=r"\(429\): slow down"):
        chat(provider, asked("too fast"))


def test_the_probes_pass(provider):
    checks = run(provider, check_provider(provider, "gpt-4o"))

    assert {"reach", "key", "model", "answer", "stream", "tools"} <= {
        c.id for c in checks if c.ok}
