"""What kind of answer a question wants, and what gains by being of it."""

from pathlib import Path

import pytest

from claw.core.memory import Filters, Source
from claw.memory.search.intent import BEHIND, keep_behind, read_intent
from claw.memory.search.scoring import Row
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.ephemeral import EphemeralMemory


@pytest.fixture
def memory():
    opened = EphemeralMemory.open(Path(), MemorySettings())
    yield opened
    opened.close()


def weigh(question, text, sender=None):
    return [*read_intent(question).weigh(Row(1, "", "", sender, text))]


def keys(memory, question):
    return [found.key for found in memory.recall(question)]


@pytest.mark.parametrize(("question", "text", "expected"), [
    ("which editor do I use?", "I use a small editor", ["first_person"]),
    ("which editor does Ann use?", "I use a small editor", []),
    ("where can i find pressure data", "i measured it", ["first_person"]),
    ("nozzles, i.e. a throat", "i measured it", []),
    ("can you suggest an editor?", "I prefer small ones", ["preference"]),
    ("could you help me edit?", "I really love short bursts",
     ["first_person", "preference"]),
    ("Kannst du einen Tee empfehlen?", "Ich mag Tee", ["preference"]),
    ("你推荐什么茶？", "我喜欢绿茶", ["preference"]),
    ("what did Tim recommend to Ann?", "I love this book", []),
    ("Have I ever used Flask?", "I've never used Flask",
     ["first_person", "denial"]),
    ("Did I fix it?", "I didn't fix the bug", ["first_person", "denial"]),
    ("Habe ich Flask benutzt?", "Ich habe noch nie Flask benutzt",
     ["first_person", "denial"]),
    ("when did I use Flask?", "I've never used Flask", ["first_person"]),
    ("when is it due?", "Always give the year when I ask about dates.",
     ["instruction"]),
    ("when is it due?", "From now on give the year", ["instruction"]),
    ("when is it due?", "Always a pleasure to help when asked", []),
    ("when is it due?", "I always ask", []),
])
def test_what_is_of_the_kind_that_is_asked_for_gains(question, text,
                                                     expected):
    assert weigh(question, text) == expected


@pytest.mark.parametrize(("question", "expected"), [
    ("which editor do I use?", ["reply"]),
    ("which editor did you recommend for my notes?", []),
    ("what was your suggestion for me?", []),
    ("which editor is small?", []),
])
def test_a_reply_loses_where_one_asks_what_one_said(question, expected):
    assert weigh(question, "I prefer it", "assistant") == expected


@pytest.mark.parametrize(("question", "first"), [
    ("which editor do I use on trains?", "said"),
    ("which editor did you recommend for me on trains?", "replied"),
])
def test_the_question_tells_whose_words_count(memory, question, first):
    memory.store_from("replied", "an editor on trains, for me it is fine",
                      "core", None, Source("assistant"))
    memory.store("said", "the editor that I use is fine, even on the trains")

    assert keys(memory, question)[0] == first


def test_advice_begins_with_what_one_prefers(memory):
    memory.store("plan", "I edit the draft on Monday")
    memory.store("taste", "I prefer to edit in short bursts of half an hour")

    assert keys(memory, "how should I edit the draft?")[0] == "plan"
    assert keys(memory, "how would you suggest I edit?")[0] == "taste"


def test_whether_one_ever_did_finds_the_denial_first(memory):
    memory.store("did", "I set the Flask routes up")
    memory.store("never", "I never wrote any of those Flask routes myself,"
                          " it seems")

    assert keys(memory, "Have I written Flask routes?") == ["never", "did"]


def test_a_lasting_instruction_comes_with_the_answer_and_after_it(memory):
    memory.store("rule", "Always name the year when I ask about deadlines.")
    memory.store("answer", "the deadline of the grant is in May")
    for number in range(8):
        memory.store(f"talk{number}", f"{number} deadlines in a long talk"
                     " that goes on about this and that and the other" * 2)
    (first, _), (second, why), *_ = memory.explain(
        "when is the deadline of the grant?", 5, Filters())

    assert (first.key, second.key) == ("answer", "rule")
    assert why.parts["instruction"] == 3.0


def test_instructions_stand_behind_others_and_alone_where_they_are():
    scores = {1: 1.0, 2: 5.0, 3: 0.1}
    keep_behind(scores, {2, 3})
    alone = {7: 2.0}
    keep_behind(alone, {7})

    assert scores == {1: 1.0, 2: BEHIND, 3: 0.1}
    assert alone == {7: 2.0}
