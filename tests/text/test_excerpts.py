"""The part of a text in which words stand."""

import pytest

from claw.text.excerpts import find_excerpt, find_words

BEES = ("The keeper of the northern lighthouse has kept bees for years. Last "
        "summer they were swarming over the garden and the harbour.")


@pytest.mark.parametrize(("text", "query", "words"), [
    (BEES, "bees", ["bees"]),
    (BEES, "bee", ["bees"]),
    (BEES, "swarms", ["swarming"]),
    (BEES, "harbour garden", ["garden", "harbour"]),
    (BEES, "gar*", ["garden"]),
    ("Wann öffnen die Programme in Köln?", "Programm koln",
     ["Programme", "Köln"]),
    ("上海办公室几点开门？", "办公室", ["办公室"]),
    ("İstanbul'da hava", "istanbul", ["İstanbul"]),
])
def test_the_words_are_marked_where_they_stand(text, query, words):
    found = find_excerpt(text, query, 60)

    assert [found.text[start:end] for start, end in found.spans] == words


@pytest.mark.parametrize(("text", "query"), [
    (BEES, "zebra"), (BEES, ""), (BEES, "*"), ("", "bees")])
def test_what_does_not_stand_there_has_no_excerpt(text, query):
    assert find_excerpt(text, query, 60) is None


@pytest.mark.parametrize(("query", "text"), [
    ("keeper", "The keeper of the northern lighthouse ha…"),
    ("bees", "…northern lighthouse has kept bees for ye…"),
    ("harbour", "…over the garden and the harbour."),
])
def test_an_excerpt_begins_at_a_word_before_the_hit(query, text):
    assert find_excerpt(BEES, query, 40).text == text


def test_the_place_with_most_of_the_words_is_shown():
    text = "tea " + "x " * 200 + "tea from Assam " + "x " * 200

    assert "tea from Assam" in find_excerpt(text, "assam tea", 60).text


@pytest.mark.parametrize("text", [
    "a\nbees\tb", "a\r\n\r\n  bees   b"])
def test_an_excerpt_is_one_line(text):
    assert find_excerpt(text, "bees", 60).text == "a bees b"


def test_words_of_a_query_are_told_apart():
    assert {word for _, _, word in find_words(BEES, "bees garden")} \
        == {"bees", "garden"}
