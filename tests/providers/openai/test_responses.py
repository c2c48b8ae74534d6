"""The Responses API in and out, without a network."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.providers.openai.quirks import ToolNames
from claw.providers.openai.responses.request import input_items
from claw.providers.openai.responses.response import ResponsesReader
from claw.providers.wire.messages import join_system
from claw.testing.fake_openai import Reply
from claw.testing.fake_responses import events, response


def read_response(data):
    reader = ResponsesReader()
    reader.take_whole(data)
    return reader.end()[1]


CALL = ToolCall("call_1", "now", '{"a": 1}')
PNG = "data:image/png;base64,iVBORw0KGgo="
BODY = {"model": "m", "input": "two words"}


def items(*messages):
    return input_items(messages, ToolNames(["now"]))


def test_system_messages_are_the_instructions_and_not_items():
    messages = [ChatMessage.system("a"), ChatMessage.user("hi"),
                ChatMessage.system("b")]

    assert join_system(messages) == "a\n\nb"
    assert items(*messages) == [{"role": "user", "content": "hi"}]
    assert join_system([ChatMessage.user("hi")]) == ""


def test_what_the_assistant_said_is_output_text():
    (item,) = items(ChatMessage.assistant("yes"))

    assert item["role"] == "assistant"
    assert item["content"] == [
        {"type": "output_text", "text": "yes", "annotations": []}]
    assert items(ChatMessage.assistant("")) == []


def test_images_are_input_images():
    (item,) = items(ChatMessage.user(f"what is [IMAGE:{PNG}]"))

    assert item["content"] == [
        {"type": "input_text", "text": "what is"},
        {"type": "input_image", "detail": "auto", "image_url": PNG}]


def test_calls_and_results_keep_their_ids():
    said, call, result = items(
        encode_tool_calls(AssistantToolCalls("I look.", (CALL,))),
        encode_tool_result(ToolResultMessage("call_1", "5")))

    assert said["content"][0]["text"] == "I look."
    assert call == {"type": "function_call", "call_id": "call_1",
                    "name": "now", "arguments": '{"a": 1}'}
    assert result == {"type": "function_call_output", "call_id": "call_1",
                      "output": "5"}


SAID = Reply("I look.", tool_calls=(("now", '{"a": 1}'),),
             reasoning="hm, hm")


def test_sealed_thoughts_come_back_before_their_calls():
    answer = read_response(response(SAID, BODY))
    back = items(encode_tool_calls(AssistantToolCalls(
        answer.text, answer.tool_calls, answer.reasoning_content,
        answer.replay)))

    assert [i["type"] for i in back] == [
        "reasoning", "message", "function_call"]
    assert back[0]["encrypted_content"] == "sealed"
    assert None not in back[0].values()


@pytest.mark.parametrize("replay", [
    None, "{", '{"by": "someone"}', '{"by": "openai-responses"}',
    '{"by": "openai-responses", "items": 3}',
    '{"by": "openai-responses", "items": [{"type": "function_call", '
    '"call_id": "other"}]}',
])
def test_thoughts_that_do_not_fit_the_calls_are_left_out(replay):
    message = encode_tool_calls(AssistantToolCalls(None, (CALL,), "t",
                                                   replay))

    assert [i["type"] for i in items(message)] == ["function_call"]


def test_thoughts_without_a_seal_are_not_replayed():
    data = response(SAID, BODY)
    del data["output"][0]["encrypted_content"]

    assert read_response(data).replay is None
    assert read_response(data).reasoning_content == "hm, hm"


def streamed(reply, body=BODY):
    reader = ResponsesReader()
    shown = ""
    for event in events(reply, body):
        shown += reader.take(json.loads(event.partition("data: ")[2]))
    rest, answer = reader.end()
    return shown + rest, answer, reader


@pytest.mark.parametrize("reply", [
    Reply("Hello there. 안녕", chunk_size=2),
    SAID,
    Reply(tool_calls=(("now", "{}"), ("then", '{"b": "c"}'))),
    Reply("<think>x</think>so", chunk_size=3),
    Reply(refusal="I can't help with that."),
    Reply("cut", finish_reason="length"),
    Reply("held", finish_reason="content_filter"),
])
def test_plain_and_streamed_answers_are_the_same(reply):
    shown, answer, reader = streamed(reply)

    assert answer == read_response(response(reply, BODY))
    assert shown == (answer.text or "")
    assert reader.finished


@pytest.mark.parametrize(("reply", "finish"), [
    (Reply("a"), "stop"), (SAID, "tool_calls"),
    (Reply(refusal="no"), "refusal"),
    (Reply("a", finish_reason="length"), "length"),
    (Reply("a", finish_reason="content_filter"), "content_filter"),
])
def test_the_end_has_the_names_of_chat_completions(reply, finish):
    assert read_response(response(reply, BODY)).finish_reason == finish


def test_usage_has_cached_and_written_tokens():
    data = response(Reply("a"), BODY)
    data["usage"] = {"input_tokens": 9, "output_tokens": 4,
                     "input_tokens_details": {"cached_tokens": 5,
                                              "cache_write_tokens": 2}}

    assert read_response(data).usage == TokenUsage(9, 4, 5, 2)


def test_a_stream_without_its_terminal_event_is_not_finished():
    _, answer, reader = streamed(Reply("half", fault="no_end"))

    assert answer.text == "half"
    assert not reader.finished


def test_a_terminal_event_without_output_keeps_what_was_streamed():
    reader = ResponsesReader()
    for event in events(SAID, BODY)[:-1]:
        reader.take(json.loads(event.partition("data: ")[2]))
    reader.take({"type": "response.completed",
                 "response": {"output": [], "model": "m-1"}})
    answer = reader.end()[1]

    assert answer.tool_calls == (CALL,)
    assert (answer.text, answer.model) == ("I look.", "m-1")
    assert answer.replay is not None


def test_a_server_that_streams_no_deltas_is_read_at_the_end():
    reader = ResponsesReader()
    shown = reader.take({"type": "response.completed",
                         "response": response(Reply("late"), BODY)})

    assert shown == "late"
    assert reader.end()[1].text == "late"


def test_two_messages_of_one_answer_are_two_paragraphs():
    data = response(Reply("first"), BODY)
    data["output"] *= 2

    assert read_response(data).text == "first\n\nfirst"


def test_a_call_that_was_cut_off_is_none():
    data = response(Reply("text", finish_reason="length",
                          tool_calls=(("now", '{"path": "/et'),)), BODY)

    assert read_response(data).tool_calls == ()


@pytest.mark.parametrize("data", [None, [], {}, {"output": None}, "x"])
def test_what_is_no_response_is_refused(data):
    with pytest.raises(ValueError):
        read_response(data)


@pytest.mark.parametrize("output", [
    [None], [{}], ["x"], [{"type": "message"}], [{"type": "function_call"}],
    [{"type": "message", "content": [None, 3, {"text": 3}]}],
    [{"type": "reasoning", "summary": 3}, {"type": "web_search_call"}],
])
def test_strange_items_do_not_crash(output):
    answer = read_response({"output": output, "usage": []})

    assert (answer.text, answer.tool_calls) == (None, ())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "item", "response", "output", "delta",
                         "content", "text", "arguments", "output_index"]),
        inner, max_size=4), max_leaves=12)


@given(st.lists(st.tuples(st.sampled_from([
    "response.output_text.delta", "response.output_item.added",
    "response.output_item.done", "response.completed", "response.incomplete",
    "response.function_call_arguments.delta", "response.refusal.delta",
    "response.reasoning_text.delta", "odd"]), json_values), max_size=6))
def test_no_event_can_crash_the_reader(taken):
    reader = ResponsesReader()
    shown = ""
    for kind, value in taken:
        extra = value if isinstance(value, dict) else {
            "delta": value, "item": value, "response": value}
        shown += reader.take({**extra, "type": kind})
    rest, answer = reader.end()

    assert (shown + rest).strip() == (answer.text or "").strip()
