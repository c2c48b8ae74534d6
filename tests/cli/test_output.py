"""Results and notes on their streams."""

import io
import json

import pytest

from claw.cli.output import Output, to_json, visible, wants_colour
from claw.core.errors import AuthError


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
