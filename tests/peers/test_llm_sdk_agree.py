"""The same conversation through the vendors' own clients and through claw,
with aimock on the other side: text, calls, thoughts and usage are equal,
and what one calls an error the other does too."""

import json

import pytest

from claw.core.errors import (
    AuthError,
    ContextOverflowError,
    IncompleteAnswerError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)

from .vendor_sdks import (
    WIRES,
    Call,
    Question,
    Refusal,
    Usage,
    by_claw,
    by_sdk,
)

pytestmark = pytest.mark.peers

KEY = "sk-agree-0123456789abcdef"
MODELS = {"chat": "gpt-4o", "responses": "gpt-4o",
          "anthropic": "claude-test", "gemini": "gemini-2.5-flash"}
# Pieces of seven UTF-16 units: the hand below is cut in half.
CUT = "Hello from the other side, in pieces. 안녕 👋 שלום \u200dé\n\n  * done"
USAGE = {"prompt_tokens": 1234, "completion_tokens": 56,
         "input_tokens": 1234, "output_tokens": 56,
         "promptTokenCount": 1234, "candidatesTokenCount": 56}
ODD = {"city": "Ålesund \"x\" \\ 👋\n", "near": [1, -2.5, None, True, {}]}


def called(call_id, arguments):
    return {"id": call_id, "name": "get_weather",
            "arguments": json.dumps(arguments)}


def refused(words, status, kind, message, **more):
    return {"match": {"userMessage": words}, "response": {
        "error": {"message": message, "type": kind, **more.pop("error", {})},
        "status": status, **more}}


FIXTURES = [
    # the first fixture that matches is played
    {"match": {"userMessage": "two cities", "hasToolResult": True},
     "response": {"content": "Oslo has 5 degrees, Rome 20.",
                  "usage": USAGE}},
    {"match": {"userMessage": "weather", "hasToolResult": True},
     "response": {"content": "It is 5 degrees.", "usage": USAGE}},
    {"match": {"userMessage": "two cities"}, "response": {
        "usage": USAGE, "toolCalls": [
            called("call_a", {"city": "Oslo"}),
            called("call_b", {"city": "Rome"})]}},
    {"match": {"userMessage": "I look"}, "response": {
        "usage": USAGE, "content": "I look.",
        "toolCalls": [called("call_c", ODD)]}},
    {"match": {"userMessage": "think and call"}, "response": {
        "usage": USAGE, "reasoning": "Which city? Oslo 👋 perhaps.",
        "toolCalls": [called("call_d", {"city": "Oslo"})]}},
    {"match": {"userMessage": "think"}, "response": {
        "usage": USAGE, "content": "42",
        "reasoning": "Let me think about it, in pieces."}},
    {"match": {"userMessage": "no arguments"}, "response": {
        "usage": USAGE, "toolCalls": [called("call_e", {})]}},
    {"match": {"userMessage": "weather"}, "response": {
        "usage": USAGE, "toolCalls": [called("call_1", {"city": "Oslo"})]}},
    {"match": {"userMessage": "hello"}, "response": {
        "content": CUT, "usage": USAGE}},
    {"match": {"userMessage": "break off"},
     "response": {"content": CUT}, "truncateAfterChunks": 3},
    refused("too fast", 429, "rate_limit_error", "slow down", retryAfter=7),
    refused("no money", 429, "insufficient_quota",
            "You exceeded your current quota, please check your plan and "
            "billing details.", error={"code": "insufficient_quota"}),
    refused("too busy", 529, "overloaded_error", "Overloaded"),
    refused("broken", 500, "api_error", "Internal server error"),
    refused("too long", 400, "invalid_request_error",
            "prompt is too long: 213462 tokens > 200000 maximum",
            error={"code": "context_length_exceeded"}),
    refused("nonsense", 400, "invalid_request_error",
            "temperature: range: 0..1"),
    refused("no such", 404, "not_found_error", "model: nope"),
]

wires = pytest.mark.parametrize("wire", WIRES)
ways = pytest.mark.parametrize("stream", [False, True],
                               ids=["plain", "streamed"])


@pytest.fixture(scope="module")
def base(aimock, tmp_path_factory):
    with aimock(tmp_path_factory.mktemp("aimock"), FIXTURES,
                "--chunk-size", "7", keys=[KEY]) as url:
        yield url.removesuffix("/v1")


def both(wire, base, question, stream, key=KEY):
    """(what the client made of it, what claw made of it)"""
    asked = {"stream": stream, "model": MODELS[wire]}
    return (by_sdk(wire, base, key, question, **asked),
            by_claw(wire, base, key, question, **asked))


@ways
@wires
@pytest.mark.parametrize(("text", "calls", "said", "thoughts"), [
    ("hello", [], CUT, ""),
    ("the weather?", [("call_1", {"city": "Oslo"})], "", ""),
    ("two cities", [("call_a", {"city": "Oslo"}),
                    ("call_b", {"city": "Rome"})], "", ""),
    ("I look", [("call_c", ODD)], "I look.", ""),
    ("no arguments", [("call_e", {})], "", ""),
    ("think and call", [("call_d", {"city": "Oslo"})], "",
     "Which city? Oslo 👋 perhaps."),
    ("think", [], "42", "Let me think about it, in pieces."),
])
def test_the_answers_are_equal(wire, stream, text, calls, said, thoughts,
                               base):
    client, ours = both(wire, base, Question(text), stream)

    assert ours._replace(signature="") == client._replace(signature="")
    assert ours.calls == [Call(i, "get_weather", a) for i, a in calls]
    assert (ours.text, ours.thoughts) == (said, thoughts)
    assert ours.usage == Usage(1234, 56)


@ways
@wires
@pytest.mark.parametrize(("text", "answer"), [
    ("the weather?", "It is 5 degrees."),
    ("two cities", "Oslo has 5 degrees, Rome 20."),
])
def test_a_turn_goes_on_with_the_results(wire, stream, text, answer, base):
    _, first = both(wire, base, Question(text), stream)
    results = tuple(f"{c.arguments['city']}: mild" for c in first.calls)
    client, ours = both(wire, base, Question(
        text, tuple(first.calls), results), stream)

    assert ours == client
    assert ours.text == answer


@ways
def test_signed_thoughts_are_kept_for_the_next_request(stream, base):
    client, ours = both("anthropic", base, Question("think and call"),
                        stream)

    assert ours.signature == client.signature != ""


@ways
@wires
@pytest.mark.parametrize(("text", "kind"), [
    ("too fast", RateLimitedError),
    ("no money", QuotaError),
    ("too busy", OverloadedError),
    ("broken", UnavailableError),
    ("too long", ContextOverflowError),
    ("nonsense", RequestRefusedError),
    ("no such", RequestRefusedError),
])
def test_a_refusal_is_one_on_both_sides(wire, stream, text, kind, base):
    asked = {"stream": stream, "model": MODELS[wire]}
    client = by_sdk(wire, base, KEY, Question(text), **asked)
    with pytest.raises(UnavailableError) as caught:
        by_claw(wire, base, KEY, Question(text), **asked)
    ours = caught.value

    assert type(ours) is kind
    assert ours.status == client.status
    assert ours.hint or text in ("nonsense", "no such")
    waits = None if client.wait is None else float(client.wait)
    assert ours.retry_after_s == waits


@ways
@wires
def test_a_wrong_key_is_one_on_both_sides(wire, stream, base):
    wrong = "sk-wrong-0123456789abcdef"
    asked = {"stream": stream, "model": MODELS[wire]}
    client = by_sdk(wire, base, wrong, Question("hello"), **asked)
    with pytest.raises(AuthError) as caught:
        by_claw(wire, base, wrong, Question("hello"), **asked)

    assert client == Refusal(401, None)
    assert "sk-wrong" not in f"{caught.value} {caught.value.hint}"


@wires
def test_a_stream_that_breaks_off_is_no_answer(wire, base):
    with pytest.raises(IncompleteAnswerError):
        by_claw(wire, base, KEY, Question("break off"), stream=True,
                model=MODELS[wire])
