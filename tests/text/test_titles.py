"""What a conversation is called."""

import unicodedata

import pytest

from claw.text.titles import MOST_CHARS, make_title


@pytest.mark.parametrize(("text", "title"), [
    ("", ""), (" \n\t ", ""), ("---\n***\n", ""),
    ("# What is\n\n**Rust**?", "What is Rust?"),
    ("1. first\n2. second", "first second"),
    ("> quoted\n> words", "quoted words"),
    ("```py\nprint(1)\n```", "print(1)"),
    ("look ![at this](cat.png) and [that](http://x/y)",
     "look at this and that"),
    ("[IMAGE:/a/b.png] what is it?", "what is it?"),
    ("data:image/png;base64,AAAA/+== whose?", "whose?"),
    ("<b>bold</b> x < 3", "bold x < 3"),
    ("/think:high why?", "why?"),
    ("snake_case_name and 2*3*4", "snake_case_name and 2*3*4"),
    ("a\x1b[2Jb\u202ec\nd\ud800", "a [2Jbc d"),
    ("上海办公室几点开门？", "上海办公室几点开门？"),
    ("كيف حالك؟", "كيف حالك؟"),
])
def test_a_title_is_the_first_words_without_markup(text, title):
    assert make_title(text) == title


@pytest.mark.parametrize(("text", "title"), [
    ("word " * 30, "word " * 11 + "word…"),
    ("x" * 99, "x" * (MOST_CHARS - 1) + "…"),
    ("x" * MOST_CHARS, "x" * MOST_CHARS),
    ("日本語" * 40, "日本語" * 19 + "日本…"),
    ("one, two, " + "y" * 99, "one, two, " + "y" * 49 + "…"),
])
def test_a_long_text_is_cut_at_a_blank_near_the_end(text, title):
    assert make_title(text) == title


@pytest.mark.parametrize("text", [
    "e\u0301" * 90, "न\u093f" * 90, "a" + "\u0301" * 90])
def test_a_letter_keeps_its_marks(text):
    title = make_title(text)

    assert len(title) <= MOST_CHARS
    kept = title.removesuffix("…")
    following = unicodedata.category(text[len(kept)])
    assert following not in ("Mn", "Me") or not kept


def test_a_whole_book_costs_no_more_than_its_first_page():
    assert make_title("[" * 3_000_000) == "[" * (MOST_CHARS - 1) + "…"
