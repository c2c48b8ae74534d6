"""Stems: the rules of Snowball's English stemmer, and irregular forms."""

import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.text import stem as stemming
from claw.text.stem import stem

SNOWBALL = importlib.import_module("snowballstemmer").stemmer("english")
_WORDS = """
abilities accordingly adding agreed allergic allergies andes animation
announcement apologies argued arsenal atlas banned beautifully being bias
bled boxes boys caresses cats cease charities classically cries cry
communication controlled dying eed eggs electrical emergencies enjoyed
evening exceed fizzed flies generously generalization gently goodness
happily happy herring hoping hopping hopefulness idly inning ideologist
internationally joys kiwis lying matting national news only organizing past
paste plotted possibly proceed rational relational replacement sensibilities
skies skis snowed stress studies tanned ties universities university
vietnamization yelling youth yes
"""
WORDS = tuple(_WORDS.split())


@pytest.mark.each("word", WORDS)
def test_a_regular_word_is_stemmed_as_snowball_does(word):
    assert stem(word) == SNOWBALL.stemWord(word)


@given(st.text("abcdeghilmnorstuvyz", min_size=3, max_size=14),
       st.sampled_from(["", "s", "ing", "ed", "ational", "fulness", "ies",
                        "ly", "ement", "ably", "ism", "ysed"]))
def test_any_letters_are_stemmed_as_snowball_does(head, ending):
    word = head + ending

    if word not in stemming._regular:
        assert stem(word) == SNOWBALL.stemWord(word)


@pytest.mark.parametrize(("one", "other"), [
    ("went", "going"), ("children", "child"), ("bought", "buys"),
    ("taught", "teaching"), ("mice", "mouse"), ("lives", "life"),
    ("running", "ran"), ("was", "being"),
])
def test_irregular_forms_meet(one, other):
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["", "a", "is", "北京", "ein2", "naïve",
                                  "2026", "x" * 5000])
def test_what_is_no_english_word_stays(word):
    assert stem(word) == word


@pytest.mark.parametrize("forms", [
    ("программы", "программа", "программой"),
    ("договор", "договора"),
    ("الكتاب", "كتاب", "والكتاب", "بالكتاب"),
    ("विद्यालय", "विद्यालयों"),
    ("προγραμμα", "προγραμματοσ"),
])
def test_words_of_other_alphabets_are_compared_by_their_beginning(forms):
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["дом", "الم", "ру", "東京", "สวัสดี", "१२"])
def test_short_words_and_scripts_without_spaces_stay_as_they_are(word):
    assert stem(word) == word
