"""Which memories contradict each other, by the form of their sentences.

pairs.json holds pairs written for this: `contradict` and `agree` were known
while the rules were made, `unseen` was written after and changed nothing.
"""

import json
from pathlib import Path

import pytest

from claw.agent.memory.conflicts.pairs import find_pairs
from claw.agent.memory.conflicts.values import exclude
from claw.core.memory import MemoryEntry

PAIRS = json.loads(Path(__file__).with_name("pairs.json").read_text("utf-8"))


def memory(number, text, **more):
    at = f"2026-01-{number:02d}T00:00:00.000000Z"
    given = {"id": f"id{number}", "key": f"user_msg_{number}",
             "content": text, "category": "core", "created_at": at,
             "updated_at": at}
    return MemoryEntry(**{**given, **more})


def contradict(one, other, **more):
    return bool(find_pairs([memory(1, one, **more), memory(2, other)]))


@pytest.mark.each(("one", "other"), PAIRS["contradict"])
def test_two_values_of_one_thing_are_a_pair(one, other):
    assert contradict(one, other)
    assert contradict(other, one)


@pytest.mark.each(("one", "other"), PAIRS["agree"])
def test_what_can_hold_side_by_side_is_none(one, other):
    assert not contradict(one, other)
    assert not contradict(other, one)


def test_of_pairs_that_no_rule_was_made_for_two_thirds_are_found():
    found = [pair for pair in PAIRS["unseen"] if contradict(*pair)]

    assert len(PAIRS["unseen"]) == 25
    assert len(found) >= 17


def test_the_newer_comes_first_and_both_say_what_they_say():
    pair, = find_pairs([memory(1, "Hello. I live in Berlin."),
                        memory(2, "Well, I moved to Hamburg!")])

    assert (pair.newer_says, pair.older_says) == (
        "I moved to Hamburg", "I live in Berlin")
    assert pair.ids == {"id1", "id2"}


@pytest.mark.parametrize("more", [
    {"sender": "mina"},                    # somebody else said it
    {"sender": "assistant"},
    {"superseded_by": "id2"},
])
def test_only_what_one_person_says_now_is_compared(more):
    assert not contradict("I live in Berlin", "I live in Hamburg", **more)


def test_what_mina_says_of_herself_and_others_of_her_is_one_thing():
    assert contradict("I live in Busan", "Mina moved to Seoul",
                      sender="Mina")


def test_the_speaker_of_a_transcript_is_the_label_of_its_line():
    assert contradict("Ann: I like coffee", "Ann: I don't like coffee")
    assert not contradict("Ann: I like coffee", "Bob: I don't like coffee")


def test_a_key_that_names_what_a_text_is_says_it_too():
    assert contradict("Lindenweg 5", "My address is Marktplatz 12",
                      key="address")
    assert not contradict("Lindenweg 5", "My address is Marktplatz 12",
                          key="note")


def test_an_age_grows_with_the_time_between():
    one = memory(1, "I'm 34 years old")
    two_years_on = "2028-01-02T00:00:00.000000Z"

    assert not find_pairs([one, memory(2, "I'm 36", created_at=two_years_on)])
    assert find_pairs([one, memory(2, "I'm 41", created_at=two_years_on)])


def test_an_age_of_a_time_that_is_none_is_compared():
    assert contradict("I'm 34 years old", "I'm 41", created_at="once")


def test_code_says_nothing():
    assert not contradict("```\nwidth: 10px\n```", "```\nwidth: 30px\n```")


def test_never_is_held_against_what_was_done():
    pair, = find_pairs([
        memory(1, "I attended a workshop on resume standards on May 3, can "
                  "you give me tips?"),
        memory(2, "I've never attended any workshops on resume standards, so "
                  "where do I begin?")])

    assert pair.why == "never"
    assert not contradict("I've never attended any workshops on resumes",
                          "I attended a concert with my sister")


def test_of_many_values_none_is_the_only_one():
    towns = ["Oslo", "Rome", "Paris", "Lyon", "Bern", "Kyoto", "Lima"]

    assert find_pairs([memory(n, f"I live in {town}")
                       for n, town in enumerate(towns[:3], 1)])
    assert not find_pairs([memory(n, f"I live in {town}")
                           for n, town in enumerate(towns, 1)])


@pytest.mark.parametrize("text", [
    "", "\x00\ufffd\x1b[2J", "?" * 5000, "I " * 3000, "a: " * 2000,
    "I've never " * 800, "我的" * 2000])
def test_any_text_is_read(text):
    assert find_pairs([memory(1, text), memory(2, text + "!")]) == []


@pytest.mark.parametrize(("one", "other", "expected"), [
    ("Berlin", "Berlin, Germany", False),
    ("dark green", "green", False),
    ("green", "blue", True),
    ("Friday", "10:30", False),            # go together
    ("Friday at 9:00", "Monday at 9:00", True),
    ("9 am", "9:00", False),
    ("8 pm", "20:00", False),
    ("10 Uhr", "10:00", False),
    ("10시", "11시", True),
    ("two", "2", False),
    ("5월 3일", "5월 8일", True),
    ("北京", "北京市朝阳区", False),
])
def test_values_exclude_each_other_by_kind(one, other, expected):
    assert exclude(one, other, strict=False) is expected
    assert exclude(other, one, strict=False) is expected
