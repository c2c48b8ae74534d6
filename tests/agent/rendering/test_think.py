import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.rendering.signs import CallFilter
from claw.text.think import ThinkFilter, strip_think

PIECES = st.lists(st.sampled_from([
    "<think>", "</think>", "<", "think>", "</", "<think", "<tool_call>",
    "```", "`", "tool", "TOOL_", "CALL", " ", "\n", "a", "{", "한", "🦀",
    "<thinking>", "</thinking>", "<|channel|>", "analysis<|message|>",
    "<|end|>", "<|start|>assistant", "<|channel|>final<|message|>"]),
    max_size=14).map("".join)


def cut(text, borders):
    places = sorted({min(b, len(text)) for b in borders})
    return [text[a:b] for a, b in
            zip([0, *places], [*places, len(text)], strict=True)]


@pytest.mark.parametrize(("text", "expected"), [
    ("plain", "plain"),
    ("<think>a</think>b", "b"),
    ("\n<think>a</think>\n\nb\n", "b\n"),
    ("a<think>b</think> c", "a c"),
    ("a<think>b</think>c<think>d</think>e", "ace"),
    ("<think>never closed", ""),
    ("<thinking>a</thinking>b", "b"),
    ("<thought>a</thought>b<reasoning>c</reasoning>d", "bd"),
    ("[THINK]a[/THINK]b", "b"),
    # thoughts whose opening stood in the prompt
    ("I look it up.\n</think>\n\nb", "b"),
    ("<think>a<think>b</think>c</think>d", "d"),
    # a mention
    ("The model emits `<think>` at the start.",
     "The model emits `<think>` at the start."),
    ("The model emits <think> at the start.",
     "The model emits <think> at the start."),
    ("Between `<think>` and `</think>` it thinks.",
     "Between `<think>` and `</think>` it thinks."),
    ("Use <think> and `</think>`.", "Use <think> and `</think>`."),
    ("```xml\n<think>a</think>\n```\nend",
     "```xml\n<think>a</think>\n```\nend"),
    ("It`s\n<think>a</think>b", "It`s\nb"),
    ("<THINK>kept</THINK>", "<THINK>kept</THINK>"),
    ("<thinks>a</thinks>", "<thinks>a</thinks>"),
    ("", ""), ("<thin", "<thin"), ("a <thin", "a <thin"), ("   ", ""),
    # Harmony
    ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>"
     "final<|message|>Yes.<|return|>", "Yes."),
    ("<|channel|>final<|message|>Yes.", "Yes."),
    ("Say <|channel|>final<|message|> so",
     "Say <|channel|>final<|message|> so"),
])
def test_thoughts_go_and_a_mention_of_them_stays(text, expected):
    assert strip_think(text) == expected


@given(PIECES, st.lists(st.integers(0, 60), max_size=8))
def test_chunk_borders_never_change_what_is_visible(text, borders):
    think, whole = ThinkFilter(), ThinkFilter()
    out = "".join(map(think.feed, cut(text, borders))) + think.finish()

    assert out == whole.feed(text) + whole.finish()
    assert think.answer == whole.answer == strip_think(text)
    assert out.endswith(think.answer)


@pytest.mark.parametrize(("pieces", "shown"), [
    (["a <", "b c"], ["a ", "<b c"]),
    (["a <th", "e"], ["a ", "<the"]),
    (["`<think>`", " is"], ["`<think>`", " is"]),
    (["a <think>", "b", "</think>c"], ["a ", "", "c"]),
    (["a</th", "ink>b"], ["a", "b"]),
])
def test_no_more_is_held_back_than_may_be_a_thought(pieces, shown):
    think = ThinkFilter()

    assert list(map(think.feed, pieces)) == shown


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
