"""Results and notes on their streams."""

import io
import json
import os
import time

import pytest

from claw.cli.commands.probe_view import ProbeView
from claw.cli.invocation import Invocation
from claw.cli.show import look
from claw.cli.show.bars import align
from claw.cli.show.check_list import report, show, show_mark
from claw.cli.show.output import Output, to_json, visible, wants_colour
from claw.cli.show.progress import Waiting
from claw.core.errors import AuthError
from claw.providers.check import Check as Probed
from claw.wiring.checks.check import Check


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_control_characters_are_shown_on_a_terminal():
    screen = Terminal()
    Output(stdout=screen).result("a\x1b[2Jb\u202e\u200e\u200f\u061cc\n\td")

    assert screen.getvalue() == (
        "a\\x1b[2Jb\\u202e\\u200e\\u200f\\u061cc\n\td\n")


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


@pytest.fixture
def terminal(monkeypatch):
    """terminal(40): a terminal of so many columns."""
    def call(columns):
        screen = Terminal()
        screen.fileno = lambda: 0
        monkeypatch.setitem(os.environ, "TERM", "dumb")
        monkeypatch.setattr(os, "get_terminal_size",
                            lambda number=0: os.terminal_size((columns, 9)))
        return screen
    return call


def test_errors_are_broken_between_words(terminal):
    screen = terminal(30)
    Output(stderr=screen).error(AuthError(
        "the vendor refused the token", hint="set another with: claw onboard"
    ))

    assert screen.getvalue().splitlines() == [
        "claw: error: the vendor", "  refused the token (set",
        "  another with: claw onboard)"]


def test_a_note_in_a_pipe_stays_one_line(terminal):
    terminal(20)
    said = io.StringIO()
    Output(stderr=said).note("word " * 20 + "end")

    assert said.getvalue().count("\n") == 1


def test_rows_are_columns_on_a_terminal_and_tabs_in_a_pipe(terminal):
    rows = [["日本", "a\x1b[2J"], ["b", ""]]
    screen, pipe = terminal(80), io.StringIO()
    Output(stdout=screen).table(rows, head=["name", "what"])
    Output(stdout=pipe).table(rows, head=["name", "what"])

    assert screen.getvalue() == "name  what\n日本  a\\x1b[2J\nb\n"
    assert pipe.getvalue() == "日本\ta\x1b[2J\nb\n"


def test_a_waiting_line_stays_one_line(terminal):
    screen = terminal(20)
    waiting = Waiting("running a tool with a long name", screen)
    time.sleep(1.2)
    waiting.stop()

    assert "running a to… (1 s)" in screen.getvalue()


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


@pytest.mark.parametrize(("env", "painted"), [
    ({}, "\x1b[1;31mx\x1b[0m"),
    ({"NO_COLOR": "1"}, "\x1b[1mx\x1b[0m"),  # bold is no colour
    ({"TERM": "dumb"}, "x"),
])
def test_no_colour_leaves_what_is_bold(monkeypatch, env, painted):
    for name in ("NO_COLOR", "TERM", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setitem(os.environ, name, value)

    assert Output(stdout=Terminal()).paint("x", "fail") == painted
    assert Output(stdout=io.StringIO()).paint("x", "fail") == "x"


@pytest.mark.parametrize(("stream", "term", "shown"), [
    (Terminal, "xterm", "a \x1b[1mb\x1b[0m\n"),
    (Terminal, "dumb", "a **b**\n"),
    (io.StringIO, "xterm", "a **b**\n"),
])
def test_markdown_is_set_for_a_person_alone(monkeypatch, stream, term,
                                            shown):
    monkeypatch.setitem(os.environ, "TERM", term)
    out = Output(stdout=stream())
    out.render_markdown()
    out.stream("a **b**")
    out.end()

    assert out.stdout.getvalue().rpartition("\x1b[K")[2].removeprefix(
        "\x1b[?2026l") == shown


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


def test_a_terminal_gets_sound_checks_as_a_count(monkeypatch):
    monkeypatch.setitem(os.environ, "TERM", "dumb")
    out = Output(stdout=Terminal(), stderr=io.StringIO())
    seen = show([*CHECKS, Check("b.three", "ok", "-")], out, folds=True)

    assert len(seen) == 4
    assert out.stdout.getvalue() == (
        "  warn a.two: odd\n       -> look\n  ok   a: 1 check of 2\n"
        "  skip b.one: -\n  ok   b: 1 check of 2\n"
        "2 ok, 1 warning, 0 failures\n")


def test_channels_stand_apart_and_one_reason_is_told_once(monkeypatch):
    monkeypatch.setitem(os.environ, "TERM", "dumb")
    out = Output(stdout=Terminal(), stderr=io.StringIO())
    show([Check(f"channels.{name}.{step}", status, "quiet")
          for name in ("red", "blue")
          for step, status in (("a", "ok"), ("name.x", "ok"), ("b", "skip"))],
         out, folds=True)

    assert out.stdout.getvalue() == (
        "  skip channels.red.b: quiet\n"
        "  ok   channels.red: 2 checks of 3\n"
        "  ok   channels.blue: 2 checks of 3\n"
        "4 ok, 0 warnings, 0 failures\n")


def test_each_check_is_printed_as_it_is_known(invocation):
    run, stdout = invocation()

    def look():
        yield CHECKS[0]
        assert "a.one: fine\n" in stdout.getvalue()
        yield ILL
        assert "b.two: gone\n" in stdout.getvalue()
    assert report(run, look()) == 1


def test_a_long_line_of_a_check_is_broken_between_words(monkeypatch):
    monkeypatch.setitem(os.environ, "TERM", "dumb")
    screen = Terminal()
    screen.fileno = lambda: 0
    monkeypatch.setattr(os, "get_terminal_size",
                        lambda number=0: os.terminal_size((30, 9)))
    show([Check("a.b", "warn", "한국어 " * 8 + "end", "claw run a long "
                "command --with-options")], Output(stdout=screen))

    lines = screen.getvalue().splitlines()
    assert lines[1:3] == ["  warn a.b: 한국어 한국어",
                          "       한국어 한국어 한국어"]
    assert lines[-4:-1] == ["       -> claw run a long",
                            "          command",
                            "          --with-options"]


@pytest.mark.parametrize("folds", [True, False])
def test_rows_of_providers_come_one_provider_after_the_other(monkeypatch,
                                                             folds):
    monkeypatch.setitem(os.environ, "TERM", "dumb")
    out = Output(stdout=Terminal(), stderr=io.StringIO())
    view = ProbeView(out, folds=folds)
    view.hear(1, "two  m", Probed("reach", True, "it answers"))
    view.hear(1, "two  m", Probed("key", False, "refused", "set it"))
    view.finish(1)
    assert out.stdout.getvalue() == ""
    view.hear(0, "one  m", Probed("reach", True, "it answers"))
    view.hear(0, "one  m", Probed("stream", True, "first words after 5 ms",
                                  ms=5))
    view.finish(0)

    assert out.stdout.getvalue() == ((
        "  ok   one  m: reach, stream; first words after 5 ms\n"
        "two  m\n  FAIL key     refused\n       -> set it\n"
        "  ok   reach\n") if folds else (
        "one  m\n  ok   reach   it answers\n"
        "  ok   stream  first words after 5 ms\n"
        "two  m\n  ok   reach   it answers\n"
        "  FAIL key     refused\n       -> set it\n"))


@pytest.mark.parametrize(("checks", "ok"), [(CHECKS, True), ([ILL], False)])
def test_checks_as_json(invocation, checks, ok):
    run, stdout = invocation("json")

    assert report(run, checks, more=[1]) == (0 if ok else 1)
    assert json.loads(stdout.getvalue()) == {
        "ok": ok, "checks": [c.to_json() for c in checks], "more": [1]}


def test_styles_name_only_colours_of_the_terminals_own_theme():
    assert {word for style in look.STYLES.values()
            for word in style.split()} <= {
        "bold", "dim", "italic", "underline",
        "red", "green", "yellow", "magenta", "cyan"}


@pytest.mark.parametrize(("status", "drawn"), [
    ("ok", "\x1b[32mok  "), ("warn", "\x1b[33mwarn"),
    ("fail", "\x1b[1;31mFAIL"), ("skip", "\x1b[2mskip")])
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
