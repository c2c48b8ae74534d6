"""All three wires through LiteLLM, somebody else's converter between the
formats, with aimock behind it: the same question, the same answer."""

import asyncio
import json

import pytest

from claw.core.errors import AuthError
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.providers.factory import create_provider
from claw.providers.settings import NamedProviderSettings

pytestmark = pytest.mark.peers

KEY = "sk-front-0123456789abcdef"
TEXT = "Hello from the other side, in pieces. 안녕 👋"
WEATHER = ToolSpec("get_weather", "The weather in a city.",
                   closed_object(city=string("a city")))


def called(call_id, city):
    return {"id": call_id, "name": "get_weather",
            "arguments": json.dumps({"city": city})}


FIXTURES = [
    # results first: the first fixture that matches is played
    {"match": {"toolCallId": "call_b"},
     "response": {"content": "Oslo has 5 degrees, Rome 20."}},
    {"match": {"toolCallId": "call_1"},
     "response": {"content": "It is 5 degrees in Oslo."}},
    {"match": {"userMessage": "two cities"}, "response": {"toolCalls": [
        called("call_a", "Oslo"), called("call_b", "Rome")]}},
    {"match": {"userMessage": "weather"}, "response": {
        "toolCalls": [called("call_1", "Oslo")]}},
    {"match": {"userMessage": "hello"}, "response": {"content": TEXT}},
]


@pytest.fixture(scope="module")
def front(aimock, litellm, tmp_path_factory):
    folder = tmp_path_factory.mktemp("litellm")
    with aimock(folder, FIXTURES, "--chunk-size", "7") as behind, \
            litellm(folder, behind, KEY) as address:
        yield address


WIRES = ("compatible", "anthropic", "gemini")


def opened(wire, front, key=KEY):
    if wire == "compatible":
        return create_provider(f"custom:{front}/v1", key)
    if wire == "anthropic":
        return create_provider(f"anthropic-custom:{front}", key)
    return create_provider("gemini", key, named={
        "gemini": NamedProviderSettings(base_url=front)})


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def plain(wire, front, request):
    provider = opened(wire, front)
    return run(provider, provider.chat(request, "m", 0.5))


def streamed(wire, front, request):
    provider = opened(wire, front)

    async def collect():
        return [c async for c in provider.stream_chat(request, "m", 0.5)]
    return run(provider, collect())


def said(call):
    return call.name, json.loads(call.arguments)


def question(text, *after):
    return ChatRequest([ChatMessage.system("Be brief."),
                        ChatMessage.user(text), *after], tools=[WEATHER])


@pytest.mark.parametrize("wire", WIRES)
def test_a_plain_answer(wire, front):
    response = plain(wire, front, question("hello"))

    assert response.text == TEXT
    assert response.tool_calls == ()
    assert response.finish_reason == "stop"


@pytest.mark.parametrize("wire", WIRES)
def test_a_streamed_answer(wire, front):
    chunks = streamed(wire, front, question("hello"))

    assert "".join(c.delta for c in chunks) == TEXT
    assert chunks[-1].response.text == TEXT
    assert chunks[-1].response.finish_reason == "stop"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("text", "cities", "answer"), [
    ("the weather?", ["Oslo"], "It is 5 degrees in Oslo."),
    ("the weather in two cities?", ["Oslo", "Rome"],
     "Oslo has 5 degrees, Rome 20."),
])
def test_a_turn_with_tools(wire, stream, text, cities, answer, front):
    asked = question(text)
    response = streamed(wire, front, asked)[-1].response if stream \
        else plain(wire, front, asked)

    assert [said(c) for c in response.tool_calls] == [
        ("get_weather", {"city": city}) for city in cities]
    assert len({c.id for c in response.tool_calls}) == len(cities)

    results = [encode_tool_result(ToolResultMessage(call.id, "mild"))
               for call in response.tool_calls]
    again = question(text, encode_tool_calls(AssistantToolCalls(
        response.text, response.tool_calls, response.reasoning_content,
        response.replay)), *results)
    final = streamed(wire, front, again)[-1].response if stream \
        else plain(wire, front, again)

    assert final.text == answer


@pytest.mark.parametrize("wire", WIRES)
def test_a_wrong_key_is_said(wire, front):
    provider = opened(wire, front, "sk-wrong-0123456789abcdef")

    with pytest.raises(AuthError) as caught:
        run(provider, provider.chat(question("hello"), "m", 0.5))

    assert "sk-wrong" not in str(caught.value) + str(caught.value.hint)
