"""Who can be asked before a tool runs: the person at this terminal."""

import io

from claw.cli.invocation import Invocation
from claw.cli.output import Output
from claw.security.approval import NoApprover, SaysYes, TerminalApprover


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
    try:
        terminal = open("/dev/tty", encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError:
        return NoApprover()
    approver = TerminalApprover(terminal, _Prompt(run.out))  # type: ignore[arg-type]
    return approver if approver.interactive else NoApprover()
