"""Chat Completions in and out, without a network."""


import pytest

from claw.agent.parsing import parse_tool_calls
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec
from claw.providers.openai.chat.request import WireRules, wire_messages
from claw.providers.openai.chat.response import (
    StreamReader,
    add_details,
)
from claw.providers.wire.json import arguments_text
from claw.providers.wire.messages import (
    merge_system,
    spell_out_calls,
    wire_tools,
)
from claw.providers.wire.usage import read_usage


def read_answer(data):
    reader = StreamReader()
    reader.take_whole(data)
    return reader.end()[1]


CALLS = encode_tool_calls(AssistantToolCalls(
    "I look.", (ToolCall("c1", "weather", '{"city": "Oslo"}'),), "hm"))
RESULT = encode_tool_result(ToolResultMessage("c1", "5 degrees"))
PNG = "data:image/png;base64,iVBORw0KGgo="


def test_calls_and_results_become_native_messages():
    assert wire_messages([CALLS, RESULT]) == [
        {"role": "assistant", "content": "I look.", "reasoning_content": "hm",
         "tool_calls": [{"id": "c1", "type": "function", "function": {
             "name": "weather", "arguments": '{"city": "Oslo"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "5 degrees"}]


@pytest.mark.parametrize("content", [
    '{"content": "x"}', '{"tool_calls": 1}', "{", "{}",
    '{"tool_calls": [{"id": 1}]}', '{"content": null, "tool_calls": []}',
])
def test_json_that_is_no_call_stays_text(content):
    assert wire_messages([ChatMessage.assistant(content)]) == [
        {"role": "assistant", "content": content}]


def test_images_are_left_out_where_nobody_sees_them():
    message = ChatMessage.user(f"what is [IMAGE:{PNG}]?")

    assert wire_messages([message], WireRules(images=False)) == [
        {"role": "user", "content": "what is [image]?"}]


@pytest.mark.parametrize(("content", "text"), [
    ('{"content": "a", "tool_calls": [], "reasoning_content": "hm"}', "a"),
    ('{"content": null, "tool_calls": [], "reasoning_content": "hm"}', ""),
])
def test_thoughts_without_calls_are_the_text_they_came_with(content, text):
    assert wire_messages([ChatMessage.assistant(content)]) == [
        {"role": "assistant", "content": text}]


def test_data_images_become_parts_in_order():
    message = ChatMessage.user(f"what is [IMAGE:{PNG}] this? [IMAGE:/x.png]")

    assert wire_messages([message]) == [{"role": "user", "content": [
        {"type": "text", "text": "what is"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "text", "text": "this? [IMAGE:/x.png]"}]}]


def test_only_users_send_images():
    message = ChatMessage.assistant(f"[IMAGE:{PNG}]")

    assert wire_messages([message])[0]["content"] == f"[IMAGE:{PNG}]"


def test_without_native_tools_calls_and_results_are_told_in_words():
    told = spell_out_calls([ChatMessage.user("hi"), CALLS, RESULT])

    assert [m.role for m in told] == ["user", "assistant", "user"]
    (call,) = parse_tool_calls(told[1].content).calls
    assert call.arguments == {"city": "Oslo"}
    assert told[2].content == (
        '<tool_result id="c1">\n5 degrees\n</tool_result>')


@pytest.mark.parametrize(("roles", "expected"), [
    ("su", [("user", "s0\n\nu1")]),
    ("ssua", [("user", "s0\n\ns1\n\nu2"), ("assistant", "a3")]),
    ("u", [("user", "u0")]),
    ("s", [("user", "s0")]),
    ("as", [("user", "s1"), ("assistant", "a0")]),
])
def test_system_messages_merge_into_the_first_user_message(roles, expected):
    names = {"s": "system", "u": "user", "a": "assistant"}
    messages = [ChatMessage(names[r], f"{r}{i}")
                for i, r in enumerate(roles)]

    assert [(m.role, m.content) for m in merge_system(messages)] == expected


def test_tools_keep_their_schema():
    tool = ToolSpec("now", "the time", {"type": "object"})

    assert wire_tools([tool]) == ({"type": "function", "function": {
        "name": "now", "description": "the time",
        "parameters": {"type": "object"}}},)


def answer(message, finish="stop", **extra):
    return {"choices": [{"message": message, "finish_reason": finish}],
            **extra}


@pytest.mark.parametrize(("message", "text", "reasoning"), [
    ({"content": "a"}, "a", None),
    ({"content": "<think>t</think>a"}, "a", None),
    ({"content": "", "reasoning_content": "r"}, "r", "r"),
    ({"content": None, "reasoning": "r"}, "r", "r"),
    ({"content": "a", "reasoning_content": "r"}, "a", "r"),
    ({"content": [{"type": "text", "text": "a"}, {"type": "x"}]}, "a", None),
    ({"content": "  "}, None, None),
    ({}, None, None),
])
def test_the_answer_is_content_else_reasoning(message, text, reasoning):
    response = read_answer(answer(message, model="m-1"))

    assert (response.text, response.reasoning_content) == (text, reasoning)
    assert (response.model, response.finish_reason) == ("m-1", "stop")


@pytest.mark.parametrize("data", [
    None, [], {}, {"choices": []}, {"choices": [{}]},
    {"choices": [{"message": None}]}, {"choices": None}, "x",
])
def test_what_is_no_answer_is_refused(data):
    with pytest.raises(ValueError):
        read_answer(data)


@pytest.mark.parametrize(("call", "name", "arguments"), [
    ({"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}},
     "f", '{"a": 1}'),
    ({"id": "1", "function": {"name": "f", "arguments": {"a": 1}}},
     "f", '{"a": 1}'),
    ({"id": "1", "name": "f", "arguments": '{"a": 1}'}, "f", '{"a": 1}'),
    ({"id": "1", "name": "f", "parameters": {"a": 1}}, "f", '{"a": 1}'),
    ({"id": "1", "function": {"name": " f ", "arguments": "oops"}},
     "f", "oops"),
    ({"id": "1", "function": {"name": "f", "arguments": "[1]"}}, "f", "[1]"),
    ({"id": "1", "function": {"name": "f"}}, "f", "{}"),
])
def test_calls_in_every_shape(call, name, arguments):
    found = read_answer(answer({"tool_calls": [call]})).tool_calls

    assert found == (ToolCall("1", name, arguments),)


def test_a_call_without_id_gets_one_of_its_own():
    call = {"function": {"name": "f", "arguments": "{}"}}
    first, second = read_answer(answer(
        {"tool_calls": [call, call]})).tool_calls

    assert first.id
    assert first.id != second.id


def test_calls_without_a_name_are_dropped():
    broken = [{"function": {"name": ""}}, {"function": None}, "x", {}]

    assert read_answer(answer({"content": "a", "tool_calls": broken})
                       ).tool_calls == ()


@pytest.mark.parametrize(("usage", "expected"), [
    ({"prompt_tokens": 3, "completion_tokens": 4}, TokenUsage(3, 4, None)),
    ({"prompt_tokens": 3, "completion_tokens": 4,
      "prompt_tokens_details": {"cached_tokens": 2}}, TokenUsage(3, 4, 2)),
    ({"prompt_tokens": 3, "prompt_cache_hit_tokens": 1},
     TokenUsage(3, None, 1)),
    ({"prompt_tokens": "3"}, None),
    ({}, None), (None, None), ([], None),
])
def test_usage_under_its_names(usage, expected):
    assert read_usage(usage) == expected


def delta(finish=None, **fields):
    return {"choices": [{"index": 0, "delta": fields,
                         "finish_reason": finish}]}


def calls_of(*deltas):
    reader = StreamReader()
    for part in deltas:
        reader.take(delta(tool_calls=part))
    return [(c.id, c.name, c.arguments) for c in reader.end()[1].tool_calls]


def fn(name=None, arguments=None, **rest):
    function = {k: v for k, v in (("name", name), ("arguments", arguments))
                if v is not None}
    return {**rest, "function": function}


@pytest.mark.parametrize("deltas", [
    # by index, as OpenAI sends them
    [[fn("f", "", index=0, id="1")], [fn(None, '{"a":', index=0)],
     [fn(None, "1}", index=0)], [fn("g", "{}", index=1, id="2")]],
    # interleaved
    [[fn("f", '{"a":', index=0, id="1"), fn("g", "{", index=1, id="2")],
     [fn(None, "}", index=1), fn(None, "1}", index=0)]],
    # without index
    [[fn("f", '{"a":', id="1")], [fn(None, "1}")], [fn("g", "{}", id="2")]],
    # without index, the id repeated
    [[fn("f", '{"a":', id="1")], [fn(None, "1}", id="1")],
     [fn("g", "{}", id="2")]],
    # whole calls that all claim index 0
    [[fn("f", '{"a":1}', index=0, id="1")],
     [fn("g", "{}", index=0, id="2")]],
    # the name again in every chunk
    [[fn("f", '{"a":', index=0, id="1")], [fn("f", "1}", index=0, id="1")],
     [fn("g", "{}", index=1, id="2")]],
])
def test_streamed_calls_are_put_together(deltas):
    assert calls_of(*deltas) == [("1", "f", '{"a":1}'), ("2", "g", "{}")]


def test_streamed_arguments_may_come_as_an_object():
    assert calls_of([fn("f", {"a": 1}, index=0, id="1")]) == [
        ("1", "f", '{"a": 1}')]


def read(*pieces, **fields):
    reader = StreamReader()
    shown = "".join(reader.take(delta(content=p, **fields)) for p in pieces)
    rest, response = reader.end()
    return shown, rest, response


def test_what_is_shown_is_the_text_of_the_answer():
    shown, rest, response = read("\n\n He", "llo <thi", "nk>x</", "think>",
                                 "you")

    assert shown + rest == response.text == "Hello you"


def test_a_thought_alone_gives_way_to_the_reasoning():
    shown, rest, response = read("<think>x</think>", reasoning_content="so")

    assert (shown, rest, response.text) == ("", "so", "so")


def test_half_a_tag_that_is_none_is_shown_in_the_end():
    shown, rest, _ = read("a <thi")

    assert (shown, rest) == ("a ", "<thi")


def test_an_emoji_cut_in_two_is_joined():
    shown, rest, response = read("hi \ud83d", "\udc4b there \ud83d")

    assert shown == "hi 👋 there "
    assert shown + rest == response.text == "hi 👋 there \ufffd"


def test_usage_and_finish_come_in_their_own_chunks():
    reader = StreamReader()
    assert not reader.finished
    reader.take(delta(content="a"))
    reader.take(delta("length"))
    reader.take({"choices": [], "usage": {"prompt_tokens": 1}})

    assert reader.finished
    response = reader.end()[1]
    assert response.usage.input_tokens == 1
    assert response.finish_reason == "length"


@pytest.mark.parametrize("chunk", [
    {}, {"choices": None}, {"choices": [None]}, {"choices": [{}]},
    {"choices": [{"delta": None}]}, {"choices": [{"delta": []}]},
    delta(content=7), delta(tool_calls=[None, 3]), delta(tool_calls={}),
    {"choices": [{"index": 1, "delta": {"content": "other"}}]},
])
def test_strange_chunks_show_nothing_and_do_not_crash(chunk):
    reader = StreamReader()

    assert reader.take(chunk) == ""
    assert reader.end()[1].text is None


@pytest.mark.parametrize(("given_arguments", "text"), [
    ({"a": "é"}, '{"a": "é"}'), ('{"a":1}', '{"a":1}'), ("", "{}"),
    (None, "{}"), ("[]", "{}"), ([], "{}"), (3, "3"), ("oops", "oops"),
    ("[" * 100_000, "[" * 100_000),
])
def test_arguments_that_are_none_are_empty_and_broken_ones_stay_broken(
        given_arguments, text):
    assert arguments_text(given_arguments) == text


@pytest.mark.parametrize("pieces", [None, 3, "x", [None, 3], {}])
def test_strange_details_are_none(pieces):
    found = []
    add_details(found, pieces)

    assert found == []
