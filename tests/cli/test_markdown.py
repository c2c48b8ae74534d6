"""Which part of growing Markdown is settled, and showing it."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from claw.cli.chat.markdown import (
    Growing,
    MarkdownStream,
    cut_ending,
    measure_settled,
)


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
    assert text[:measure_settled(text)] == expected


@given(st.lists(st.sampled_from(
    ["word ", "\n", "\n\n", "```\n", "- ", "> ", "# "]), max_size=20))
def test_settled_text_stays_settled(pieces):
    text, done = "", 0
    for piece in pieces:
        text += piece
        now = measure_settled(text)
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


@pytest.mark.parametrize("around", [("", ""), ("```\n", "```\n")],
                         ids=["list", "code"])
def test_of_a_block_longer_than_the_screen_its_end_is_drawn(around):
    growing, out = Growing(), io.StringIO()
    lines = "".join(f"- line {n}\n" for n in range(500))
    growing.text = around[0] + lines
    Console(file=out, width=60, height=20).print(growing)

    shown = out.getvalue()
    assert "line 499" in shown
    assert "line 400" not in shown
    assert len(shown.splitlines()) <= 19


def test_the_end_of_a_code_block_is_still_code():
    text = "~~~py\na\n```\nb\nc\n"
    assert cut_ending(text, 2) == "~~~py\nb\nc\n"
    assert cut_ending("```\na\n```\nb\nc\n", 2) == "b\nc\n"
    assert cut_ending("a\nb\n", 2) == "a\nb\n"


def test_where_a_link_leads_is_seen_and_hidden_behind_no_words():
    out = io.StringIO()
    stream = MarkdownStream(out)
    stream._console = Console(file=out, force_terminal=True, width=80)
    stream.feed("[click](https://evil.example/?q=s) ![x](https://b.example)")
    stream.finish()

    assert "click (https://evil.example/?q=s)" in re.sub(
        r"\x1b\[[\d;?]*[A-Za-z]", "", out.getvalue())
    assert "\x1b]8" not in out.getvalue()
