"""Memories on a terminal, and tables that fold."""

import io
import os
import re

import pytest

from claw.cli.commands.memory.entries_view import draw_found, draw_list
from claw.cli.show.bars import count_cells, lay_out, wrap
from claw.cli.show.output import Output
from claw.core.memory import MemoryEntry
from claw.security.redact.redactor import Redactor

ESCAPES = re.compile(r"\x1b\[[\d;]*m")


class Screen(io.StringIO):
    def isatty(self):
        return True

    def fileno(self):
        return 0


@pytest.fixture
def out(monkeypatch):
    """out(40): results on a terminal of so many columns."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delitem(os.environ, name, raising=False)

    def call(columns, redactor=None):
        monkeypatch.setattr(os, "get_terminal_size",
                            lambda number=0: os.terminal_size((columns, 9)))
        return Output(stdout=Screen(), redactor=redactor)
    return call


def entry(content, key="key"):
    return MemoryEntry("id", key, content, "core", "2026-11-20T00:00:00Z",
                       None, None)


ENTRIES = [entry("Mina likes green tea"), entry("日本語 " * 30, "long" * 20),
           entry("مرحبا \x1b[2J", "k\x1b[2J"), entry("👩‍👩‍👧 ❤️", "e")]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_what_a_memory_says_stands_first(out, columns):
    drawn = ESCAPES.sub("", draw_list(ENTRIES, out(columns))).split("\n")

    assert max(map(count_cells, drawn)) <= columns
    assert drawn[0].startswith("Mina likes green tea")
    assert len(drawn) == (8 if columns == 40 else 4)
    assert "key [core]" in drawn[1 if columns == 40 else 0]
    assert "\x1b" not in "".join(drawn)
    assert "\\x1b[2J" in "".join(drawn)


def test_the_words_of_the_question_are_marked(out):
    drawn = draw_found("key [core] 90%", ENTRIES[0], "tea", "= x 1", out(40))

    assert drawn == ("Mina likes green \x1b[1;4mtea\x1b[0m\n"
                     "    \x1b[2mkey [core] 90%\x1b[0m\n"
                     "    \x1b[2m= x 1\x1b[0m")


def test_a_mark_within_a_secret_does_not_show_it(out):
    drawn = draw_found("key", entry("it is canary-tea-word, see"), "tea", "",
                       out(80, Redactor(lambda: ["canary-tea-word"])))

    assert "canary" not in drawn
    assert "word" not in drawn


@pytest.mark.parametrize(("text", "cells", "lines"), [
    ("one two three", 7, ["one two", "three"]),
    ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
    ("日本語 日本", 6, ["日本語", "日本"]),
    ("  indented", 20, ["  indented"]),
    ("", 5, [""]),
    ("👩‍👩‍👧👩‍👩‍👧", 2, ["👩‍👩‍👧", "👩‍👩‍👧"]),
    ("set a.long_name.of_it", 10, ["set", "a.long_", "name.of_it"]),
    ("a.bcdefghijk", 8, ["a.bcdefg", "hijk"]),  # no line of two letters
])
def test_lines_are_broken_between_words(text, cells, lines):
    assert wrap(text, cells) == lines


def test_a_table_that_does_not_fit_is_folded():
    rows = [("name", "calls"), ("gpt", "1"), ("日本", "")]

    assert lay_out(rows, 80, head=True)[1] == "gpt   1"
    assert lay_out(rows, 8, head=True) == [
        "gpt", "  calls:", "  1", "日本"]
    assert lay_out(rows[1:], 5) == ["gpt", "  1", "日本"]
    assert lay_out([], 5) == []


def test_the_last_column_is_broken_within_itself_where_there_is_room():
    rows = [("ls", "yours", "what it is for, in some more words"),
            ("日本", "claw's", "b")]

    assert lay_out(rows, 38) == [
        "ls    yours   what it is for, in some",
        "              more words", "日本  claw's  b"]
    assert lay_out(rows, 30) == [
        "ls  yours", "  what it is for, in some more", "  words",
        "日本  claw's  b"]


def test_short_cells_of_a_folded_table_share_a_line():
    rows = [("name", "calls", "in", "out"), ("gpt", "1", "20", "3")]

    assert lay_out(rows, 18, right=[1, 2, 3], head=True) == [
        "gpt", "  calls: 1  in: 20", "  out: 3"]


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_no_table_is_wider_than_the_terminal(columns):
    rows = [("日本語" * 9, "👩‍👩‍👧 " * 9, "word " * 20), ("a", "", "x" * 99),
            ("مرحبا بالعالم", "🇩🇪", "claw.cli.a_setting_with_a_name" * 3)]

    for table in (rows, [row[::-1] for row in rows]):
        assert max(map(count_cells, lay_out(table, columns))) <= columns


@pytest.mark.parametrize(("text", "cells"), [
    ("a\xadb", 3),  # a soft hyphen is drawn
    ("\u0600", 1), ("\u200b", 0), ("🇩🇪", 2), ("👨‍👩‍👧‍👦", 2), ("한", 2)])
def test_cells_are_those_of_a_terminal(text, cells):
    assert count_cells(text) == cells
