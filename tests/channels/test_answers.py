"""What is typed in answer to a question."""

import time

import pytest

from claw.channels import answers


@pytest.mark.parametrize(("text", "decision"), [
    ("yes k7m3p", "yes"),
    ("  Yes, K7M3P.", "yes"),
    ("k7m3p yes", "yes"),
    ("no k7m3p", "no"),
    ("always k7m3p", "always"),
    ("yes always k7m3p", "always"),
    ("@claw yes k7m3p", "yes"),
    ("claw: no k7m3p", "no"),
    ("yes k7m3p\n\n-- \nAl", "yes"),
    ("ja k7m3p", "yes"),
    ("nein k7m3p", "no"),
    ("Oui k7m3p !", "yes"),
    ("예k7m3p", "yes"),
    ("아니요 k7m3p", "no"),
    ("はい\u3000ｋ７ｍ３ｐ", "yes"),
    ("不行k7m3p。", "no"),
    ("نعم k7m3p", "yes"),
    ("yes no k7m3p", None),
    ("yes", None),
    ("k7m3p", None),
    ("yes h264", None),
    ("perhaps k7m3p", None),
    ("yes to k7m3p", None),
    ("yes k7m3pq", None),
    ("> yes k7m3p", None),
    ("the key is yes k7m3p", None),
    ("hello\nyes k7m3p", None),
    ("yes q7m3p", None),  # a question of the agent
    ("", None),
])
def test_a_decision_is_a_word_and_an_id(text, decision):
    assert answers.parse_decision(text) == (
        decision and ("k7m3p", decision))


@pytest.mark.parametrize(("text", "words"), [
    ("q7m3p blue", "blue"),
    ("Q7M3P: in two\nlines ", "in two\nlines"),
    ("claw: q7m3p 2", "2"),
    ("q7m3p", ""),
    ("q7m3pr blue", None),
    ("is q7m3p blue", None),
    ("k7m3p blue", None),
])
def test_a_reply_begins_with_the_id(text, words):
    assert answers.parse_reply(text) == (
        None if words is None else ("q7m3p", words))


def test_ids_are_read_back_and_tell_questions_apart():
    for _ in range(300):
        drawn, question = answers.draw_id(), answers.draw_id(answers.SIGN)

        assert answers.parse_decision(f"yes {drawn}") == (drawn, "yes")
        assert answers.parse_reply(f"{question} x") == (question, "x")
        assert answers.parse_reply(f"{drawn} x") is None


@pytest.mark.parametrize("text", [
    "a:" + " " * 200_000, "@" * 200_000, "q7m3p" * 40_000,
    " " * 200_000 + "\n" * 200_000 + "x"])
def test_long_hostile_text_is_read_at_once(text):
    began = time.process_time()
    answers.parse_decision(text)
    answers.parse_reply(text)
    assert time.process_time() - began < 0.5
