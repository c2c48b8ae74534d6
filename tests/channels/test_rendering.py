"""Markdown in a platform's own markup, in pieces that fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.channels.markup import parse_markdown
from claw.channels.rendering import (
    disarm_spans,
    render_spans,
    split_rendered,
)

EVIL = "https://evil.example/x?s=secret"
SIGNS = {"bold": "*", "italic": "_", "strikethrough": "~", "code": "`"}


def marks(span, text):
    if span.kind == "text_link":
        return f"<{span.extra}|", ">"
    if span.kind == "pre":
        return "```\n", "\n```"
    if span.kind == "blockquote":
        return ">", ""
    return SIGNS[span.kind], SIGNS[span.kind]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def render(text, spans):
    return render_spans(text, spans, marks, escape)


@pytest.mark.parametrize(("markdown", "shown"), [
    ("**a** and *b*", "*a* and _b_"),
    ("**a *b* c**", "*a _b_ c*"),
    ("a < b & `c < d`", "a &lt; b &amp; `c < d`"),
    ("[x](https://a.example)", "<https://a.example|x>"),
    ("```py\nx < 1\n```", "```\nx < 1\n```"),
    ("> **q**", ">*q*"),
    ("plain", "plain"),
    (" \n ", None),
])
def test_formats_become_the_platforms_signs(markdown, shown):
    assert split_rendered(markdown, limit=100, render=render) == (
        [] if shown is None else [shown])


@given(st.text(alphabet="ab<& *_`\n[]()>👋é", max_size=300),
       st.integers(12, 60))
def test_every_piece_fits_and_nothing_is_lost(markdown, limit):
    pieces = split_rendered(markdown, limit=limit, render=render)

    assert all(len(piece) <= limit for piece in pieces)
    plain, _ = parse_markdown(markdown)
    for letter in "ab👋é":
        assert sum(p.replace("&amp;", "").count(letter)
                   for p in pieces) == plain.count(letter)


def test_escapes_that_make_a_text_too_long_make_more_pieces():
    pieces = split_rendered("<" * 100, limit=50, render=render)

    assert "".join(pieces) == "&lt;" * 100
    assert all(len(piece) <= 50 for piece in pieces)


@pytest.mark.parametrize("text", [
    EVIL, f"[x]({EVIL})", f"**{EVIL}**", f"👋 {EVIL}", f"> {EVIL}",
    "ok hunter2.evil.com", "a@evil.com", "mailto:x@y",
    " ".join([EVIL] * 20)])
def test_no_address_is_live_where_none_is_known(text):
    plain, spans = parse_markdown(text)
    safe = disarm_spans(plain, spans, ())

    assert not any(span.kind == "text_link" for span in safe)
    assert any(span.kind in ("code", "pre") for span in safe)
    assert disarm_spans(plain, safe, ()) == safe


def test_a_known_address_stays_a_link():
    plain, spans = parse_markdown(f"[a]({EVIL}) and {EVIL}")

    assert [s.kind for s in disarm_spans(plain, spans, (EVIL,))] == [
        "text_link"]
