"""A proposed command on the terminal: shown, decided on, run.

Keys come from the terminal itself, since stdin may be a pipe. What was typed
before the question stands there is thrown away: no key may answer it by
accident, and what was typed behind the answer is no answer to anything.
"""

import contextlib
import os
import signal
import subprocess
import termios
import tty
import unicodedata
from collections.abc import Callable, Iterator
from typing import BinaryIO

from claw.cli.show.bars import count_cells, cut, wrap
from claw.cli.show.output import Output, visible
from claw.core.errors import DeniedError
from claw.security.shell.proposed import Rated
from claw.wiring.ask.propose import Proposal, require_one_line

WORD = "run"
_GAP = " " * 16
_ROWS_BELOW = 12  # the facts and the question
_MOST_PATHS, _MOST_PATH = 5, 60
_EFFECTS = {True: "writes", False: "only reads", None: "may write"}
_RISKS = {"low": "low risk", "high": "DANGEROUS",
          "unknown": "not known to be harmless"}


def open_keys() -> BinaryIO | None:
    """The terminal, None where there is none."""
    try:
        return open("/dev/tty", "rb", buffering=0)
    except OSError:
        return None


def decide(out: Output, keys: BinaryIO, proposal: Proposal,
           rate: Callable[[str], Rated], *, untrusted: bool,
           where: str) -> str | None:
    """The command as the owner wants it, None for no."""
    command, shown = proposal.command, False
    while True:
        columns, lines = os.get_terminal_size(keys.fileno())
        rated, doubt = rate(command), find_doubt(
            command, columns or 80, lines or 24)
        if not shown:
            _show(out, command, rated, where, untrusted=untrusted,
                  doubt=doubt)
        key = _ask(out, keys, doubt is not None
                   or rated.needs_word(untrusted=untrusted))
        shown = key not in ("e", "x")
        if key == WORD:
            return command
        if key == "e":
            edited = _edit(command)
            if not edited.strip():
                return None
            try:
                command = require_one_line(edited)
            except DeniedError as error:
                out.warn(error.message)
        elif key == "x":  # the command stands under it once more
            _print(out, f"\n{out.redact(proposal.explanation)}")
        elif key in ("n", "q", ""):
            return None


def find_doubt(command: str, columns: int, lines: int) -> str | None:
    """Why what is seen of a command may not be all of it; None where it
    is."""
    if count_cells(command) > columns * max(1, lines - _ROWS_BELOW):
        return "longer than the screen: look at its beginning"
    if _GAP in command:
        return "there is more behind a long gap"
    if any(unicodedata.bidirectional(char) in ("R", "AL", "AN")
           for char in command):
        return "letters from right to left may change the order of words"
    return None


def run_command(shell: str, command: str, keys: BinaryIO) -> int:
    """Run it as the owner would; its exit code, 128 and the number for a
    signal. Ctrl-C is the command's alone meanwhile."""
    # a handler, not SIG_IGN: the command would inherit that
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.run([shell, "-c", command], stdin=keys,
                              check=False).returncode
    except OSError as error:
        raise DeniedError(f"{shell} can't be run: {error.strerror}",
                          hint="set SHELL to your shell") from error
    except UnicodeEncodeError as error:
        raise DeniedError("the locale can't write the command's letters",
                          hint="set LC_ALL to a locale of UTF-8") from error
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


def _show(out: Output, command: str, rated: Rated, where: str, *,
          untrusted: bool, doubt: str | None) -> None:
    facts = [doubt] if doubt else []
    facts += [_RISKS[rated.risk] + (f" ({rated.why})" if rated.why else ""),
             _EFFECTS[rated.writes]]
    if rated.paths:
        facts.append("paths: " + ", ".join(
            cut(path, _MOST_PATH) for path in rated.paths[:_MOST_PATHS]) + (
            f" and {more} more" if (more := len(rated.paths) - _MOST_PATHS)
            > 0 else ""))
    if untrusted:
        facts.append("made from text that was piped in")
    about = wrap("; ".join([*facts, where]), out.columns)
    _print(out, "\n".join(["", f"  {command}", "", *about, ""]))


def _ask(out: Output, keys: BinaryIO, needs_word: bool) -> str:
    """WORD for yes, else the key; "" for an end of input."""
    start = f'type "{WORD}" and Enter to run it' if needs_word else "[y] run"
    _print(out, f"{start}, [e]dit, e[x]plain, [n]o: ", end="")
    termios.tcflush(keys, termios.TCIFLUSH)
    if needs_word:
        line = os.read(keys.fileno(), 4096).decode("utf-8", "replace")
        termios.tcflush(keys, termios.TCIFLUSH)
        return line.strip().lower() if line else ""
    with _single_keys(keys):
        key = os.read(keys.fileno(), 64).decode("utf-8", "replace").lower()
        termios.tcflush(keys, termios.TCIFLUSH)
    key = key.rstrip("\r\n") or key[:1]
    if len(key) > 1:  # an arrow key, or something that was pasted
        key = "?"
    _print(out, key if key.isprintable() else "")
    return WORD if key == "y" else "" if key in ("\x04", "\x1b") else key


@contextlib.contextmanager
def _single_keys(keys: BinaryIO) -> Iterator[None]:
    """One key at a time; Ctrl-C stays what it is."""
    before = termios.tcgetattr(keys)
    tty.setcbreak(keys.fileno(), termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


def _edit(command: str) -> str:
    """The command as it was edited; "" where that was given up."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import create_input
    from prompt_toolkit.output import create_output
    session: PromptSession[str] = PromptSession(
        input=create_input(always_prefer_tty=True),
        output=create_output(always_prefer_tty=True))
    try:
        return session.prompt("$ ", default=command)
    except (EOFError, KeyboardInterrupt):
        return ""


def _print(out: Output, text: str, end: str = "\n") -> None:
    out.interrupt_waiting()
    out.stderr.write(visible(text) + end)
    out.stderr.flush()
