"""Who can be asked before a tool runs: the person at this terminal."""

import io

from claw.cli.invocation import Invocation
from claw.cli.show.output import Output
from claw.config.places import Places
from claw.security.approval import (
    NoApprover,
    SaysYes,
    TerminalApprover,
    parse_decision,
)
from claw.security.trust import Standing
from claw.wiring.workspace.trust import describe_untrusted


class _Prompt(io.TextIOBase):
    """stderr for questions: the waiting line makes room first."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def write(self, text: str) -> int:
        self._out.interrupt_waiting()
        return self._out.stderr.write(text)

    def flush(self) -> None:
        self._out.stderr.flush()

    def isatty(self) -> bool:
        return self._out.stderr.isatty()


def approver_for(run: Invocation, yes: bool
                 ) -> TerminalApprover | NoApprover | SaysYes:
    """The approver of this process.

    The answer is read from the terminal itself, since stdin may be a pipe.
    Where there is none, nobody is asked and the answer is no.
    """
    if yes:
        return SaysYes()
    approver = _open_terminal(run.out)
    return NoApprover() if approver is None else approver


def ask_for_trust(out: Output, places: Places, standing: Standing
                  ) -> bool | None:
    """Whether what lies in a workspace counts; None without a terminal.
    An end of input is no answer, and nothing is kept in mind."""
    terminal = _open_terminal(out)
    if terminal is None:
        return None
    answer = terminal.ask(
        f"[claw] {describe_untrusted(places, standing)}. It could speak to "
        "the model in your name.\nUse it? [y]es / [n]o: ")
    return parse_decision(answer, may_remember=False) == "yes" \
        if answer.strip() else None


def _open_terminal(out: Output) -> TerminalApprover | None:
    try:
        terminal = open("/dev/tty", encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError:
        return None
    approver = TerminalApprover(terminal, _Prompt(out))  # type: ignore[arg-type]
    return approver if approver.interactive else None
