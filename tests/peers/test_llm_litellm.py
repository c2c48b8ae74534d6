"""All wires through LiteLLM, somebody else's converter between the formats,
with aimock behind it: the same question, the same answer, and the one that
the vendors' own clients get from the same proxy."""

import asyncio
import json
import urllib.request

import pytest

from claw.core.errors import AuthError, RateLimitedError, UnavailableError
from claw.providers.factory import create_provider
from claw.providers.settings import NamedProviderSettings

from .vendor_sdks import (
    WIRES,
    Question,
    Refusal,
    by_claw,
    by_sdk,
)

pytestmark = pytest.mark.peers

KEY = "sk-front-0123456789abcdef"
TEXT = "Hello from the other side, in small pieces. 안녕 👋"
CUT = "Hello from the other side, in pieces. 안녕 👋"
USAGE = {"prompt_tokens": 1234, "completion_tokens": 56,
         "input_tokens": 1234, "output_tokens": 56}
CITIES = {"the weather?": ["Oslo"], "two cities": ["Oslo", "Rome"]}


def called(call_id, city):
    return {"id": call_id, "name": "get_weather",
            "arguments": json.dumps({"city": city})}


FIXTURES = [
    # The first fixture that matches is played. Results are not told by the
    # ids of their calls: LiteLLM's Gemini side drops them (see below).
    {"match": {"userMessage": "two cities", "hasToolResult": True},
     "response": {"content": "Oslo has 5 degrees, Rome 20.",
                  "usage": USAGE}},
    {"match": {"userMessage": "weather", "hasToolResult": True},
     "response": {"content": "It is 5 degrees in Oslo.", "usage": USAGE}},
    {"match": {"userMessage": "two cities"}, "response": {
        "usage": USAGE, "toolCalls": [called("call_a", "Oslo"),
                                      called("call_b", "Rome")]}},
    {"match": {"userMessage": "weather"}, "response": {
        "usage": USAGE, "toolCalls": [called("call_1", "Oslo")]}},
    {"match": {"userMessage": "hello"}, "response": {
        "content": TEXT, "usage": USAGE}},
    {"match": {"userMessage": "cut"}, "response": {"content": CUT}},
    {"match": {"userMessage": "too fast"}, "response": {
        "error": {"message": "slow down", "type": "rate_limit_error"},
        "status": 429}},
]


@pytest.fixture(scope="module")
def servers(aimock, litellm, tmp_path_factory):
    """(LiteLLM, aimock behind it)"""
    folder = tmp_path_factory.mktemp("litellm")
    with aimock(folder, FIXTURES, "--chunk-size", "7") as behind, \
            litellm(folder, behind, KEY) as address:
        yield address, behind.removesuffix("/v1")


@pytest.fixture
def front(servers):
    return servers[0]


wires = pytest.mark.parametrize("wire", WIRES)
ways = pytest.mark.parametrize("stream", [False, True],
                               ids=["plain", "streamed"])


def both(wire, front, question, stream):
    """(what the vendor's client made of it, what claw made of it)"""
    asked = {"stream": stream, "model": "m"}
    return (by_sdk(wire, front, KEY, question, **asked),
            by_claw(wire, front, KEY, question, **asked))


@ways
@wires
def test_an_answer(wire, stream, front):
    client, ours = both(wire, front, Question("hello"), stream)

    assert ours == client
    assert (ours.text, ours.calls) == (TEXT, [])


@ways
@wires
@pytest.mark.parametrize(("text", "answer"), [
    ("the weather?", "It is 5 degrees in Oslo."),
    ("two cities", "Oslo has 5 degrees, Rome 20."),
])
def test_a_turn_with_tools(wire, stream, text, answer, servers):
    front, behind = servers
    client, first = both(wire, front, Question(text), stream)

    assert [(c.name, c.arguments) for c in first.calls] == [
        ("get_weather", {"city": city}) for city in CITIES[text]]
    assert [c[1:] for c in first.calls] == [c[1:] for c in client.calls]
    assert len({c.id for c in first.calls}) == len(CITIES[text])
    assert first.usage == client.usage

    results = tuple(f"mild in {city}" for city in CITIES[text])
    client, final = both(wire, front, Question(text, tuple(first.calls),
                                               results), stream)

    assert final == client
    assert final.text == answer
    for seen in last_two(behind):
        assert seen == list(zip(CITIES[text], results, strict=True))


def last_two(behind):
    """What the model saw of calls and results, of two requests."""
    with urllib.request.urlopen(f"{behind}/__aimock/journal",
                                timeout=10) as answer:
        bodies = [r["body"] for r in json.load(answer)[-2:]]
    for body in bodies:
        asked = [json.loads(c["function"]["arguments"])["city"]
                 for m in body["messages"] for c in m.get("tool_calls", [])]
        told = [m["content"] for m in body["messages"]
                if m["role"] == "tool"]
        yield list(zip(asked, [t[t.index("mild"):].rstrip('"}')
                               for t in told], strict=True))


def test_gemini_calls_come_without_ids_and_get_some(front):
    """LiteLLM's doing: the vendor's own client sees no ids either."""
    client, ours = both("gemini", front, Question("two cities"), False)

    assert [c.id for c in client.calls] == ["", ""]
    assert all(c.id for c in ours.calls)


def test_half_a_character_is_more_than_litellm_can_take(front):
    """aimock cuts text at UTF-16 units, LiteLLM answers 500 in the middle
    of such a stream; the vendor's own client fails as well."""
    import openai
    with pytest.raises(openai.APIError, match="surrogates not allowed"):
        by_sdk("chat", front, KEY, Question("cut"), stream=True, model="m")
    with pytest.raises(UnavailableError, match="surrogates not allowed"):
        by_claw("chat", front, KEY, Question("cut"), stream=True, model="m")


@ways
@wires
def test_a_rate_limit_behind_it_is_said(wire, stream, front):
    client = by_sdk(wire, front, KEY, Question("too fast"), stream=stream,
                    model="m")
    with pytest.raises(RateLimitedError, match="slow down") as caught:
        by_claw(wire, front, KEY, Question("too fast"), stream=stream,
                model="m")

    assert client.status == caught.value.status == 429


@ways
@wires
def test_a_wrong_key_is_said(wire, stream, front):
    """Without a database LiteLLM says 400 "No connected db." of every key
    but its own, to the vendors' clients as well."""
    wrong = "sk-wrong-0123456789abcdef"
    client = by_sdk(wire, front, wrong, Question("hello"), stream=stream,
                    model="m")
    with pytest.raises(AuthError) as caught:
        by_claw(wire, front, wrong, Question("hello"), stream=stream,
                model="m")

    assert client == Refusal(400, None)
    assert "sk-wrong" not in f"{caught.value} {caught.value.hint}"


def test_the_key_may_stand_in_the_query_of_gemini(front):
    """As claw sends it where nothing else is set."""
    provider = create_provider("gemini", KEY, named={
        "gemini": NamedProviderSettings(base_url=front)})

    async def go():
        try:
            return await provider.simple_chat("hello", "m", 0.5)
        finally:
            await provider.aclose()
    assert asyncio.run(go()) == TEXT
