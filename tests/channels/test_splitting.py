"""Pieces by any measure of length; borders and entities are tested in
telegram/test_markup.py."""

import pytest

from claw.channels.markup import parse_markdown
from claw.channels.splitting import _holds, split_text

TEXT = "안녕 세상 " * 30 + "word " * 30 + "👋" * 30


def count_bytes(text):
    return len(text.encode())


@pytest.mark.parametrize("length", [len, count_bytes])
@pytest.mark.parametrize("limit", [4, 20, 63])
def test_pieces_are_as_long_as_allowed_and_lose_nothing(length, limit):
    pieces = [piece for piece, _ in split_text(TEXT, limit=limit,
                                               length=length)]

    assert max(map(length, pieces)) <= limit
    assert "".join("".join(pieces).split()) == "".join(TEXT.split())
    assert len(pieces) <= 4 * length(TEXT) / limit


def test_a_piece_has_its_own_spans_and_not_too_many():
    text, spans = parse_markdown("**bold** *it* " * 20)
    pieces = split_text(text, spans, limit=50, max_spans=3)

    assert sum(len(inside) for _, inside in pieces) == 40
    for piece, inside in pieces:
        assert 1 <= len(inside) <= 3
        assert {piece[s.start:s.end] for s in inside} <= {"bold", "it"}


def test_a_limit_below_one_character_is_refused():
    with pytest.raises(ValueError, match="room"):
        split_text("👋", limit=3, length=count_bytes)


def test_the_end_of_a_line_is_one_sign():
    assert [piece for piece, _ in split_text("abc\r\ndef", limit=4)] == [
        "abc", "def"]
    assert _holds("a\r\nb", 2)
    assert not _holds("a\rb", 2)
    assert not _holds("ab\n", 2)


def test_a_word_is_cut_only_where_the_last_quarter_of_it_would_be_short():
    """A blank in the first quarter of a piece is no place to cut."""
    assert split_text("ab cdefghijklmnop", limit=12)[0][0] == "ab cdefghijk"
    assert split_text("abc defghijklmnop", limit=12)[0][0] == "abc defghijk"
    assert split_text("abcd efghijklmnop", limit=12)[0][0] == "abcd"
