"""What a channel shows of an answer."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.agent.rendering.sanitise import (
    MALFORMED,
    sanitise_reply,
    strip_narration,
    strip_summary,
    strip_tool_json,
    strip_tool_tags,
)

TOOLS = ("shell", "web_search")
CALL = '{"name": "shell", "arguments": {"command": "ls"}}'
BLOCK = f"<tool_call>{CALL}</tool_call>"


@pytest.mark.parametrize(("text", "left"), [
    ("[Used tools: shell, web_search]\nDone.", "Done."),
    ("\n[Used tools: shell]\n\n[Used tools: a]\nDone.", "Done."),
    ("[Used tools: shell] Done.", "Done."),
    ("Done. [Used tools: shell]", "Done. [Used tools: shell]"),
    ("[Used tools: shell", "[Used tools: shell"),
    ("  plain", "  plain"),
])
def test_the_list_of_used_tools_goes(text, left):
    assert strip_summary(text) == left


@pytest.mark.parametrize("name", [
    "function_calls", "function_call", "tool_call", "toolcall", "tool-call",
    "tool", "invoke"])
def test_every_tag_of_the_family_goes_with_its_content(name):
    text = f"Before\n<{name}>anything {{</{name}>\nafter"

    assert strip_tool_tags(text) == "Before\n\nafter"


@pytest.mark.parametrize(("text", "left"), [
    (f"a {BLOCK} b {BLOCK} c", "a  b  c"),
    (f"a\n\n{BLOCK}\n\nb", "a\n\nb"),
    (f"a <tool_call>{CALL} b", "a b"),
    (f"a <tool_call>\n{CALL}\n</function>\n</x> b", "a b"),
    (f"a <tool_call>{CALL}</tool_call", "a"),
    (f"a <tool_call>{CALL}</tool", "a"),
    (f"a <tool_call> I call {CALL} b", "a b"),
    ('a <tool_call>{"x": 1} b', "a b"),
    ("a <tool_call>[1] b", "a b"),
    (f"a <invoke>[{CALL}] b", "a b"),
    ("The <tool> tag, see [1] and {x}.", "The <tool> tag, see [1] and {x}."),
    ("a <tool_call> b", "a <tool_call> b"),
    ('a <tool_call>{"x": b', 'a <tool_call>{"x": b'),
    ("a <Tool_Call>b</Tool_Call>", "a <Tool_Call>b</Tool_Call>"),
    ('a <tool x="1">b</tool>', 'a <tool x="1">b</tool>'),
    ("<toolbox>b</toolbox>", "<toolbox>b</toolbox>"),
    ("a\n\n\n\nb", "a\n\nb"),
    ("```py\na\n\n\n\nb\n```", "```py\na\n\n\n\nb\n```"),
])
def test_tags_around_calls_go(text, left):
    assert strip_tool_tags(text) == left


@pytest.mark.parametrize("call", [
    CALL,
    '{"name": " Shell ", "parameters": {}}',
    '{"function": {"name": "shell", "arguments": "{}"}, "id": "1"}',
    f"[{CALL}, {CALL}]",
    f'{{"tool_calls": [{CALL}]}}',
    f'{{"tool_calls": [{CALL}], "content": null}}',
    json.dumps(json.loads(CALL), indent=2),
    f"  {CALL}  ",
    f"```json\n{CALL}\n```",
    f"```json\n{CALL}\n\n{CALL}\n```",
    f'{CALL}\n{{"result": "ok", "tool_call_id": "1"}}',
    '{"name": "shell", "arguments": {"command": "a\nb"}}',
])
def test_a_call_on_lines_of_its_own_goes(call):
    assert strip_tool_json(f"Before\n{call}\nafter", TOOLS) == (
        "Before\nafter")
    assert strip_tool_json(call, TOOLS) == ""


@pytest.mark.each("answer", [
    '{"name": "Kim", "age": 7}',
    '{"name": "rm", "arguments": {}}',
    '{"name": "shell"}',
    "[]", "[1, 2, 3]", "{}",
    f'[{CALL}, {{"name": "Kim"}}]',
    '{"tool_calls": []}',
    '{"result": 1}',
    '{"result": 1, "name": "x"}',
    f"use {CALL}",
    f"{CALL} is a call",
    '```json\n{"name": "Kim"}\n```',
    f"```\ncode\n```\n{CALL} x\n```\nmore\n```",
    '{"name": 5, "arguments": {}}',
    '{"name": "shell", "arguments": {',
    "{not json}", '{"function": "shell", "arguments": {}}',
    "[link](https://e.com)", "{\n\n}",
])
def test_json_that_is_an_answer_stays(answer):
    assert strip_tool_json(answer, TOOLS) == answer


def test_without_known_tools_no_json_goes():
    assert strip_tool_json(CALL, ()) == CALL


def test_calls_leave_their_content_behind():
    text = f'a\n{{"tool_calls": [{CALL}], "content": " Done. "}}\nb'

    assert strip_tool_json(text, TOOLS) == "a\nDone.\nb"


def test_fences_beside_a_call_stay():
    text = f"```\na\n```\n{CALL}\n```\nb\n```"

    assert strip_tool_json(text, TOOLS) == "```\na\n```\n```\nb\n```"


def test_a_wanted_result_in_a_fence_stays():
    text = f'{CALL}\nHere:\n```json\n{{"result": 42}}\n```'

    assert strip_tool_json(text, TOOLS) == (
        'Here:\n```json\n{"result": 42}\n```')


@pytest.mark.parametrize(("text", "left"), [
    ("Let me check.\nIt rains.", "It rains."),
    ("I’ll look.\n\nSearching now\nIt rains.\nLet me add",
     "It rains.\nLet me add"),
    ("\n\nHold on\n  indented", "  indented"),
    ("It rains.\nLet me check.", "It rains.\nLet me check."),
    ("Let me check.", "Let me check."),
    ("Let me check.\n\nFetching it\n", "Let me check.\n\nFetching it\n"),
    ("Let me know what you think.\nBye", "Let me know what you think.\nBye"),
    ("Letters\nb", "Letters\nb"),
    *[(f"{line}\nIt rains.", "It rains.") for line in (
        "Searching...", "Checking…", "Fetching.", "Looking up...",
        "Searching the web for what is new...", "CHECKING the weather.",
        "Using my notes", "One moment...", "Hold on…", "Searching")],
    *[(f"{line}\nMore.", f"{line}\nMore.") for line in (
        "Searching for keys is O(n).", "Using the cache makes it faster.",
        "Checking account: 300", "Checking-in opens at 9", "Fetchings",
        "Checking the tyres helps:", "Looking up a word takes a moment.")],
    ("", ""), ("\n", "\n"),
])
def test_what_only_announces_goes(text, left):
    assert strip_narration(text) == left


def test_all_five_steps_in_their_order():
    text = (f"[Used tools: shell]\nLet me check.\n{BLOCK}\n{CALL}\n"
            '{"result": "x"}\nThe key is ours-to-keep-1 and '
            "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6.\n")

    assert sanitise_reply(text, TOOLS, ["ours-to-keep-1"]) == (
        "The key is [REDACTED_SECRET] and [REDACTED_API_KEY].")


@pytest.mark.parametrize("text", [BLOCK, CALL, f"[Used tools: x]\n{BLOCK}"])
def test_an_answer_of_calls_alone_becomes_empty(text):
    assert sanitise_reply(text, TOOLS) == ""
    assert "malformed tool-call" in MALFORMED


@pytest.mark.parametrize("answer", [
    "It is 7 °C in 서울. 天气很好。👩\u200d👧",
    "# Title\n\n- a\n- b\n\n```py\nx = {\n    1: [2],\n}\n\n\ny = 1\n```",
    "1. a\n\n2. b\n\n> quote\n\n| a | b |\n|---|---|",
    '{"name": "Kim"}', "Use `<tool>` in XML.", "a < b and c > d"])
def test_an_ordinary_answer_stays_as_it_is(answer):
    assert sanitise_reply(answer, TOOLS) == answer


fragments = st.sampled_from([
    "<tool_call>", "</tool_call>", "<tool>", "</tool>", "</", ">", "{", "}",
    "[", "]", '"', CALL, f"\n{CALL}\n", "```json\n", "\n```\n", "\n", "\r\n",
    "\n\n\n", '{"result": 1}', "[Used tools: a]", "Let me see\n", "text",
    "漢", "😀", "\\", " ", ":", ",", "1", "\ud800", "\0"])


@settings(deadline=None)
@given(st.lists(fragments, max_size=30).map("".join))
def test_cleaning_adds_nothing_and_never_fails(text):
    clean = sanitise_reply(text, TOOLS)

    rest = iter(text.replace("\r\n", "\n"))
    assert all(letter in rest for letter in clean if not letter.isspace())


@settings(deadline=None)
@given(st.lists(st.sampled_from([
    "word", "漢字", "😀", "# t\n", "- x\n", "\n", "```\ncode {\n```\n", "`{}`",
    "a[0]", "{x}"]), max_size=20).map(" ".join))
def test_text_without_calls_keeps_every_letter(text):
    assert sanitise_reply(text, TOOLS).split() == text.split()


@settings(deadline=None, max_examples=50)
@given(st.text(), st.text())
def test_a_call_never_shows(before, after):
    text = f"{before}\n{BLOCK}\n{CALL}\n{after}"

    assert '"command": "ls"' not in sanitise_reply(text, TOOLS)


@pytest.mark.parametrize("unit", [
    "<tool_call>", "<tool_call>{", "<tool>{}", "<tool>[1]</", "{", "[", "{\n",
    "[\n", '{"a":', '["a\n', "{}\n", f"{CALL}\n", "</", "[Used tools: a]",
    "[Used tools: ", "Let me \n", "\n", " ", "```\n", "<tool></tool>",
    f"```\n{CALL}\n```\n", "[1,\n", "[" * 900 + "1," * 90_000, "[" + "1" * 99,
    "[\n" * 900 + "1,\n" * 90_000, '["', '{"a": "',
    '{"a": 1}\n', "[{\n", '{"a":[\n' * 300 + "1,\n" * 90_000])
def test_hostile_text_takes_linear_time(unit):
    many = unit * max(1, 400_000 // len(unit))
    for text in ("<tool_call>" + many, many):
        begin = time.process_time()
        sanitise_reply(text, TOOLS)

        assert time.process_time() - begin < 1.5
