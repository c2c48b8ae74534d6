"""Results and notes on their streams."""

import io
import json
import os

import pytest

from claw.cli.bars import align
from claw.cli.check_list import report, show_mark
from claw.cli.invocation import Invocation
from claw.cli.output import Output, to_json, visible, wants_colour
from claw.core.errors import AuthError
from claw.wiring.checks.check import Check


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_control_characters_are_shown_on_a_terminal():
    screen = Terminal()
    Output(stdout=screen).result("a\x1b[2Jb\u202ec\n\td")

    assert screen.getvalue() == "a\\x1b[2Jb\\u202ec\n\td\n"


def test_json_holds_nothing_that_a_terminal_obeys():
    text = "\x9b31m\u202e\x7f\x1b[2J\n"

    shown = to_json(text)
    assert shown.isprintable()
    assert json.loads(shown) == text


def test_a_pipe_gets_the_bytes_as_they_are():
    pipe = io.StringIO()
    Output(stdout=pipe).result("a\x1b[2Jb")

    assert pipe.getvalue() == "a\x1b[2Jb\n"


@pytest.mark.parametrize(("pieces", "expected"), [
    (["a", "b"], "ab\n"),
    (["a", "b\n"], "ab\n"),
    (["a\n", ""], "a\n"),
    ([], ""),
])
def test_streamed_result_ends_with_one_newline(pieces, expected):
    pipe = io.StringIO()
    out = Output(stdout=pipe)
    for piece in pieces:
        out.piece(piece)
    out.end()

    assert pipe.getvalue() == expected


def test_error_in_both_forms():
    pipe, said = io.StringIO(), io.StringIO()
    Output(json=True, stdout=pipe, stderr=said).error(
        AuthError("refused", hint="set a key"))

    assert pipe.getvalue() == (
        '{"error": {"kind": "auth", "message": "refused", '
        '"hint": "set a key"}}\n')
    assert said.getvalue() == "claw: error: refused (set a key)\n"


def test_quiet_keeps_errors():
    said = io.StringIO()
    out = Output(quiet=True, stdout=io.StringIO(), stderr=said)
    out.note("n")
    out.warn("w")
    out.error(AuthError("e"))

    assert said.getvalue() == "claw: error: e\n"


@pytest.mark.parametrize(("env", "terminal", "expected"), [
    ({}, True, True),
    ({}, False, False),
    ({"NO_COLOR": "1"}, True, False),
    ({"TERM": "dumb"}, True, False),
    ({"CLICOLOR_FORCE": "1"}, False, True),
    ({"CLICOLOR_FORCE": "0"}, False, False),
])
def test_colour(env, terminal, expected):
    stream = Terminal() if terminal else io.StringIO()

    assert wants_colour(stream, env) is expected


def test_json_takes_lone_surrogates():
    assert to_json("차\ud800") == '"\\ucc28\\ud800"'
    assert to_json("차") == '"차"'


def test_visible_keeps_words():
    assert visible("한국어 中文 🍵\n\tx") == "한국어 中文 🍵\n\tx"


@pytest.fixture
def invocation():
    """invocation("json"): a run with these flags, and what it prints."""
    def call(*flags):
        run = Invocation()
        run.options = dict.fromkeys(flags, True)
        run.__dict__["out"] = Output(stdout=io.StringIO(),
                                     stderr=io.StringIO())
        return run, run.out.stdout
    return call


@pytest.mark.parametrize(("flags", "printed"), [
    ((), "two\n"), (("json",), '{"n": 2}\n'), (("jsonl",), '{"n": 2}\n')])
def test_a_result_is_text_or_a_document(invocation, flags, printed):
    run, stdout = invocation(*flags)
    run.print_result({"n": 2}, "two")

    assert stdout.getvalue() == printed


@pytest.mark.parametrize(("flags", "total", "done", "printed"), [
    ((), None, False, ""),
    (("json",), None, True, '{"q": 1, "rows": [5, 6], "total": 2}\n'),
    (("json",), 0, True, '{"q": 1, "rows": [5, 6], "total": 0}\n'),
    (("jsonl",), 9, True, "5\n6\n"),
    (("json", "jsonl"), 9, True, '{"q": 1, "rows": [5, 6], "total": 9}\n'),
])
def test_rows_are_a_document_or_lines(
        invocation, flags, total, done, printed):
    run, stdout = invocation(*flags)

    assert run.print_json_rows("rows", iter((5, 6)), total=total,
                               q=1) is done
    assert stdout.getvalue() == printed


CHECKS = [Check("a.one", "ok", "fine", "not said"),
          Check("a.two", "warn", "odd", "look"), Check("b.one", "skip", "-")]
ILL = Check("b.two", "fail", "gone", "bring it back")


@pytest.mark.parametrize(("checks", "code", "end"), [
    (CHECKS, 0, "1 ok, 1 warning, 0 failures\n"),
    ([*CHECKS, ILL], 1, "  FAIL b.two: gone\n       -> bring it back\n"
                        "1 ok, 1 warning, 1 failure\n"),
    ([ILL, ILL], 1, "0 ok, 0 warnings, 2 failures\n"),
])
def test_checks_by_group_with_their_next_step(invocation, checks, code, end):
    run, stdout = invocation()

    assert report(run, checks) == code
    assert stdout.getvalue().endswith(end)
    if checks[0] is CHECKS[0]:
        assert stdout.getvalue().startswith(
            "a\n  ok   a.one: fine\n  warn a.two: odd\n       -> look\n"
            "b\n  skip b.one: -\n")


@pytest.mark.parametrize(("checks", "ok"), [(CHECKS, True), ([ILL], False)])
def test_checks_as_json(invocation, checks, ok):
    run, stdout = invocation("json")

    assert report(run, checks, more=[1]) == (0 if ok else 1)
    assert json.loads(stdout.getvalue()) == {
        "ok": ok, "checks": [c.to_json() for c in checks], "more": [1]}


@pytest.mark.parametrize(("status", "drawn"), [
    ("ok", "\x1b[32mok  "), ("warn", "\x1b[33mwarn"),
    ("fail", "\x1b[31mFAIL"), ("skip", "\x1b[2mskip")])
def test_marks_have_colours(monkeypatch, status, drawn):
    monkeypatch.setitem(os.environ, "CLICOLOR_FORCE", "1")
    monkeypatch.delitem(os.environ, "NO_COLOR", raising=False)
    out = Output(stdout=io.StringIO(), stderr=io.StringIO())
    show_mark(status, out)

    assert out.stdout.getvalue() == f"  {drawn}\x1b[0m "


def test_columns_are_as_wide_as_their_widest_cell():
    rows = [("name", "n", "x"), ("日记", "10", ""), ("abcdef", "9", "y")]

    assert align(rows) == ["name    n   x", "日记    10", "abcdef  9   y"]
    assert align(rows, right=[1]) == [
        "name     n  x", "日记    10", "abcdef   9  y"]
    assert align([]) == []
