"""What readers of all wires share: text that is held back, calls in it."""

import pytest

from claw.providers.gemini.response import Reader as GeminiReader
from claw.providers.ollama.response import Reader as OllamaReader
from claw.providers.openai.chat.response import StreamReader
from claw.providers.wire.json import (
    MOST_DEEP,
    as_text,
    finite_object,
    is_truncated,
    object_at,
    objects_in,
    parse_json,
    parse_object,
    string,
)
from claw.providers.wire.reader import read_call, read_id

CALL = '<tool_call>{"name": "f"}</tool_call>'


def gemini(text):
    return {"candidates": [{"content": {"parts": [{"text": text}]}}]}


def chat(text):
    return {"choices": [{"delta": {"content": text}}]}


def ollama(text):
    return {"message": {"content": text}}


READERS = pytest.mark.parametrize(("kind", "piece"), [
    (GeminiReader, gemini), (StreamReader, chat), (OllamaReader, ollama)])


@READERS
@pytest.mark.parametrize(("pieces", "shown", "rest"), [
    (["Look. ", CALL], f"Look. {CALL}", ""),
    (["Look. <tool", CALL[5:], " Then"], f"Look. {CALL} Then", ""),
    (["  Look."], "Look.", ""),
    (["<think>hm</think>Yes ", CALL], f"Yes {CALL}", ""),
    (["Yes <thi"], "Yes ", "<thi"),
    (["The <think> tag"], "The ", "<think> tag"),
    (["hi \ud83d", "\udc4b there \ud83d"], "hi 👋 there ", "\ufffd"),
])
def test_what_is_shown_is_the_text_of_the_answer(
        kind, piece, pieces, shown, rest):
    reader = kind()
    seen = "".join(reader.take(piece(each)) for each in pieces)
    left, response = reader.end()

    assert (seen, left) == (shown, rest)
    assert response.text == seen + left
    assert response.tool_calls == ()


@READERS
def test_thoughts_that_began_in_the_prompt_are_no_answer(kind, piece):
    reader = kind()
    seen = reader.take(piece("I should look.\n</think>\n\nIt is 5."))

    assert seen == "I should look.\nIt is 5."
    assert reader.end()[1].text == "It is 5."


@pytest.mark.parametrize("calls", [
    [{"id": "1"}, {"id": "1"}],
    [{"index": 0}, {"index": 0}],
    [{"index": 0, "id": "1"}, {"index": 0, "id": "1"}],
    [{}, {}],
])
def test_each_call_of_a_whole_answer_is_one(calls):
    reader = StreamReader()
    reader.take_whole({"choices": [{"message": {"tool_calls": [
        {**call, "function": {"name": f"f{number}", "arguments": "{}"}}
        for number, call in enumerate(calls)]}}]})

    assert [c.name for c in reader.end()[1].tool_calls] == ["f0", "f1"]


def test_a_whole_answer_may_have_the_call_of_older_servers():
    reader = StreamReader()
    reader.take_whole({"choices": [{"finish_reason": "stop", "message": {
        "function_call": {"name": "f", "arguments": '{"a": 1}'}}}]})

    (call,) = reader.end()[1].tool_calls
    assert (call.name, call.arguments) == ("f", '{"a": 1}')


@pytest.mark.parametrize(("places", "found"), [
    (({"id": "1", "call_id": "2"},), "1"), (({"tool_call_id": "3"},), "3"),
    (({"call_id": "2"},), "2"), (({}, {"id": "4"}), "4"),
    (({"id": ""}, {"id": 5}), ""), ((), ""),
])
def test_a_call_has_its_id_under_any_name(places, found):
    assert read_id(*places) == found


@pytest.mark.parametrize(("data", "name", "arguments"), [
    ({"name": " f ", "arguments": {"a": 1}}, "f", '{"a": 1}'),
    ({"function": {"name": "f", "parameters": '{"a": 1}'}}, "f", '{"a": 1}'),
    ({"function": None, "name": "f"}, "f", "{}"),
])
def test_a_call_is_read_in_any_shape(data, name, arguments):
    call = read_call(data)

    assert (call.name, call.arguments) == (name, arguments)
    assert call.id.startswith("call_")


@pytest.mark.parametrize("data", [{}, {"name": " "}, {"name": 3}])
def test_what_has_no_name_is_no_call(data):
    assert read_call(data) is None


def test_what_could_not_be_written_again_is_no_json():
    assert parse_json("[" * MOST_DEEP + "]" * MOST_DEEP)
    for deep in (MOST_DEEP + 1, 100_000):
        with pytest.raises(ValueError, match="nested too deep"):
            parse_json("[" * deep + "]" * deep)


@pytest.mark.parametrize(("text", "found"), [
    ('{"a": 1}', {"a": 1}), ("{}", {}), ("[1]", None), ("3", None),
    ("oops", None), ("", None), (None, None), (7, None),
])
def test_an_object_is_parsed_or_none(text, found):
    assert parse_object(text) == found


@pytest.mark.parametrize(("text", "found"), [
    ('{"a": NaN, "b": 1e999, "c": 1.5}', {"a": None, "b": None, "c": 1.5}),
    ("[1]", {}), ("oops", {}), (None, {}), ("[" * 100_000, {}),
])
def test_arguments_hold_what_json_can_write(text, found):
    assert finite_object(text) == found


@pytest.mark.parametrize(("given", "cut"), [
    ('{"a": ', True), ("[1]", True), ('{"a": 1}', False), ("", False),
    ("  ", False), (None, False), ({}, False),
])
def test_arguments_that_were_cut_off(given, cut):
    assert is_truncated(given) is cut


def test_foreign_values_are_read_as_nothing():
    assert [string(v) for v in ("a", 3, None, [])] == ["a", "", "", ""]
    assert [object_at(d, "k") for d in ({"k": {"a": 1}}, {"k": 3}, [], None)
            ] == [{"a": 1}, {}, {}, {}]
    assert [objects_in(v) for v in ([{"a": 1}, 3], {"a": 1}, "x", None)
            ] == [[{"a": 1}], [], [], []]
    assert [as_text(v) for v in ("é", ["é"])] == ["é", '["é"]']
