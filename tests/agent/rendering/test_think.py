import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.rendering.sanitise import for_display
from claw.agent.rendering.think import (
    CallFilter,
    ThinkFilter,
    strip_think,
    visible_answer,
)

PIECES = st.lists(st.sampled_from([
    "<think>", "</think>", "<", "think>", "</", "<think", "<tool_call>",
    "```", "tool", "TOOL_", "CALL", " ", "\n", "a", "{", "한", "🦀"]),
    max_size=12).map("".join)


def cut(text, borders):
    places = sorted({min(b, len(text)) for b in borders})
    return [text[a:b] for a, b in
            zip([0, *places], [*places, len(text)], strict=True)]


@pytest.mark.parametrize(("text", "expected"), [
    ("plain", "plain"),
    ("<think>a</think>b", "b"),
    ("a<think>b</think>c<think>d</think>e", "ace"),
    (" <think>a</think>\n\nb ", " \n\nb "),
    ("a<think>never closed", "a"),
    ("a</think>b", "a</think>b"),
    ("<think>a<think>b</think>c</think>d", "c</think>d"),
    ("<thinking>kept</thinking>", "<thinking>kept</thinking>"),
    ("<THINK>kept</THINK>", "<THINK>kept</THINK>"),
    ("", ""),
    ("<thin", "<thin"),
])
def test_think_blocks_are_removed_and_nothing_else(text, expected):
    assert strip_think(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("\n<think>a</think>\n\nb\n", "b\n"),
    ("  indented", "  indented"),
    ("a<think>b</think> c", "a c"),
    ("<think>a</think>", ""),
    ("   ", "   "),
])
def test_a_leading_block_goes_with_the_blank_space_around_it(text, expected):
    assert visible_answer(text) == expected


@given(PIECES, st.lists(st.integers(0, 60), max_size=8))
def test_chunk_borders_never_change_what_is_visible(text, borders):
    for trim, whole in ((True, visible_answer), (False, strip_think)):
        think = ThinkFilter(trim_start=trim)
        out = "".join(map(think.feed, cut(text, borders))) + think.finish()
        assert out == whole(text)


@given(PIECES, st.lists(st.integers(0, 60), max_size=8))
def test_the_call_filter_shows_the_same_at_any_border(text, borders):
    pieces = CallFilter()
    shown = "".join(map(pieces.feed, cut(text, borders)))
    once = CallFilter()
    at_once = once.feed(text)

    assert shown == at_once
    assert shown + pieces.finish() == text


@pytest.mark.parametrize(("text", "shown"), [
    ("Let me look. <tool_call>{}", "Let me look. "),
    ("So <toolcall>", "So "),
    ("```tool_call\n{}", ""),
    ("see TOOL_CALL {", "see "),
    ('  {"tool_calls": []}', ""),
    ("[1] is a footnote", ""),
    ("a < b and c", "a < b and c"),
    ("```python\nx", "```python\nx"),
    ("<minimax:tool_call>", ""),
])
def test_call_markup_is_held_back(text, shown):
    assert CallFilter().feed(text) == shown


def test_what_cannot_become_a_tag_is_shown_at_once():
    calls = CallFilter()

    assert calls.feed("a <to") == "a "
    assert calls.feed("day") == "<today"


@pytest.mark.parametrize(("text", "expected"), [
    ('x<tool_result name="a" status="ok">\nsecret\n</tool_result>y', "xy"),
    ("<thinking>a</thinking>b<think>c</think>d", "bd"),
    ("[Tool results]\nanswer", "answer"),
    ("a\n\n\n\n\nb\n", "a\n\nb"),
    ("<think>open", "<think>open"),
])
def test_display_cleaning(text, expected):
    assert for_display(text) == expected
