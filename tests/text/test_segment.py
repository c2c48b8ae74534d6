"""Folding and segmentation: what is stored meets what is asked."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.text.segment import (
    MAX_WORD,
    _split_once,
    clean,
    cut_words,
    index_text,
    query_terms,
    spaceless_share,
    tokens,
    words,
)
from claw.text.stem import _stem_once, stem
from claw.text.stopwords import WEAK_WORDS


@pytest.mark.parametrize(("text", "expected"), [
    ("Hello, World-wide foo_bar v1.2",
     ["hello", "world", "wide", "foo", "bar", "v1", "2"]),
    ("Café RÉSUMÉ naïve Łódź Ærø", ["cafe", "resume", "naive", "lodz",
                                    "aero"]),
    ("Straße İstanbul ﬁne ｆｕｌｌ", ["strasse", "istanbul", "fine", "full"]),
    ("Ελλάς ΣΊΣΥΦΟΣ Ёж", ["ελλασ", "σισυφοσ", "еж"]),
    ("السَّلامُ", ["السلام"]),
    ("हिन्दी", ["हिन्दी"]),
    ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
    ("我喜欢茶", ["我喜", "喜欢", "欢茶", "我", "喜", "欢", "茶"]),
    ("食べ物", ["食べ", "べ物", "食", "物"]),
    ("ｶﾞｷﾞ", ["ガギ"]),
    ("안녕하세요 밥", ["안녕", "녕하", "하세", "세요", "밥"]),
    ("GPT4模型", ["gpt4", "模型", "模", "型"]),
    ("สวัสดี", ["สวั", "วัส", "ัสด", "สดี"]),
    ("ดี", ["ดี"]),
    ("🎉 \0 \ud800", []),
])
def test_text_becomes_words_and_pairs(text, expected):
    assert tokens(text) == expected


def test_hangul_is_the_same_composed_and_decomposed():
    assert tokens("각") == tokens("\u1100\u1161\u11a8") == ["각"]


@pytest.mark.parametrize(("query", "expected"), [
    ("What is Mina's favourite colour?", ["mina", "favourite", "colour"]),
    ("to be or not to be", ["to", "be", "or", "not"]),   # nothing else said
    ("猫叫什么", ["猫叫", "叫什", "猫", "叫"]),
    ("カレーです", ["カレ", "レー", "ーで"]),
    ("です", ["です"]),
    ("tea tea TEA", ["tea"]),
])
def test_queries_lose_what_carries_no_topic(query, expected):
    assert query_terms(query) == expected


def test_a_query_has_a_bounded_number_of_terms():
    assert len(query_terms(" ".join(f"w{n}" for n in range(999)), 64)) == 64


def test_a_huge_word_is_cut_alike_on_both_sides():
    assert tokens("x" * 100_000) == query_terms("x" * 200_000) == [
        "x" * MAX_WORD]


@pytest.mark.parametrize(("text", "expected"), [
    ("plain \0 text\r\n", "plain \0 text\r\n"),
    ("\ud83d\ude00", "😀"),               # halves that belong together
    ("a\ud800b\udfff", "a\ufffdb\ufffd"),
])
def test_lone_surrogates_are_replaced_and_nothing_else(text, expected):
    assert clean(text) == expected


@given(st.text(st.characters(categories=None)))
def test_any_text_segments_to_what_the_index_can_hold(text):
    found = tokens(text)

    assert bool(index_text(text)) == bool(found)
    for token in [*found, *index_text(text).split()]:
        assert token
        assert token.encode()
        assert not set(token) & set(' "*\0\n')
    for token in found:
        assert tokens(token) or not words(token)


@given(st.text(st.characters(categories=["L", "N", "M", "Z", "P"])))
def test_every_term_of_a_text_as_query_is_in_its_index(text):
    held = set(index_text(text).split())
    pieces = cut_words(text)

    for term in query_terms(text):
        assert stem(term) in held or held.issuperset(pieces[term])


def test_words_that_weigh_little_are_written_as_questions_hold_them():
    spaced = [word for word in WEAK_WORDS
              if spaceless_share(word) == 0]

    assert [word for word in spaced if tokens(word) != [word]] == []


def test_a_text_of_marks_took_the_square_of_its_length():
    marks = "e\u0301\u0316" * 100_000
    begun = time.process_time()
    found = words(f"caf{marks} drinks tea")

    assert time.process_time() - begun < 5
    assert found[-2:] == ["drinks", "tea"]


def test_pieces_of_a_long_text_are_put_together():
    text = "Zu\u0308rich \uff34okyo \u304b\u3099 " * 1_000

    assert words(text) == words(text[:len(text) // 1_000]) * 1_000


def test_ids_take_no_room_in_the_caches_of_words():
    caches = _split_once, _stem_once
    index_text("größe")
    before = [cache.cache_info().currsize for cache in caches]
    found = index_text("größe " + " ".join(f"7f{n}" for n in range(50)))
    stems = [stem(f"8e{number}") for number in range(50)]

    assert [cache.cache_info().currsize for cache in caches] == before
    assert {"7f0", "7f49"} < set(found.split())
    assert stems[0] == "8e0"
