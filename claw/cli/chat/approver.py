"""Asking for approval between the lines of a running turn."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from claw.cli.chat.turn_view import TurnView
from claw.core.turn import ApprovalRequest, Decision
from claw.security.approval import parse_decision, prompt


class ReadsLines(Protocol):
    """Where the person's words come from."""

    async def read(self, text: str = "") -> str: ...

    async def answer(self, question: str) -> str: ...


class InlineApprover:
    """Asks for approval between the lines of a running turn."""

    def __init__(self, lines: ReadsLines, view: TurnView) -> None:
        self._lines = lines
        self._view = view
        self.on_interrupt: Callable[[], None] = lambda: None
        self._one_at_a_time = asyncio.Lock()

    def can_ask(self) -> bool:
        return True

    async def approve(self, request: ApprovalRequest) -> Decision:
        async with self._one_at_a_time:
            return await self._ask(request)

    async def _ask(self, request: ApprovalRequest) -> Decision:
        self._view.close()
        *above, last = prompt(request).split("\n")
        for text in above:
            self._view.exact_line(text, _find_style(text, request))
        try:
            answer = await self._lines.answer(last)
        except EOFError:
            return "no"
        except KeyboardInterrupt:
            self.on_interrupt()
            return "no"
        return parse_decision(answer, may_remember=request.may_remember,
                              may_keep=request.may_keep)


def _find_style(line: str, request: ApprovalRequest) -> str:
    """The lines of a diff have the colours of one."""
    if request.diff or request.details:
        for begin, style in (("  +", "added"), ("  -", "removed"),
                             ("  @@", "place")):
            if line.startswith(begin):
                return style
    return "question"
