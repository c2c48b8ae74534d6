"""Which part of growing Markdown is settled, and showing it."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.cli.markdown import MarkdownStream, settled


@pytest.mark.parametrize(("text", "expected"), [
    ("one", ""),
    ("one\n\n", ""),
    ("one\n\ntwo", "one\n\n"),
    ("one\n\ntwo\n\nthree", "one\n\ntwo\n\n"),
    ("- a\n\n- b", ""),
    ("1. a\n\n2. b", ""),
    ("- a\n\n  more of a", ""),
    ("> a\n\n> b", ""),
    ("```\na\n\nb", ""),
    ("```\na\n\nb\n```\n\nc", "```\na\n\nb\n```\n\n"),
    ("~~~\n```\n\nx", ""),
    ("````\n```\n\nx", ""),
])
def test_what_later_text_cannot_change(text, expected):
    assert text[:settled(text)] == expected


@given(st.lists(st.sampled_from(
    ["word ", "\n", "\n\n", "```\n", "- ", "> ", "# "]), max_size=20))
def test_settled_text_stays_settled(pieces):
    text, done = "", 0
    for piece in pieces:
        text += piece
        now = settled(text)
        if text.endswith("\n") or now >= done:
            assert now >= done
            done = now


def test_every_word_is_printed_once_in_the_end():
    out = io.StringIO()
    stream = MarkdownStream(out)
    words = [f"word{n}" for n in range(50)]
    for word in words:
        stream.feed(word + "\n\n")
    stream.finish()

    shown = out.getvalue().split()
    assert shown == words
