"""WordPiece against cases worked out by hand."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.errors import StorageError
from claw.memory.embeddings.wordpiece import (
    read_vocabulary,
    token_ids,
    words,
)

TEXT = ("[PAD] [UNK] [CLS] [SEP] un ##aff ##able hello world naive cafe , . "
        "' $ don t 我 猫 [ ] sep ##x x σας σασ i ##stanbul ᄒ ##ᅡ ##ᆫ")
TOKENS = TEXT.split()
VOCABULARY = {token: number for number, token in enumerate(TOKENS)}


def tokens(text, limit=256):
    return [TOKENS[number]
            for number in token_ids(text, VOCABULARY, limit)[1:-1]]


@pytest.mark.each(("text", "expected"), [
    ("hello world", "hello world"),
    ("  Hello\tWORLD\n", "hello world"),
    ("unaffable", "un ##aff ##able"),
    ("unaffably", "[UNK]"),  # no piece for its end: no piece at all
    ("hello,world.", "hello , world ."),
    ("don't", "don ' t"),
    ("$hello", "$ hello"),  # ASCII signs count as punctuation
    ("naïve CAFÉ", "naive cafe"),
    ("cafe\u0301", "cafe"),
    ("我的猫", "我 [UNK] 猫"),
    ("hello我world", "hello 我 world"),
    ("한", "ᄒ ##ᅡ ##ᆫ"),  # taken apart into letters
    ("hel\u200blo wor\x07ld", "hello world"),  # unseen, and gone
    ("hello\x0bworld", "[UNK]"),  # a control character parts nothing
    ("hello\u3000world\u00a0x", "hello world x"),
    ("hello\u2028world", "hello world"),
    ("he\ufffdllo", "hello"),
    ("\ud800hello", "hello"),
    ("ΣΑΣ", "σασ"),  # no final sigma
    ("İstanbul", "i ##stanbul"),
    ("[SEP]", "[ sep ]"),  # text, not a mark
    ("x" * 100, " ".join(["x"] + ["##x"] * 99)),
    ("x" * 101, "[UNK]"),
    ("", ""),
    (" \n", ""),
])
def test_a_text_is_cut_as_in_training(text, expected):
    assert tokens(text) == expected.split()


def test_start_and_end_stand_around_it():
    assert token_ids("hello", VOCABULARY) == [2, 7, 3]


def test_a_long_text_is_cut_with_its_end_mark_kept():
    found = token_ids("unaffable " * 200, VOCABULARY, 8)

    assert found == [2, 4, 5, 6, 4, 5, 6, 3]


@pytest.mark.parametrize("text", [
    "hello " * 2_000_000, "我" * 5_000_000, "x" * 10_000_000,
    "\u0301" * 3_000_000], ids=["words", "ideographs", "letters", "marks"])
def test_only_the_beginning_of_a_huge_text_is_read(text):
    begun = time.process_time()
    found = token_ids(text, VOCABULARY)

    assert len(found) <= 256
    assert time.process_time() - begun < 0.2


@given(st.text())
def test_any_text_gives_folded_words_without_spaces(text):
    for word in words(text):
        assert word
        assert word.lower() == word
        assert not any(c.isspace() or unicodedata.category(c) == "Mn"
                       for c in word if c not in "\x1c\x1d\x1e\x1f")
        assert len(word) == 1 or not any(
            unicodedata.category(c)[0] == "P" for c in word)


def test_a_vocabulary_is_read_line_by_line(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("[CLS]\n[SEP]\n[UNK]\n猫\n", "utf-8")

    assert read_vocabulary(path) == {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2,
                                     "猫": 3}


@pytest.mark.parametrize("raw", [b"", b"hello\nworld\n", b"\xff\xfe[CLS]"])
def test_what_is_no_vocabulary_is_refused(tmp_path, raw):
    path = tmp_path / "vocab.txt"
    path.write_bytes(raw)

    with pytest.raises(StorageError, match="damaged") as caught:
        read_vocabulary(path)
    assert caught.value.hint == "claw memory model install --force"
