"""Which part of growing Markdown is settled, and showing it."""

import io
import os
import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.cli.chat.live import LiveRows
from claw.cli.chat.markdown import (
    MarkdownStream,
    cut_ending,
    split_blocks,
)
from claw.cli.chat.typeset import Typesetter
from claw.cli.show.bars import count_cells

ESCAPES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


@pytest.mark.parametrize(("text", "expected"), [
    ("one", ""),
    ("one\n\n", ""),
    ("one\n\ntwo", "one\n\n"),
    ("one\n\ntwo\n\nthree", "one\n\ntwo\n\n"),
    ("- a\n\n- b", "- a\n\n"),
    ("- a\n- b\n- c\n", "- a\n- b\n"),
    ("- a\n  - b", ""),
    ("1. a\n\n2. b", "1. a\n\n"),
    ("1. a\n12. b", "1. a\n"),
    ("It was in\n1984. Or so", ""),
    ("It has\n- a", "It has\n"),
    ("- a\n\n  more of a", ""),
    ("> a\n\n> b", ""),
    ("# a\nb", "# a\n"),
    ("a\n# b", "a\n"),
    ("a\n```py\nb", "a\n"),
    ("- a\n```py\nb", "- a\n"),
    ("a\n```py", ""),
    ("- a\n  ```\n  b\n\n  c", ""),
    ("- a\n  ```\n  b\n\n  ```\n\nc", "- a\n  ```\n  b\n\n  ```\n\n"),
])
def test_what_later_text_cannot_change(text, expected):
    assert "".join(split_blocks(text)[:-1]) == expected


@settings(suppress_health_check=[HealthCheck.too_slow])  # its first draw
@given(st.lists(st.sampled_from(
    ["word ", "\n", "\n\n", "```\n", "- ", "> ", "# "]), max_size=20))
def test_settled_text_stays_settled(pieces):
    text, done = "", 0
    for piece in pieces:
        text += piece
        now = len(text) - len(split_blocks(text)[-1])
        if text.endswith("\n") or now >= done:
            assert now >= done
            done = now


class Screen(io.StringIO):
    """A stream and what a terminal would show of it: rows that scroll."""

    def rows(self):
        rows, row = [""], 0
        for piece in re.split(r"(\x1b\[[\d;?]*[A-Za-z]|[\r\n])",
                              self.getvalue()):
            if piece == "\n":
                row += 1
                rows += [""] * (row == len(rows))
            elif piece == "\x1b[A":
                row -= 1
            elif piece == "\x1b[K":
                rows[row] = ""
            elif piece != "\r" and not ESCAPES.fullmatch(piece):
                rows[row] += piece
        return rows


def stream_into(screen, columns=60, lines=20, **options):
    stream = MarkdownStream(screen, **options)
    stream._size = lambda: os.terminal_size((columns, lines))
    stream._show_soon = stream._show  # each piece is drawn
    return stream


ANSWER = """\
# A title

It has *words*, `code`, Vec<T> and
a second line.
- one
- two
1. first
2. second
```py
def f():
\t'''Two
    lines.'''
    return 1
```
Next.

| a | b |
|---|--:|
| 日记 | 22 |
"""
SHOWN = """\
A title

It has words, code, Vec<T> and
a second line.

 • one
 • two

 1 first
 2 second

def f():
\t'''Two
    lines.'''
    return 1

Next.

a       b
─────────
日记   22
"""


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("columns", [40, 200])
def test_an_answer_looks_the_same_however_it_comes(size, columns):
    screen = Screen()
    stream = stream_into(screen, columns)
    for at in range(0, len(ANSWER), size):
        stream.feed(ANSWER[at:at + size])
    stream.finish()

    assert "\n".join(screen.rows()) == SHOWN


def test_nothing_that_was_printed_is_drawn_again():
    screen = Screen()
    stream = stream_into(screen)
    for n in range(50):
        stream.feed(f"word{n}\n\n")
    stream.finish()

    assert "\n".join(screen.rows()).split() == [f"word{n}"
                                               for n in range(50)]
    # in the whole stream each is written when it grows and when it stays
    assert all(screen.getvalue().count(f"word{n}\x1b") +
               screen.getvalue().count(f"word{n}\n") <= 2 for n in range(50))


@pytest.mark.parametrize("text", [
    "```\ncode", "```\ncode\n``", "```py", "| a | b |\n|--", "| a |\n|---|\n|",
    "- a\n  ```\n  b", "**bold", "[a](http://b", "a\r", "<b"])
def test_what_was_cut_off_is_shown_as_far_as_it_came(text):
    screen = Screen()
    stream = stream_into(screen)
    stream.feed(text)
    stream.finish()

    shown = "".join(screen.rows())
    for word in re.findall(r"[a-z]+", text):
        assert word in shown or word in ("py",)


def test_the_end_of_a_fence_is_no_code():
    screen = Screen()
    stream = stream_into(screen)
    for piece in ("```\ncode\n", "`", "``"):
        stream.feed(piece)
        assert "`" not in "".join(screen.rows())
    stream.finish()

    assert screen.rows() == ["code", ""]


def test_code_is_copied_as_it_is():
    line = "x = 1" + " " * 3 + "# " + "long " * 40 + "end"
    screen = Screen()
    stream = stream_into(screen, colour=False)
    stream.feed(f"```sh\n{line}\n\techo\n```\n")
    stream.finish()

    assert screen.rows() == [line, "\techo", ""]
    assert "\x1b[4" not in screen.getvalue()  # no background


def test_a_note_does_not_end_a_block_of_code():
    screen = Screen()
    stream = stream_into(screen)
    stream.feed("```py\nx = 1\n")
    stream.pause()
    stream.feed("# no title\n```\n# title\n")
    stream.finish()

    assert screen.rows() == ["x = 1", "# no title", "", "title", ""]


def test_without_colours_the_layout_stays():
    bright, plain = (Typesetter(colour=colour).set_lines(
        "# T\n\n- `a` **b**", 40)[0] for colour in (True, False))

    assert "\x1b[36ma" in bright[-1]
    assert plain == ["\x1b[1;4mT\x1b[0m", "", " • a \x1b[1mb\x1b[0m"]


@pytest.mark.parametrize("columns", [20, 40])
@pytest.mark.parametrize("text", [
    "日本語" * 30, "مرحبا " * 20, "👩‍👩‍👧 " * 20, "word " * 40,
    "- " + "x" * 99, "> " + "한국어 " * 20,
    "| Name | What it means |\n|---|---|\n| a | " + "long text " * 9 + "|"])
def test_no_line_is_wider_than_the_terminal(text, columns):
    _, plain = Typesetter(colour=True).set_lines(text, columns)

    assert max(map(count_cells, plain)) <= columns
    assert re.sub(r"\W", "", "".join(plain)).startswith(
        re.sub(r"\W", "", text)[:15])


def test_a_table_that_does_not_fit_is_set_row_by_row():
    text = ("| Environment variable | Meaning |\n|---|---|\n"
            "| CLAW_MEMORY__BACKEND | the backend |\n| B | b |")

    _, narrow = Typesetter(colour=True).set_lines(text, 24)
    assert narrow == ["Environment variable:", "CLAW_MEMORY__BACKEND",
                      "Meaning: the backend", "",
                      "Environment variable: B", "Meaning: b"]
    _, wide = Typesetter(colour=True).set_lines(text, 80)
    assert wide[0] == "Environment variable   Meaning"


def test_of_a_block_longer_than_the_screen_its_end_is_drawn():
    screen = Screen()
    stream = stream_into(screen)
    stream.feed("| a |\n|---|\n" + "".join(
        f"| row {n} |\n" for n in range(100)))

    assert "row 99" in "".join(screen.rows())
    assert len(screen.rows()) <= 19


def test_what_grows_still_fits_when_the_terminal_is_made_half_as_wide():
    screen = Screen()
    stream = stream_into(screen)
    stream.feed("word " * 900)

    assert len(screen.rows()) <= 20 // 2


def test_a_row_that_the_terminal_draws_wider_does_not_stay_behind():
    screen = Screen()
    LiveRows(screen).draw(["👩🏽‍💻" * 20], ["👩🏽‍💻" * 20], 40)

    assert "\x1b[?7l👩" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[?7h\x1b[?2026l")


def test_rows_of_a_terminal_made_narrower_are_taken_away():
    screen = Screen()
    live = LiveRows(screen)
    live.draw(["x" * 50, "y"], ["x" * 50, "y"], 80)
    live.erase(20)

    assert screen.getvalue().count("\x1b[A") == 3


def test_a_pause_of_the_model_shows_what_came_before_it():
    screen = Screen()
    stream = MarkdownStream(screen)
    stream.feed("one ")
    stream.feed("two")
    time.sleep(0.3)

    assert "two" in screen.rows()[0]


def test_the_end_of_a_code_block_is_still_code():
    text = "~~~py\na\n```\nb\nc\n"
    assert cut_ending(text, 2) == "~~~py\nb\nc\n"
    assert cut_ending("```\na\n```\nb\nc\n", 2) == "b\nc\n"
    assert cut_ending("a\nb\n", 2) == "a\nb\n"


def test_where_a_link_leads_is_seen_and_hidden_behind_no_words():
    shown, plain = Typesetter(colour=True).set_lines(
        "[click](https://evil.example/?q=s) ![x](https://b.example) "
        "<https://c.example> [**b**](https://d.example)", 100)

    assert " ".join(plain) == (
        "click (https://evil.example/?q=s) x (https://b.example) "
        "https://c.example b (https://d.example)")
    assert "\x1b]8" not in "".join(shown)


def test_control_characters_of_an_answer_are_shown():
    screen = Screen()
    stream = stream_into(screen)
    stream.feed("a\x1b]8;;http://x\x07b\x9b2J\r\n\n```\n\x1b[2J\n```\n")
    stream.finish()

    assert "a\\x1b]8;;http://x\\x07b\\x9b2J" in screen.rows()[0]
    assert "\\x1b[2J" in screen.rows()
