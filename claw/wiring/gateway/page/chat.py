"""The conversation of the page: the owner's agent, as `claw agent` has it.

Each turn opens the agent with the settings in force and goes on from the
session "page". It needs nobody to look on: a question waits ten minutes for
its answer, then it is a no.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from claw.agent.background import cancel_all
from claw.config.tree import Tree
from claw.core.errors import (
    ClawError,
    NotFoundError,
    UnavailableError,
    describe,
)
from claw.core.log import Log
from claw.core.turn import ApprovalRequest, Decision
from claw.gateway.endpoint import Refused
from claw.gateway.page.chat import EventLog
from claw.security.approval import parse_decision
from claw.security.approval.question import show_lines
from claw.security.visible import visible
from claw.wiring.chat.events import EventLines
from claw.wiring.chat.session import ChatOptions, open_chat
from claw.wiring.workspace.secrets import build_redactor
from claw.wiring.workspace.sessions import open_sessions, read_messages
from claw.wiring.workspace.trust import require_trust

SESSION = "page"
ANSWER_S = 600.0
_MESSAGES = 100
_OUTPUT_CHARS = 2_000


class PageTalk:
    """One conversation, one turn at a time; `close` ends what runs."""

    def __init__(self, tree: Callable[[], Tree], log: Log,
                 note_turn: Callable[[], None] = lambda: None) -> None:
        self.events = EventLog()
        self._tree = tree
        self._log = log
        self._note_turn = note_turn
        self._turn: asyncio.Task[None] | None = None
        self._cancel = asyncio.Event()
        self._asked: dict[str, asyncio.Future[str]] = {}
        self._before: list[dict[str, Any]] = []

    async def close(self) -> None:
        if self._turn is not None:
            await cancel_all((self._turn,))

    async def describe(self) -> dict[str, Any]:
        """What was said, without the running turn: its events follow those
        behind `after`."""
        runs = self._runs
        said = self._before if runs else await asyncio.to_thread(self._read)
        return {"messages": said, "running": runs,
                "stream": self.events.stream,
                "after": self.events.begin if runs else self.events.last}

    def say(self, message: str) -> None:
        self._check_idle()
        self._cancel.clear()
        self._before = self._read()
        self.events.clear()
        self.events.add({"type": "message", "text": message})
        self._turn = asyncio.ensure_future(self._run(message))

    def answer(self, question: str, answer: str) -> None:
        waiting = self._asked.get(question)
        if waiting is None or waiting.done():
            raise NotFoundError("nobody waits for this answer any more")
        waiting.set_result(answer)

    def stop(self) -> None:
        self._cancel.set()
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_result("no")

    async def begin_anew(self) -> None:
        self._check_idle()
        await asyncio.to_thread(
            open_sessions(self._tree().places).clear, SESSION)
        self.events.clear()
        self.events.add({"type": "new"})

    @property
    def _runs(self) -> bool:
        return self._turn is not None and not self._turn.done()

    def _check_idle(self) -> None:
        if self._runs:
            raise Refused(409, "a turn is running", hint="stop it first")

    def _read(self) -> list[dict[str, Any]]:
        """The end of the conversation as people read it."""
        tree = self._tree()
        try:
            session = open_sessions(tree.places).read(SESSION)
        except NotFoundError:
            return []
        clean = build_redactor(tree, quick=True).record
        return [clean(said.to_json()) for said in read_messages(session)
                if said.role in ("user", "assistant") and said.text][
                    -_MESSAGES:]

    # -- a turn

    async def _run(self, message: str) -> None:
        """One turn; whatever ends it is an event."""
        try:
            await self._answer_message(message)
        except ClawError as error:
            self._tell({"type": "error", "message": error.message,
                        "hint": error.hint})
        except asyncio.CancelledError:
            self._tell({"type": "error", "message": "claw ended",
                        "hint": None})
            raise
        except Exception as error:  # a fault of ours ends one turn
            self._log("page.fault",
                      error=f"{type(error).__name__}: {describe(error)}")
            self._tell({"type": "error", "hint": None,
                        "message": "a fault of claw; its log says more"})

    async def _answer_message(self, message: str) -> None:
        tree = self._tree()
        require_trust(tree.places)
        redactor = build_redactor(tree)
        started = time.monotonic()
        lines = EventLines(redactor, lambda line: self._tell(
            _shorten(redactor.record(line))))
        options = ChatOptions(
            session=SESSION, tools=None, approver=self, asks=self,
            notify=lambda text: self._tell(
                {"type": "notice", "text": redactor(text)}))
        async with open_chat(tree, options) as chat:
            result = await chat.say(message, lines.take, live_text=True,
                                    cancel=self._cancel)
            lines.end()
            answer = redactor.record(chat.answer_json(
                result, time.monotonic() - started))
        self._note_turn()
        self._tell({"type": "answer", "turn": answer["id"], **{
            name: answer[name] for name in (
                "text", "provider", "model", "cost", "duration_ms")}})

    def _tell(self, event: dict[str, Any]) -> None:
        self.events.add(event)

    # -- questions to the owner

    def can_ask(self) -> bool:
        return True

    async def approve(self, request: ApprovalRequest) -> Decision:
        """core.turn.Approves. An "always" would end with the turn, so it is
        not offered. Nothing in what is read before a yes hides anything."""
        answer = await self._ask({
            "type": "approval", "tool": visible(request.tool),
            "summary": show_lines(request),
            "reason": visible(request.reason),
            "place": request.place and visible(request.place),
            "is_file": bool(request.details),
            "lines": [*map(visible, (*request.details, *request.diff))],
            "may_keep": request.may_keep}, ANSWER_S)
        return parse_decision(answer or "no", may_remember=False,
                              may_keep=request.may_keep)

    async def ask_user(self, question: str, choices: Sequence[str],
                       timeout_s: float) -> str:
        """core.turn.Asks."""
        answer = await self._ask({"type": "question", "text": question,
                                  "choices": list(choices)}, timeout_s)
        if answer is None:
            raise UnavailableError(
                f"there was no answer within {timeout_s:g} s")
        return answer

    async def _ask(self, question: dict[str, Any], limit_s: float
                   ) -> str | None:
        """The owner's answer; None where none came in time."""
        number = secrets.token_hex(8)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._tell({**question, "id": number})
        answer = None
        try:
            async with asyncio.timeout(limit_s):
                answer = await self._asked[number]
        except TimeoutError:
            pass  # the event says that nobody answered
        finally:
            del self._asked[number]
            self._tell({"type": "answered", "id": number, "answer": answer})
        return answer


def _shorten(event: dict[str, Any]) -> dict[str, Any]:
    """The output of a tool may be long; its beginning is shown."""
    output = event.get("output")
    if isinstance(output, str) and len(output) > _OUTPUT_CHARS:
        return {**event, "output": output[:_OUTPUT_CHARS] + "…"}
    return event
