"""Ranking of sentences for a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.provider import Passage
from claw.text.passages import MAX_PIECE, best_passages, sentences

NOTES = """The project started in 2019. Dr. Kim leads it, e.g. at night. The
deadline is next Friday at noon, and everybody in the whole team
knows it well.
- buy milk
- call Bob

预算是五千元。截止日期是周五！「行く。」と言った。私の名前は田中です。
"""


def test_sentences_lines_items_and_wrapped_prose_are_told_apart():
    assert sentences(NOTES) == [
        "The project started in 2019.",
        "Dr. Kim leads it, e.g. at night.",
        "The\ndeadline is next Friday at noon, and everybody in the whole "
        "team\nknows it well.",
        "- buy milk", "- call Bob",
        "预算是五千元。", "截止日期是周五！", "「行く。」", "と言った。",
        "私の名前は田中です。"]


@pytest.mark.parametrize(("question", "answer"), [
    ("When is the deadline?", "next Friday at noon"),
    ("When were projects starting?", "started in 2019"),
    ("Who should I call?", "call Bob"),
    ("截止日期是什么时候", "截止日期是周五！"),
    ("田中さんの名前は？", "私の名前は田中です。"),
])
def test_the_best_piece_answers(question, answer):
    score, best = best_passages(question, [Passage("stdin", NOTES)], 3)[0]

    assert answer in best.text
    assert best.source == "stdin"
    assert 0.4 < score <= 1


def test_a_part_of_the_question_scores_less_than_all_of_it():
    found = best_passages("Mina's favourite tea", [
        Passage("memory:a", "Mina lives in Seoul."),
        Passage("memory:b", "Mina's favourite tea is green.")], 5)

    assert [passage.source for _, passage in found] == ["memory:b",
                                                        "memory:a"]
    assert found[0][0] > 2 * found[1][0]


def test_a_rare_word_decides_over_common_ones():
    lines = [f"worker {n} status report" for n in range(50)]
    lines.append("worker kumquat")

    (_, best), *_ = best_passages("status of worker kumquat",
                                  [Passage("stdin", "\n".join(lines))], 1)

    assert best.text == "worker kumquat"


def test_nothing_in_common_gives_nothing():
    assert best_passages("zebra", [Passage("stdin", NOTES)], 3) == []
    assert best_passages("", [Passage("stdin", NOTES)], 3) == []
    assert best_passages("deadline", [], 3) == []
    assert best_passages("deadline", [Passage("stdin", NOTES)], 0) == []


def test_the_same_line_is_given_once():
    assert len(best_passages("disk", [Passage("log", "disk full\n" * 9)],
                             5)) == 1


def test_a_line_without_an_end_is_cut():
    text = "lorem ipsum " * 500 + "kumquat " + "dolor sit " * 500
    (_, best), = best_passages("kumquat", [Passage("stdin", text)], 3)

    assert "kumquat" in best.text
    assert len(best.text) <= MAX_PIECE


@pytest.mark.parametrize("unit", [".", "?! ", "\n", "x ", "。", "a", "\0",
                                  ". a", "hello world\r\n"])
def test_a_megabyte_of_anything_ends(unit):
    text = unit * ((1 << 20) // len(unit.encode()))

    best_passages("which fox? 苹果", [Passage("stdin", text)], 3)


@given(st.text(), st.lists(st.text(), max_size=4))
def test_pieces_are_quoted_exactly(question, texts):
    passages = [Passage(str(n), text) for n, text in enumerate(texts)]

    for score, piece in best_passages(question, passages, 5):
        assert 0 < score <= 1
        assert piece.text in texts[int(piece.source)]


@pytest.mark.parametrize(("question", "text"), [
    ("who runs marathons?", "Tom ran a marathon"),
    ("which day are deployments?", "We deploy every Thursday"),
    ("do I have any allergies?", "I am allergic to peanuts"),
    ("favorite color?", "Her favourite colour is green"),
    ("has Mina ever gone to Rome?", "Mina went to Rome"),
    ("where does Mina live?", "Mina lives in Oslo"),
])
def test_other_forms_of_a_word_match(question, text):
    best = best_passages(question, [Passage("a", text),
                                    Passage("b", "Bread and butter")], 3)

    assert [passage.text for _, passage in best] == [text]
    assert best[0][0] > 0.4


@pytest.mark.parametrize("text", [
    "Der Zahnarzttermin ist am 14. März um 15 Uhr",
    "Wir wohnen im 3. Stock links",
    "Møtet er 14. mars klokka ni",
])
def test_a_date_does_not_end_the_sentence(text):
    assert sentences(text) == [text]


def test_a_sentence_may_end_with_a_number():
    assert sentences("He is 14. She is 12.") == ["He is 14.", "She is 12."]
