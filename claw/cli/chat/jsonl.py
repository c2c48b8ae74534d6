"""`claw agent --jsonl`: the agent as a partner of another program.

In, one object a line:

    {"message": "..."}           a message; "id" comes back with its events
    {"type": "stop"}             stop the running turn
    {"type": "new"}              begin a new conversation

Out, one object a line, each with the "id" of its message: {"type": "text",
"delta"}, {"type": "discard"} (what was said so far led to tools and is no
part of the answer), {"type": "tool_start", "name", "arguments"},
{"type": "tool_end", "name", "success", "output"}, {"type": "notice",
"text"}, {"type": "refused", "tool", "call", "reason", "expired", "allow"}
(a call that nobody said yes to), and at the end of each turn {"type":
"answer", ...} in the shape of `claw ask --json`, or {"type": "error",
"error": {"kind", "message", "hint"}}. Messages that come while a turn runs
wait for it.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from claw.cli.show.output import Output, error_json
from claw.core.errors import ClawError, UsageError
from claw.wiring.chat.events import EventLines
from claw.wiring.chat.session import ChatSession

MAX_LINE_BYTES = 8 << 20


def parse_request(line: bytes) -> dict[str, Any]:
    """The object of a line. Raises UsageError where it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"a line of input is no JSON: {error}",
                         hint='write {"message": "..."}') from error
    if isinstance(value, str):
        value = {"message": value}
    if not isinstance(value, dict):
        raise UsageError("a line of input is no object",
                         hint='write {"message": "..."}')
    return value


class Partner:
    """Serves one program until its end of input."""

    def __init__(self, chat: ChatSession, out: Output) -> None:
        self._chat = chat
        self._out = out
        self._waiting: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._cancel: asyncio.Event | None = None

    async def run(self) -> None:
        read_lines(asyncio.get_running_loop(), self._line)
        while (request := await self._waiting.get()) is not None:
            if request.get("type") == "new":
                self._chat.new()
            else:
                await self._turn(request)

    def _line(self, line: bytes | None) -> None:
        """A line has come; None: there will be no more."""
        if line is None:
            self._waiting.put_nowait(None)
        elif line.strip():
            try:
                request = parse_request(line)
            except UsageError as error:
                self._say(None, _error_json(error))
                return
            if request.get("type") == "stop":
                if self._cancel is not None:
                    self._cancel.set()
            else:
                self._waiting.put_nowait(request)

    async def _turn(self, request: dict[str, Any]) -> None:
        number, message = request.get("id"), request.get("message")
        if not isinstance(message, str) or not message.strip():
            self._say(number, _error_json(UsageError(
                'an object without a "message"')))
            return
        started = time.monotonic()
        self._cancel = asyncio.Event()
        lines = EventLines(self._out.redactor,
                           lambda line: self._say(number, line))
        try:
            result = await self._chat.say(message, lines.take, live_text=True,
                                          cancel=self._cancel)
        except ClawError as error:
            self._say(number, _error_json(error))
            return
        finally:
            self._cancel = None
        lines.end()
        answer = self._chat.answer_json(result, time.monotonic() - started)
        self._say(number, {"type": "answer", "turn": answer.pop("id"),
                           **answer})

    def _say(self, number: Any, value: dict[str, Any]) -> None:
        head = {} if number is None else {"id": number}
        self._out.document({**head, **value})


def _error_json(error: ClawError) -> dict[str, Any]:
    return {"type": "error", **error_json(error)}


def read_lines(loop: asyncio.AbstractEventLoop,
               take: Callable[[bytes | None], None]) -> None:
    """Read stdin on a thread of its own and hand each line to the loop.

    The thread is a daemon: it must not hold up the end of the process.
    """
    def read() -> None:
        while line := sys.stdin.buffer.readline(MAX_LINE_BYTES):
            loop.call_soon_threadsafe(take, line)
        loop.call_soon_threadsafe(take, None)
    threading.Thread(target=read, daemon=True).start()
