"""A proposed command on the terminal: shown, decided on, run.

Keys come from the terminal itself, since stdin may be a pipe. What was typed
before the question stands there is thrown away: no key may answer it by
accident.
"""

import contextlib
import os
import signal
import subprocess
import termios
import tty
from collections.abc import Callable, Iterator
from typing import BinaryIO

from claw.cli.output import Output, visible
from claw.core.errors import DeniedError
from claw.security.proposed import Rated
from claw.wiring.propose import Proposal, require_one_line

WORD = "run"
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
    command, rated = proposal.command, rate(proposal.command)
    _show(out, command, rated, where, untrusted=untrusted)
    while True:
        key = _ask(out, keys, rated.needs_word(untrusted=untrusted))
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
                continue
            rated = rate(command)
            _show(out, command, rated, where, untrusted=untrusted)
        elif key == "x":
            _print(out, f"\n{out.redact(proposal.explanation)}\n")
        elif key in ("n", "q", ""):
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
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


def _show(out: Output, command: str, rated: Rated, where: str, *,
          untrusted: bool) -> None:
    facts = [_RISKS[rated.risk] + (f" ({rated.why})" if rated.why else ""),
             _EFFECTS[rated.writes]]
    if rated.paths:
        facts.append("paths: " + ", ".join(rated.paths))
    if untrusted:
        facts.append("made from text that was piped in")
    _print(out, f"\n  {command}\n\n{'; '.join(facts)}; {where}\n")


def _ask(out: Output, keys: BinaryIO, needs_word: bool) -> str:
    """WORD for yes, else the key; "" for an end of input."""
    start = f'type "{WORD}" and Enter to run it' if needs_word else "[y] run"
    _print(out, f"{start}, [e]dit, e[x]plain, [n]o: ", end="")
    termios.tcflush(keys, termios.TCIFLUSH)
    if needs_word:
        line = os.read(keys.fileno(), 4096).decode("utf-8", "replace")
        return line.strip().lower() if line else ""
    with _single_keys(keys):
        key = os.read(keys.fileno(), 1).decode("utf-8", "replace").lower()
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
