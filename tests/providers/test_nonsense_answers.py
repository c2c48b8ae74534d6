"""Answers whose values are of any kind, in any place.

Each value of a recorded answer is replaced in turn by each of the values
below: the reader gives an answer that can be stored and sent, or one of the
errors that the providers translate, and never anything else.
"""

import json
import re
from itertools import product

import pytest
import raw_server as raw

from claw.agent.rounds.calls import native_call
from claw.core.errors import ClawError
from claw.core.provider import AssistantToolCalls, encode_tool_calls
from claw.net.errors import Peer, status_error
from claw.providers.anthropic.response import MessageReader
from claw.providers.gemini.response import Reader as GeminiReader
from claw.providers.ollama.model import loaded_context, read_model
from claw.providers.ollama.response import Reader as OllamaReader
from claw.providers.openai.chat.response import StreamReader
from claw.providers.openai.errors import find_error
from claw.providers.openai.responses.response import ResponsesReader
from claw.providers.wire.json import parse_json


def read_answer(data):
    reader = StreamReader()
    reader.take_whole(data)
    return reader.end()[1]


def read_response(data):
    reader = ResponsesReader()
    reader.take_whole(data)
    return reader.end()[1]


def read_message(data):
    reader = MessageReader("the server")
    reader.take_whole(data)
    return reader.end()[1]


PEER = Peer("Acme")


def nest(levels, value=1):
    for _ in range(levels):
        value = {"a": value}
    return value


VALUES = [None, True, -1, 2 ** 63, 10 ** 30, 1.5, float("nan"), 1e308, "",
          "\ud800", "\0", "<think>", "null", "[1]", '{"a":1}', "[" * 3000,
          [], [1], [None], [[]], {}, {"a": 1}, [{}], "stop", "length",
          "error", nest(150), nest(250),
          "@960", "@984"]
CALL = {"id": "t1", "type": "function", "index": 0,
        "function": {"name": "weather", "arguments": '{"city":"x"}'}}
DETAILS = [{"type": "reasoning.text", "text": "a", "index": 0}]


def chat():
    found = raw.chat_whole()
    found["choices"][0]["message"] |= {
        "tool_calls": [CALL], "reasoning_details": DETAILS, "refusal": None}
    return found


def chat_chunks():
    found = raw.chat_events()
    found[2:2] = [
        {"choices": [{"index": 0, "delta": {
            "tool_calls": [CALL], "reasoning": "x",
            "reasoning_details": DETAILS}}]},
        {"x_groq": {"usage": {"prompt_tokens": 1}}, "choices": [
            {"index": 0, "delta": {"reasoning_details": DETAILS,
                                   "tool_calls": [{"index": 0, "function": {
                                       "arguments": " "}}]}}]}]
    return found


def response():
    found = raw.responses_whole()
    found["output"] += [
        {"type": "function_call", "id": "f", "call_id": "c",
         "name": "weather", "arguments": "{}"},
        {"type": "reasoning", "id": "r", "encrypted_content": "zz",
         "summary": [{"type": "summary_text", "text": "s"}],
         "content": [{"text": "t"}]}]
    found["incomplete_details"] = {"reason": "x"}
    return found


def response_events():
    found = raw.responses_events()
    found[3:3] = [
        {"type": "response.output_item.added", "output_index": 1,
         "item": {**response()["output"][1], "arguments": ""}},
        {"type": "response.function_call_arguments.delta",
         "output_index": 1, "delta": "{}"},
        {"type": "response.reasoning_text.delta", "delta": "x"}]
    found[-1]["response"] = response()
    return found


def message():
    found = raw.messages_whole()
    found["content"] += [
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "tool_use", "id": "t", "name": "weather",
         "input": {"a": 1}}]
    return found | {"stop_details": {"category": "x"}}


def message_events():
    def start(index, **block):
        return {"type": "content_block_start", "index": index,
                "content_block": block}

    def delta(index, **given):
        return {"type": "content_block_delta", "index": index,
                "delta": given}
    found = raw.messages_events()
    found[5:5] = [
        start(1, type="tool_use", id="t", name="w", input={}),
        delta(1, type="input_json_delta", partial_json="{}"),
        start(2, type="thinking", thinking=""),
        delta(2, type="thinking_delta", thinking="x"),
        delta(2, type="signature_delta", signature="x")]
    return found


def candidate():
    found = raw.gemini_whole()
    found["candidates"][0] |= {
        "finishMessage": "x",
        "safetyRatings": [{"category": "A", "blocked": True}]}
    found["candidates"][0]["content"]["parts"] += [
        {"text": "th", "thought": True},
        {"functionCall": {"id": "i", "name": "w", "args": {"a": 1}},
         "thoughtSignature": "s"}]
    return found | {"promptFeedback": {"blockReasonMessage": "x"}}


def candidates():
    return [raw.gemini_events()[0], candidate()]


def told():
    found = raw.ollama_whole()
    found["message"] |= {"thinking": "x", "tool_calls": [
        {"id": "i", "function": {"name": "w", "arguments": {"a": 1}}},
        {"function": {"name": "tool_call",
                      "arguments": {"name": "x", "arguments": {}}}}]}
    return found


def told_lines():
    return [*raw.ollama_events()[:2], told(), raw.ollama_whole("")]


def errors():
    return {"error": {"message": "m", "code": "rate_limit", "type": "t",
                      "metadata": {"raw": "x"}},
            "base_resp": {"status_code": 1002, "status_msg": "x"},
            "choices": [{"error": {"message": "x"}}], "object": "error",
            "response": {"status": "failed", "error": {}}, "success": False}


def checked(data):
    """What the providers look at first."""
    if not isinstance(data, dict):
        raise ValueError("no object")
    error = find_error(data)
    if error is not None:
        raise status_error(PEER, error.status, error.text)
    return data


def streamed(reader, events):
    if not isinstance(events, list):
        raise ValueError("no events")
    shown = "".join(reader.take(checked(e)) for e in events)
    rest, found = reader.end()
    assert shown + rest == (found.text or "")
    return found


def gemini(data):
    reader = GeminiReader()
    reader.take(checked(data))
    failed = reader.failure(PEER)
    if failed is not None:
        raise failed
    return reader.end()[1]


READERS = [
    (chat, lambda d: read_answer(checked(d))),
    (chat_chunks, lambda d: streamed(StreamReader(), d)),
    (response, lambda d: read_response(checked(d))),
    (response_events, lambda d: streamed(ResponsesReader(), d)),
    (message, lambda d: read_message(checked(d))),
    (message_events, lambda d: streamed(MessageReader("Acme"), d)),
    (candidate, gemini),
    (candidates, lambda d: streamed(GeminiReader(), d)),
    (told, lambda d: streamed(OllamaReader(), [d])),
    (told_lines, lambda d: streamed(OllamaReader(), d)),
    (errors, checked),
]


def places(value, path=()):
    yield path
    rows = value.items() if isinstance(value, dict) else enumerate(
        value if isinstance(value, list) else ())
    for key, inner in rows:
        yield from places(inner, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def text(value):
    """JSON; "@960" becomes as many levels, more than json can write."""
    return re.sub(r'"@(\d+)"', lambda m: (
        '{"a":' * int(m[1]) + "1" + "}" * int(m[1])), json.dumps(value))


def can_be_kept(found):
    """Whether a file, the ledger and the next request can hold it."""
    encode_tool_calls(AssistantToolCalls(
        found.text, found.tool_calls, found.reasoning_content,
        found.replay)).content.encode()
    for text in (found.text, found.model, found.finish_reason):
        (text or "").encode()
    for call in found.tool_calls:
        assert call.id
        assert call.name
        call.arguments.encode()
        assert isinstance(native_call(call).arguments, dict)
    usage = found.usage
    for count in (usage.input_tokens, usage.output_tokens,
                  usage.cached_input_tokens,
                  usage.cache_write_tokens) if usage else ():
        assert count is None or (type(count) is int and 0 <= count < 2 ** 63)


@pytest.mark.parametrize(("make", "read"), READERS,
                         ids=[r[0].__name__ for r in READERS])
def test_any_value_in_any_place_is_an_answer_or_a_named_error(make, read):
    given = make()
    for path in places(given):
        for value in VALUES:
            try:
                found = read(parse_json(text(replaced(given, path, value))))
            except UnicodeError:
                raise
            except (ClawError, ValueError):
                continue
            if found is not None and make is not errors:
                can_be_kept(found)


def test_what_ollama_tells_of_models_may_be_anything():
    shown = {"capabilities": ["tools"], "parameters": "num_ctx 5",
             "model_info": {"general.architecture": "a",
                            "a.context_length": 4096},
             "thinking": {"values": [True, "low"]}}
    loaded = {"models": [{"name": "m:latest", "context_length": 5}]}
    for path, value in product(places(shown), VALUES):
        read_model(replaced(shown, path, value))
    for path, value in product(places(loaded), VALUES):
        size = loaded_context(replaced(loaded, path, value), "m")
        assert isinstance(size, int)


def test_json_that_is_too_deep_is_none():
    with pytest.raises(ValueError, match="too deep"):
        parse_json("[" * 100_000)
    with pytest.raises(ValueError, match="too deep"):
        parse_json('{"a":' * 300 + "1" + "}" * 300)

    assert parse_json("[{}" + ",{}" * 5000 + "]")[0] == {}
