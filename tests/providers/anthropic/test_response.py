"""What the Messages API answers, read event by event."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.errors import IncompleteAnswerError
from claw.core.provider import TokenUsage, ToolCall
from claw.providers.anthropic.response import MessageReader
from claw.testing.fake_anthropic_answers import Reply, events, message


def read_answer(data):
    reader = MessageReader("the server")
    reader.take_whole(data)
    return reader.end()[1]


BODY = {"model": "m", "messages": []}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "d"}


def text(value):
    return {"type": "text", "text": value}


def call(name="look", wire_id="t1", given=None):
    return {"type": "tool_use", "id": wire_id, "name": name,
            "input": {} if given is None else given}


def read(found, **options):
    """A stream's shown text and its answer."""
    reader = MessageReader("Acme", **options)
    shown = "".join([reader.take(event) for event in found])
    assert reader.finished
    rest, response = reader.end()
    assert shown + rest == (response.text or "")
    return response


def both(*blocks, stop=None, size=3, **usage):
    """The answer of a stream, held against that of a whole message."""
    reply = Reply(blocks=blocks, stop_reason=stop, chunk_size=size,
                  usage=tuple(usage.items()))
    streamed = read(events(reply, BODY))
    whole = read_answer(message(reply, BODY))
    assert streamed == whole
    return whole


@pytest.mark.each(("blocks", "expected"), [
    ([text("hello")], "hello"),
    ([text("  a\n\n b \n")], "a\n\n b"),
    ([text("a "), text(" b")], "a\nb"),
    ([text("a"), text("  "), text("b")], "a\nb"),
    ([SIGNED, text("a"), REDACTED, text("b")], "a\nb"),
    ([text("a <think>no</think> b")], "a  b"),
    ([text("<think>no</think> a"), text("b <think> rest")],
     "a\nb <think> rest"),
    ([text("한국어 😀 日本語")], "한국어 😀 日本語"),
    ([text("\ud83d\ude00 and \ud83d")], "😀 and \ufffd"),
    ([text("")], None),
    ([{"type": "server_tool_use", "id": "s", "name": "web_search",
       "input": {"q": "x"}},
      {"type": "web_search_tool_result", "tool_use_id": "s",
       "content": []}, text("found")], "found"),
    ([{"type": "a_block_of_tomorrow", "text": "no"}, text("a")], "a"),
])
@pytest.mark.each("size", [1, 7, 1000])
def test_text_is_what_people_read(blocks, expected, size):
    assert both(*blocks, size=size).text == expected


@given(st.lists(st.text("a \n<>/think\ud83d\ude00", max_size=30),
                max_size=4), st.integers(1, 9))
def test_a_stream_reads_like_the_whole(texts, size):
    both(*map(text, texts), size=size)


def test_calls_have_names_and_ids():
    response = both(call(given={"a": "ä"}), call("  ", "t2"),
                    call("other", "t3"))

    assert response.tool_calls == (
        ToolCall("t1", "look", '{"a": "ä"}'), ToolCall("t3", "other", "{}"))
    assert response.finish_reason == "tool_calls"


def test_a_call_without_an_id_gets_one():
    found = read_answer({"content": [{"type": "tool_use", "name": "a"},
                                     {"type": "tool_use", "name": "a"}]})

    first, second = found.tool_calls
    assert first.id.startswith("toolu_")
    assert first.id != second.id


def test_thoughts_are_kept_for_the_next_request_with_calls_only():
    response = both(SIGNED, REDACTED, text("t"), call())

    assert json.loads(response.replay) == {
        "by": "anthropic", "blocks": [SIGNED, REDACTED]}
    assert response.reasoning_content == "hm"
    assert both(SIGNED, text("t")).replay is None
    assert both(text("t"), call()).replay is None


@pytest.mark.parametrize(("stop", "finish"), [
    ("end_turn", "stop"), ("stop_sequence", "stop"),
    ("max_tokens", "length"), ("tool_use", "tool_calls"),
    ("refusal", "content_filter"), ("pause_turn", "length"),
    ("model_context_window_exceeded", "length"), ("tomorrow", "tomorrow"),
])
def test_why_an_answer_ended(stop, finish):
    assert both(text("t"), stop=stop).finish_reason == finish


@pytest.mark.parametrize("stop", ["max_tokens",
                                  "model_context_window_exceeded"])
@pytest.mark.parametrize("given", [{}, {"a": 1}])
def test_a_call_at_the_limit_may_not_be_whole(stop, given):
    with pytest.raises(IncompleteAnswerError, match="middle of a tool call"):
        both(text("t"), call(given=given), stop=stop)


def test_a_call_before_the_limit_is_whole():
    assert both(call(), text("and"), stop="max_tokens").tool_calls


def started(block, *deltas, index=0):
    return [{"type": "content_block_start", "index": index,
             "content_block": block},
            *({"type": "content_block_delta", "index": index,
               "delta": delta} for delta in deltas)]


def part(value):
    return {"type": "input_json_delta", "partial_json": value}


STOP = {"type": "message_stop"}


@pytest.mark.parametrize(("parts", "arguments"), [
    (["", '{"a"', ": 1}"], '{"a": 1}'), ([], "{}"), ([""], "{}"),
    (["[]"], "{}"), (["null"], "{}")])
def test_arguments_come_in_pieces(parts, arguments):
    found = [*started(call(), *map(part, parts)), STOP]

    assert read(found).tool_calls[0].arguments == arguments


@pytest.mark.parametrize("given", ['{"a": Oslo}', '{"a"', "x", "[" * 9999])
def test_arguments_that_do_not_parse_are_left_for_the_turn_to_see(given):
    found = read([*started(call(), part(given)), STOP]).tool_calls

    assert found[0].arguments == given


def test_blocks_may_be_interleaved_and_their_starts_be_missing():
    def said(index, value):
        return {"type": "content_block_delta", "index": index,
                "delta": {"type": "text_delta", "text": value}}
    found = [said(0, "a"), *started(call(), part("{}"), index=1),
             said(0, "b"), STOP]

    response = read(found)
    assert response.text == "ab"
    assert len(response.tool_calls) == 1


@pytest.mark.parametrize("event", [
    {}, {"type": None}, {"type": "ping"}, {"type": "event_of_tomorrow"},
    {"type": "content_block_delta"}, {"type": "content_block_start"},
    {"type": "content_block_delta", "index": [], "delta": 3},
    {"type": "content_block_delta", "index": 9, "delta": part("{")},
    {"type": "content_block_stop", "index": {}},
    {"type": "content_block_stop", "index": 7},
    {"type": "message_start", "message": "x"},
    {"type": "message_delta", "delta": None, "usage": {"input_tokens": "9"}},
    {"type": "content_block_start", "index": 5, "content_block": {
        "type": "text", "text": 5}},
])
def test_odd_events_do_no_harm(event):
    found = [event, *started(text("")), event,
             {"type": "content_block_delta", "index": 0, "delta": {
                 "type": "text_delta", "text": "a"}}, event, STOP]
    reader = MessageReader("Acme")

    shown = "".join([reader.take(e) for e in found])
    assert (shown, reader.end()[1].text) == ("a", "a")


def test_counts_of_the_end_take_the_place_of_those_of_the_start():
    found = [
        {"type": "message_start", "message": {"model": "m-1", "usage": {
            "input_tokens": 10, "cache_read_input_tokens": 5,
            "output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
         "usage": {"input_tokens": 20, "output_tokens": 9,
                   "cache_read_input_tokens": None}}, STOP]

    response = read(found)
    assert response.usage == TokenUsage(25, 9, 5, None)
    assert response.model == "m-1"


def test_without_counts_there_is_no_usage():
    assert read([*started(text("a")), STOP]).usage is None


@pytest.mark.parametrize("data", [{}, {"content": None}, {"content": "x"}])
def test_what_is_no_message_is_said(data):
    with pytest.raises(ValueError):
        read_answer(data)


@pytest.mark.parametrize(("details", "said"), [
    (None, ""), ({"category": "bio", "explanation": None}, "bio"),
    ({"category": "bio", "explanation": "No."}, "bio: No."),
    ({"category": 3}, "")])
def test_a_refusal_says_why(details, said):
    reader = MessageReader("Acme")
    for event in events(Reply("", stop_reason="refusal",
                              stop_details=details), BODY):
        reader.take(event)

    assert reader.refusal == said


def test_an_answer_is_no_refusal():
    reader = MessageReader("Acme")
    reader.take_whole(message(Reply("hi"), BODY))

    assert reader.refusal is None
