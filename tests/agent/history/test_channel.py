"""A channel's turns on their way to a model."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from claw.agent.history import repair
from claw.agent.history.channel import (
    clean,
    compact,
    normalise,
    trim_chars,
    with_summary,
    without_summary,
)
from claw.core.provider import Chat, ChatMessage

RESULT = '<tool_result name="shell" status="ok">\nline\nline\n</tool_result>'


def merge_last(history, text):
    """The person's new words, put to those that were not answered."""
    return normalise([*history, ChatMessage.user(text)])


def turns(*texts):
    """user, assistant, user ...; ("role", text) says another role."""
    made = []
    for index, text in enumerate(texts):
        role, text = (text if isinstance(text, tuple) else
                      (("user", "assistant")[index % 2], text))
        made.append(ChatMessage(role, text))
    return made


def shown(messages):
    return [(m.role[0], m.content) for m in messages]


@pytest.mark.parametrize(("given_", "expected"), [
    ([], []),
    (turns("hi", "yes"), [("u", "hi"), ("a", "yes")]),
    (turns(("user", "hi"), ("user", "stop")), [("u", "hi\n\nstop")]),
    (turns(("user", ""), ("user", "x"), ("user", "")), [("u", "x")]),
    (turns("q", ("assistant", "a"), ("assistant", "b")),
     [("u", "q"), ("a", "a\n\nb")]),
    (turns(("assistant", "old"), ("user", "q")), [("u", "q")]),
    (turns(("system", "s"), ("user", "q"), ("tool", "t"), ("user", "r")),
     [("u", "q\n\nr")]),
    (turns(("assistant", "only")), []),
    (turns("q", "", "r"), [("u", "q\n\nr")]),
])
def test_turns_begin_with_the_person_and_alternate(given_, expected):
    assert shown(normalise(given_)) == expected


def test_new_words_join_those_that_were_not_answered():
    assert shown(merge_last(turns("hello"), "never mind")) == [
        ("u", "hello\n\nnever mind")]
    assert shown(merge_last(turns("q", "a"), "next")) == [
        ("u", "q"), ("a", "a"), ("u", "next")]
    assert shown(merge_last([], "first")) == [("u", "first")]


@pytest.mark.parametrize(("text", "left"), [
    (f"  before\n{RESULT}\nafter {RESULT} ", "before\n\nafter"),
    ("<tool_result>", "<tool_result>"),
    (f"{RESULT} and <tool_result x> unclosed", "and <tool_result x> unclosed"),
    ("a </tool_result> b", "a </tool_result> b"),
])
def test_results_of_tools_are_not_read_again(text, left):
    assert shown(clean(turns("q", text, "next"), True)) == [
        ("u", "q"), ("a", left), ("u", "next")]


def test_a_turn_of_results_alone_goes_and_its_neighbours_meet():
    history = turns("q", "I look.", f"[Tool results]\n{RESULT}", "It is a.",
                    "thanks")

    assert shown(clean(history, True)) == [
        ("u", "q"), ("a", "I look.\n\nIt is a."), ("u", "thanks")]


@pytest.mark.parametrize("names", [
    ["shell"], ["a", "b", "a"], ["x]y"], ["multi\nline", "b"]])
@pytest.mark.parametrize("text", ["done", "", "[1] done", "[Used tools: x]"])
def test_the_line_of_used_tools_is_taken_off_again(names, text):
    kept = with_summary(text, names)

    assert kept.startswith("[Used tools: ")
    assert kept.count("\n") == 1
    assert without_summary(kept) == text
    history = [*turns("q"), ChatMessage.assistant(kept), *turns("next")]
    cleaned = clean(history, True)
    assert cleaned[-1].content.endswith("next")
    assert not any("multi" in t.content or "[Used tools: s" in t.content
                   for t in cleaned)


def test_the_summary_has_the_seeds_form():
    assert with_summary("It rains.", ["shell", "web_search", "shell"]) == (
        "[Used tools: shell, web_search]\nIt rains.")
    assert with_summary("It rains.", []) == "It rains."
    assert without_summary("[Used tools: a") == "[Used tools: a"


def test_what_the_person_writes_about_used_tools_stays():
    history = turns("[Used tools: x] what is that?")

    assert clean(history, True) == history


def test_a_model_without_sight_gets_no_images_of_earlier_turns():
    history = turns("look [IMAGE:/a.png] here", "nice", "[IMAGE:b]", "ok",
                    "and [IMAGE:/c.png]")

    assert shown(clean(history, False)) == [
        ("u", "look  here"), ("a", "nice\n\nok"), ("u", "and [IMAGE:/c.png]")]
    assert clean(history, True) == history
    assert clean(history[-1:], False) == history[-1:]


def test_the_oldest_turns_go_until_the_rest_fits():
    history = turns("a" * 10, "b" * 10, "c" * 10, "d" * 10, "e" * 10)

    assert trim_chars(history, 50) == history
    assert shown(trim_chars(history, 35))[0] == ("u", "c" * 10)
    assert trim_chars(history, 30) == history[2:]
    assert trim_chars(history, 1) == history[-1:]
    assert trim_chars([], 1) == []
    assert trim_chars(turns("x" * 400_001)) == turns("x" * 400_001)
    assert trim_chars(turns("x" * 399_999, "y", "z")) == turns("z")


def test_compaction_keeps_twelve_turns_of_600_characters():
    history = turns(*(f"{n} " + "x" * 700 for n in range(20)))
    short = compact(history)

    assert len(short) == 12
    assert short[-1].role == "assistant"
    assert all(len(t.content) == 603 and t.content.endswith("...")
               for t in short)
    assert compact(turns("a", "b", "c")) == turns("a", "b", "c")
    assert compact(turns("y" * 599 + "  z")) == turns("y" * 599 + "...")


def test_compaction_never_begins_with_an_answer():
    history = turns(*map(str, range(13)))

    short = compact(history)

    assert shown(short)[0] == ("u", "2")
    assert short[-1] == history[-1]


TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from([
        "a", "\n", "[IMAGE:x]", "[IMAGE:", "<tool_result>", "</tool_result>",
        "", RESULT, "[Used tools: s]", "]", " "]),
        max_size=6).map("".join))
TURNS = st.lists(st.builds(
    ChatMessage, st.sampled_from(["user", "assistant", "system", "tool"]),
    TEXTS), max_size=30)

OPERATIONS = {
    "normalise": normalise,
    "clean": lambda t: clean(t, True),
    "clean blind": lambda t: clean(t, False),
    "trim": lambda t: trim_chars(t, 40),
    "compact": compact,
    "all": lambda t: compact(trim_chars(clean(t, False), 40)),
}


@pytest.mark.parametrize("name", OPERATIONS)
@given(history=TURNS, words=st.text(min_size=1, max_size=20))
def test_every_operation_leaves_sound_turns_that_end_with_the_last(
        name, history, words):
    assume(words.strip())
    given_ = merge_last(history, words)
    before = list(given_)

    left = OPERATIONS[name](given_)

    assert given_ == before
    assert left
    assert [t.role for t in left] == [
        ("user", "assistant")[n % 2] for n in range(len(left))]
    assert left[-1].role == "user"
    assert repair(map(Chat, left)) == list(map(Chat, left))


@given(history=TURNS, words=st.text("abc", min_size=1, max_size=20))
def test_the_last_words_are_there_whatever_came_before(history, words):
    left = trim_chars(clean(merge_last(history, words), False), 1)

    assert len(left) == 1
    assert left[0].content.endswith(words)


@given(history=TURNS)
def test_normalising_and_cleaning_twice_changes_nothing_more(history):
    once = normalise(history)
    assert normalise(once) == once
    short = compact(once)
    assert compact(short) == short or any(
        t.content.endswith("...") for t in short)
