"""A conversation as the Messages API takes it."""

import json

import pytest

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.providers.anthropic.messages import (
    EMPTY,
    IMAGE_ONLY,
    NO_RESULT,
    content_blocks,
    image_block,
    system_text,
    wire_messages,
)
from claw.providers.wire.json import finite_object
from claw.testing.fake_anthropic_rules import complaint

PNG = "data:image/png;base64,iVBORw0KGgo="
PNG_BLOCK = {"type": "image", "source": {
    "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def user(text):
    return ChatMessage.user(text)


def said(text):
    return ChatMessage.assistant(text)


def calls(*ids, text=None, replay=None, arguments="{}"):
    return encode_tool_calls(AssistantToolCalls(text, tuple(
        ToolCall(i, "look", arguments) for i in ids), replay=replay))


def result(given, text="ok"):
    return encode_tool_result(ToolResultMessage(given, text))


def texts(*lines):
    return [{"type": "text", "text": line} for line in lines]


def use(wire_id, given=None):
    return {"type": "tool_use", "id": wire_id, "name": "look",
            "input": given or {}}


def outcome(wire_id, text="ok", **more):
    return {"type": "tool_result", "tool_use_id": wire_id, "content": text,
            **more}


MISSING = {"is_error": True}


@pytest.mark.each(("messages", "expected"), [
    ([user("hi")], [("user", texts("hi"))]),
    ([user("a"), user("b")], [("user", texts("a", "b"))]),
    ([user("a"), said("b"), said("c"), user("d")],
     [("user", texts("a")), ("assistant", texts("b", "c")),
      ("user", texts("d"))]),
    ([user("a"), user(" \n"), said("  "), user("b")],
     [("user", texts("a", "b"))]),
    ([said("hello")], [("user", texts("(the conversation goes on)")),
                       ("assistant", texts("hello"))]),
    ([user("a"), said("go on \n ")],
     [("user", texts("a")), ("assistant", texts("go on"))]),
    ([user("a"), said("b "), user("c")],
     [("user", texts("a")), ("assistant", texts("b ")),
      ("user", texts("c"))]),
    ([], [("user", texts(EMPTY))]),
    ([user("  ")], [("user", texts(EMPTY))]),
    ([ChatMessage.system("s")], [("user", texts(EMPTY))]),
    ([user("a"), calls("1", "2", text="I look."), result("1"), result("2"),
      user("and?")],
     [("user", texts("a")),
      ("assistant", [*texts("I look."), use("1"), use("2")]),
      ("user", [outcome("1"), outcome("2"), *texts("and?")])]),
    # a text between results comes after them
    ([user("a"), calls("1", "2"), result("2"), user("b"), result("1")],
     [("user", texts("a")), ("assistant", [use("1"), use("2")]),
      ("user", [outcome("2"), outcome("1"), *texts("b")])]),
    # calls without a result, results without a call
    ([user("a"), calls("1"), user("b")],
     [("user", texts("a")), ("assistant", [use("1")]),
      ("user", [outcome("1", NO_RESULT, **MISSING), *texts("b")])]),
    ([user("a"), calls("1")],
     [("user", texts("a")), ("assistant", [use("1")]),
      ("user", [outcome("1", NO_RESULT, **MISSING)])]),
    ([result("9", "late")],
     [("user", texts('<tool_result id="9">\nlate\n</tool_result>'))]),
    ([ChatMessage.tool("not JSON")],
     [("user", texts('<tool_result id="unknown">\nnot JSON\n'
                     "</tool_result>"))]),
    # ids come again in every turn, or hold what the API refuses
    ([user("a"), calls("1"), result("1"), calls("1"), result("1", "two")],
     [("user", texts("a")), ("assistant", [use("1")]),
      ("user", [outcome("1")]), ("assistant", [use("1_2")]),
      ("user", [outcome("1_2", "two")])]),
    ([user("a"), calls("x.1|호", ""), result("x.1|호"), result("", "two")],
     [("user", texts("a")), ("assistant", [use("x_1__"), use("call")]),
      ("user", [outcome("x_1__"), outcome("call", "two")])]),
    ([user("a"), calls("1", "1"), result("1", "x"), result("1", "y")],
     [("user", texts("a")), ("assistant", [use("1"), use("1_2")]),
      ("user", [outcome("1", "x"), outcome("1_2", "y")])]),
    # what failed is marked; no text is blank
    ([user("a"), calls("1", "2"), result("1", "Error: no such file"),
      result("2", "Error executing look: boom")],
     [("user", texts("a")), ("assistant", [use("1"), use("2")]),
      ("user", [outcome("1", "Error: no such file", is_error=True),
                outcome("2", "Error executing look: boom",
                        is_error=True)])]),
    ([user("a"), calls("1"), result("1", "  ")],
     [("user", texts("a")), ("assistant", [use("1")]),
      ("user", [{"type": "tool_result", "tool_use_id": "1"}])]),
])
def test_a_conversation_in_its_form(messages, expected):
    found = wire_messages(messages)

    assert [(m["role"], m["content"]) for m in found] == expected
    assert complaint({"model": "m", "max_tokens": 1,
                      "messages": found}) is None


def test_every_system_message_counts():
    assert system_text([ChatMessage.system("a"), user("u"),
                        ChatMessage.system(" "),
                        ChatMessage.system("b")]) == "a\n\nb"


def test_thoughts_stand_before_what_they_led_to():
    thoughts = [{"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "d"}]
    replay = json.dumps({"by": "anthropic", "blocks": thoughts})
    history = [user("a"), calls("1", text="t", replay=replay), result("1")]

    assert wire_messages(history)[1]["content"] == [
        *thoughts, *texts("t"), use("1")]
    assert wire_messages(history, replayed=False)[1]["content"] == [
        *texts("t"), use("1")]


@pytest.mark.parametrize("replay", [
    "{", "[]", '{"by": "gemini", "blocks": [{"type": "thinking"}]}',
    '{"by": "anthropic"}', '{"by": "anthropic", "blocks": 3}',
    '{"by": "anthropic", "blocks": [1, {"type": "thinking"}, '
    '{"type": "text", "text": "x"}, {"type": [], "data": "x"}]}'])
def test_what_no_thought_is_left_is_not_sent(replay):
    history = [user("a"), calls("1", replay=replay), result("1")]

    assert wire_messages(history)[1]["content"] == [use("1")]


def test_tools_go_by_the_names_they_are_known_under():
    history = [user("a"), calls("1"), result("1")]

    found = wire_messages(history, lambda name: name.upper())
    assert found[1]["content"][0]["name"] == "LOOK"


@pytest.mark.parametrize(("text", "expected"), [
    (f"look [IMAGE:{PNG}] here", [*texts("look"), PNG_BLOCK,
                                  *texts("here")]),
    (f"[IMAGE:{PNG}]", [PNG_BLOCK, *texts(IMAGE_ONLY)]),
    ("[IMAGE:https://x.io/a.png]?",
     [{"type": "image", "source": {"type": "url",
                                   "url": "https://x.io/a.png"}},
      *texts("?")]),
    ("[IMAGE:a.png] stays", texts("[IMAGE:a.png] stays")),
    ("  plain  ", texts("  plain  ")),
    ("", []),
])
def test_images_of_a_person(text, expected):
    assert content_blocks(text, urls=True) == expected


def test_an_image_that_a_tool_gave_is_shown_and_an_address_is_not_fetched():
    history = [user("a"), calls("1"), result(
        "1", f"[IMAGE:{PNG}] and [IMAGE:https://evil.example/?q=secret]")]

    (block,) = wire_messages(history)[2]["content"]
    assert block["content"] == [PNG_BLOCK, *texts(
        "and [IMAGE:https://evil.example/?q=secret]")]


@pytest.mark.parametrize(("url", "kind"), [
    ("data:image/jpeg;base64,iVBORw0KGgo=", "image/png"),
    ("data:image/png;base64,_9j_4AAQSkZJRg==", "image/jpeg"),
    ("data:image/png;base64,_9j_4AAQSkZJRg", "image/jpeg"),
    ("data:image/jpg;base64,AAAA", "image/jpeg"),
    ("data:image/png;base64,UklGRgAAAABXRUJQVlA4", "image/webp"),
])
def test_an_image_goes_by_what_it_is(url, kind):
    source = image_block(url)["source"]

    assert source["media_type"] == kind
    assert "_" not in source["data"]
    assert len(source["data"]) % 4 == 0


@pytest.mark.parametrize(("url", "words"), [
    ("data:image/svg+xml;base64,AAAA", "can't be shown: image/svg"),
    ("data:image/bmp;base64,AAAA", "can't be shown: image/bmp"),
    ("data:image/png;base64,A", "damaged"),
    ("data:image/png;base64,안녕하세", "damaged"),
])
def test_what_would_be_refused_as_an_image_is_told(url, words):
    block = image_block(url)

    assert block["type"] == "text"
    assert words in block["text"]


@pytest.mark.parametrize(("text", "expected"), [
    ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
    ('{"a": NaN, "b": Infinity, "c": 1e999}',
     {"a": None, "b": None, "c": None}),
    ("[1]", {}), ("", {}), ("{", {}), ("[" * 100_000, {}),
    ('{"a": ' + "9" * 5000 + "}", {}),
])
def test_arguments_are_an_object_that_json_can_write(text, expected):
    assert finite_object(text) == expected
