"""Words of other languages: told from English, and cut in pieces."""

import pytest

from claw.text.grams import MARK, cut_word, find_language
from claw.text.segment import index_text, query_terms, tokens


def _share(asked, held):
    pieces = cut_word(asked)
    return len(set(pieces) & set(index_text(held).split())) / len(pieces)


@pytest.mark.parametrize(("one", "other"), [
    ("programmy", "programma"), ("программой", "программа"),
    ("evlerimizde", "evlerimiz"), ("विद्यालयों", "विद्यालय"),
    ("προγραμματοσ", "προγραμμα"), ("والكتاب", "الكتاب")])
def test_forms_of_a_word_share_most_of_its_pieces(one, other):
    pieces = set(cut_word(one))

    assert len(pieces & set(cut_word(other))) >= len(pieces) / 2


def test_a_part_of_a_german_compound_is_found():
    held = "Der Haustürschlüssel liegt unter der Matte"

    assert _share("haustur", held) >= 0.6
    assert _share("garage", held) == 0


@pytest.mark.parametrize("text", [
    "Die Katze schläft auf dem Sofa", "Kedi kanepede uyuyor ve bir fare",
    "El gato duerme en el sofá", "Il gatto dorme sul divano della nonna",
    "Kissa nukkuu sohvalla ja hiiri on keittiössä",
    "Pisica doarme pe canapea", "Kucing itu tidur di sofa"])
def test_a_sentence_that_is_not_english_is_held_in_pieces(text):
    assert MARK in index_text(text).split()


@pytest.mark.parametrize("text", [
    "The cat sleeps on the sofa", "My café is in Zürich and I like it",
    "Los Angeles is far from El Paso", "wifi password", "猫は好き",
    "안녕하세요"])
def test_english_and_short_notes_cost_no_pieces(text):
    assert MARK not in index_text(text).split()


def test_a_sentence_of_no_known_language_is_held_both_ways():
    text = "milk eggs bread butter cheese"

    assert find_language(text, text.split()) == (True, True)
    assert index_text(text).startswith("milk egg bread butter chees _ _mil")


def test_a_russian_name_in_an_english_text_is_held_in_pieces():
    stems, _, pieces = index_text("I met Иван at the station").partition(
        f" {MARK} ")

    assert stems == "i meet at the station"
    assert set(pieces.split()) == set(cut_word("иван"))


def test_vietnamese_keeps_its_marks_beside_the_plain_word():
    held = index_text("Người tiền vệ của đội bóng").split()

    assert {"nguoi", "người", "vệ"} <= set(held)
    assert query_terms("tiền vệ") == ["tiền", "vệ"]
    assert tokens("tiền vệ") == ["tien", "ve"]
