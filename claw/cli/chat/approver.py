"""Asking for approval between the lines of a running turn."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from claw.cli.chat.turn_view import TurnView
from claw.core.errors import UnavailableError
from claw.core.turn import ApprovalRequest, Decision
from claw.security.approval import (
    explain_answers,
    is_answer,
    parse_decision,
    prompt,
)
from claw.security.visible import visible


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

    async def ask_user(self, question: str, choices: Sequence[str],
                       timeout_s: float) -> str:
        """core.turn.Asks. A number stands for its choice."""
        async with self._one_at_a_time:
            self._view.close()
            for text in (*question.split("\n"), *(
                    f"{number}. {choice}"
                    for number, choice in enumerate(choices, 1))):
                self._view.exact_line(visible(text), "question")
            try:
                async with asyncio.timeout(timeout_s):
                    answer = (await self._lines.answer("answer: ")).strip()
            except TimeoutError:
                raise UnavailableError(
                    f"there was no answer within {timeout_s:g} s") from None
            except KeyboardInterrupt:
                self.on_interrupt()
                answer = ""
            except EOFError:
                answer = ""
        if not answer:
            raise UnavailableError("the user did not answer")
        if answer.isascii() and answer.isdecimal() \
                and 0 < int(answer[:3]) <= len(choices):
            return choices[int(answer[:3]) - 1]
        return answer

    async def _ask(self, request: ApprovalRequest) -> Decision:
        self._view.close()
        *above, last = prompt(request).split("\n")
        for text in above:
            self._view.exact_line(text, _find_style(text, request))
        try:
            while not is_answer(answer := await self._lines.answer(last),
                                request):
                self._view.exact_line(explain_answers(request), "question")
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
