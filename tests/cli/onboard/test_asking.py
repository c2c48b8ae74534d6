"""Lists and secrets as a terminal shows them."""

from functools import partial
from threading import Timer
from unicodedata import normalize

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from claw.cli.commands.onboard import asking
from claw.cli.commands.onboard.asking import (
    BACK,
    Choice,
    FullAsker,
    PlainAsker,
)

CHOICES = [Choice("a", "first", "a note"), Choice("家", "家で緑茶を飲む" * 9),
           Choice("c", "third\x1b[2J\nline")]
DOWN, ENTER = "\x1b[B", "\r"


class Screen:
    """What was written, for prompt_toolkit."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""
        self.answers = {}

    def write(self, text):
        self.text += text
        for sought in [one for one in self.answers if one in self.text]:
            self.answers.pop(sought)()

    def flush(self):
        pass

    def fileno(self):
        raise OSError("no file")

    def isatty(self):
        return True


def ask(keys, question, answers=None):
    """What a question of the full terminal gives for these keys, and what
    was seen, 40 columns wide; `answers` are keys for what is seen."""
    screen = Screen()
    with create_pipe_input() as source:
        screen.answers = {
            sought: partial(source.send_text, more)
            for sought, more in (answers or {}).items()}
        source.send_text(keys)
        never = Timer(20.0, source.send_text, ["\x04"])
        never.start()
        try:
            return question(FullAsker(source, Vt100_Output(
                screen, lambda: Size(20, 40), term="xterm"))), screen.text
        finally:
            never.cancel()


@pytest.mark.parametrize(("keys", "expected"), [
    (ENTER, "c"),  # the suggested one
    ("\x1b[A" + ENTER, "家"),
    (DOWN + ENTER, "a"),
])
def test_a_list_is_moved_in(keys, expected):
    picked, screen = ask(keys, lambda asker: asker.select(
        "Which?", CHOICES, "c"))

    assert picked == expected
    assert "third\\x1b[2J line" in screen


def test_a_long_list_is_searched():
    many = [Choice(f"m{n}", f"model-{n}") for n in range(300)]
    picked, screen = ask("l-277" + ENTER, lambda asker: asker.select(
        "Which?", many, "m1"))

    assert picked == "m277"
    assert "300" in screen  # more than the terminal has lines


def test_the_chosen_line_is_broken_between_words(monkeypatch, capsys):
    monkeypatch.setattr(asking, "count_columns", lambda _: 40)
    ask(ENTER, lambda asker: asker.select("What may the agent do here?", [
        Choice("a", "reads unasked, asks before more")], None))

    assert capsys.readouterr().err == (
        "? What may the agent do here? reads\n"
        "  unasked, asks before more\n")


def test_a_search_without_a_match_takes_nothing():
    many = [Choice(f"m{n}", f"model-{n}") for n in range(300)]
    picked, _ = ask(f"zz{ENTER}{DOWN}{ENTER}",
                    lambda asker: asker.select("Which?", many, "m1"),
                    {"nothing matches": f"\x7f\x7f77{ENTER}"})

    assert picked == "m77"


ROWS = ["Zürich", "Straße", "한국어", "中文模型", "ΟΔΟΣ", "naïve",
        "modele-ÉTÉ", "ｗｉｄｅ", "plain-a", "plain-b"]


@pytest.mark.parametrize(("typed", "expected"), [
    ("zür", "Zürich"), ("ZÜR", "Zürich"), ("zu\u0308r", "Zürich"),
    ("STRASSE", "Straße"), ("한국", "한국어"), ("하", "한국어"),
    (normalize("NFD", "한국"), "한국어"), ("文模", "中文模型"),
    ("οδος", "ΟΔΟΣ"), ("été", "modele-ÉTÉ"), ("wide", "ｗｉｄｅ"),
    ("üx\x7f\x7fnaï", "naïve"), ("u\u0308\x7fnaï", "naïve"),
    ("\x1b[200~ 中文\n\x1b[201~", "中文模型"),
    ("\x1b[C\x1bOP中", "中文模型"),  # keys that are no letters
])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_list_is_searched_in_any_script(form, typed, expected):
    rows = [Choice(label, normalize(form, label)) for label in ROWS]
    picked, _ = ask(typed + ENTER, lambda asker: asker.select(
        "Which?", rows, "plain-a"))

    assert picked == expected


def test_another_script_that_matches_nothing_takes_nothing():
    rows = [Choice(label, label) for label in ROWS]
    picked, _ = ask(f"ж{ENTER}", lambda asker: asker.select(
        "Which?", rows, "plain-a"),
        {"nothing matches": f"\x7f文{ENTER}"})

    assert picked == "中文模型"


def test_a_short_list_is_not_searched():
    assert ask(f"家x{ENTER}", lambda asker: asker.select(
        "Which?", CHOICES, "a"))[0] == "a"


@pytest.mark.parametrize("count", [2, 300])
def test_the_way_back_is_a_key(count):
    rows = [Choice(f"m{n}", f"model-{n}") for n in range(count)]
    assert ask(BACK, lambda asker: asker.select(
        "Which?", [*rows, Choice(BACK, "back")], "m1"))[0] == BACK
    # where there is none it is a letter like others
    assert ask(BACK + "\x7f" + ENTER, lambda asker: asker.select(
        "Which?", rows, "m0"))[0] == "m0"


def test_a_secret_is_never_shown():
    typed, screen = ask("\x1b[200~ sk-secret\n\x1b[201~" + ENTER,
                        lambda asker: asker.secret("Key:"))

    assert typed.strip() == "sk-secret"
    assert "sk-secret" not in screen


def test_text_in_any_script():
    assert ask("お茶" + ENTER, lambda asker: asker.text("What?", ""))[0] \
        == "お茶"
    assert ask(ENTER, lambda asker: asker.text("What?", "30"))[0] == "30"


@pytest.mark.parametrize(("keys", "error"), [
    ("\x03", KeyboardInterrupt), ("\x04", EOFError)])
@pytest.mark.parametrize("question", [
    lambda asker: asker.select("Which?", CHOICES, None),
    lambda asker: asker.text("What?", ""),
    lambda asker: asker.secret("Key:")])
def test_it_ends_at_control_c_and_control_d(keys, error, question):
    with pytest.raises(error):
        ask(keys, question)


@pytest.mark.parametrize(("line", "expected"), [
    ("2", "家"), ("", "a"), ("c", "c"), ("9\nx\n1", "a"), ("<\n1", "a")])
def test_a_dumb_terminal_takes_numbers(monkeypatch, capsys, tmp_path, line,
                                       expected):
    (tmp_path / "keys").write_text(line + "\n")
    with (tmp_path / "keys").open() as keys:
        monkeypatch.setattr("sys.stdin", keys)
        assert PlainAsker().select("Which?", CHOICES, "a") == expected
    shown = capsys.readouterr()

    assert ("no question before" in shown.err) == (BACK in line)
    assert shown.out == ""
    assert "\x1b" not in shown.err
