"""Who can say yes: nobody, the owner beforehand, or he at his terminal."""

import asyncio
import os
import select
import termios
from contextlib import suppress
from typing import TextIO

from claw.core.turn import ApprovalRequest, Decision
from claw.security.approval.question import (
    explain_answers,
    is_answer,
    parse_decision,
    prompt,
)


class NoApprover:
    """Nobody can be asked: no."""

    def can_ask(self) -> bool:
        return False

    async def approve(self, request: ApprovalRequest) -> Decision:
        return "no"


class SaysYes:
    """The owner has said yes beforehand (--yes) to the calls of tools; he
    reads nothing now."""

    def can_ask(self) -> bool:
        return False

    async def approve(self, request: ApprovalRequest) -> Decision:
        return "yes"


class TerminalApprover:
    """Asks on the terminal: the prompt on `out`, the answer from `into`.
    Without a terminal on both the answer is no."""

    def __init__(self, into: TextIO, out: TextIO) -> None:
        self._into = into
        self._out = out
        self._one_at_a_time = asyncio.Lock()
        self._end: tuple[int, int] | None = None  # a pipe: wait no longer

    @property
    def interactive(self) -> bool:
        return self._into.isatty() and self._out.isatty()

    def can_ask(self) -> bool:
        return self.interactive

    async def approve(self, request: ApprovalRequest) -> Decision:
        if not self.interactive:
            return "no"
        async with self._one_at_a_time:
            self._end = os.pipe()
            asking = asyncio.ensure_future(
                asyncio.to_thread(self._ask, request))
            try:
                return await asyncio.shield(asking)
            except asyncio.CancelledError:
                os.write(self._end[1], b"!")
                await asking
                raise
            finally:
                for number in self._end:
                    os.close(number)
                self._end = None

    def _ask(self, request: ApprovalRequest) -> Decision:
        text = prompt(request)
        answer = self.ask(text)
        while not is_answer(answer, request):
            answer = self.ask(f"{explain_answers(request)}\n"
                              + text.rpartition("\n")[2])
        return parse_decision(answer, may_remember=request.may_remember,
                              may_keep=request.may_keep)

    def ask(self, text: str) -> str:
        """The line that the person answers; "" for the end of input. What
        was typed before the question is no answer to it."""
        with suppress(OSError, ValueError, termios.error):  # no real terminal
            termios.tcflush(self._into, termios.TCIFLUSH)
        self._out.write(text)
        self._out.flush()
        return self._into.readline() if self._waited() else ""

    def _waited(self) -> bool:
        """Wait for a line; False where nobody wants it any more."""
        if self._end is None:
            return True
        with suppress(OSError, ValueError):  # no real terminal
            keys = self._into.fileno()
            if keys not in select.select([keys, self._end[0]], [], [])[0]:
                self._out.write("\n")
                self._out.flush()
                return False
        return True
