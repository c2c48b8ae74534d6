"""Forms of a word that stemming leaves apart."""

import pytest

from claw.text.variants import variants


@pytest.mark.parametrize(("word", "form"), [
    ("live", "lives"), ("lives", "live"), ("leave", "leaves"),
    ("centres", "center"), ("colour", "color"), ("favorites", "favourites"),
    ("organised", "organized"), ("deployments", "deploy"),
    ("allergies", "allergic"), ("wifi", "wi fi"), ("email", "mail"),
    ("color", "colour"), ("neighboring", "neighbouring"),
    ("organization", "organisation"),
])
def test_a_word_has_its_other_forms(word, form):
    assert form in variants(word)


@pytest.mark.parametrize("word", ["2026", "猫", "größe", "cat", "v2", "",
                                  "four", "for", "or", "is",
                                  "went", "leaf", "life"])
def test_a_word_without_other_forms_has_none(word):
    assert variants(word) == ()
