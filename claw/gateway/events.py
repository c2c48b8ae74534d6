"""/v1/events: what happens, as it happens, for the owner's own page or
script.

Server-sent events, one JSON object each: {"type": "turn", "at": "2026-..",
...}, the lines of the log (turns, tools, channels). Who reads too slowly
misses some, and hears how many: {"type": "skipped", "events": 12}.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from claw.core.log import Tap
from claw.core.times import rfc3339
from claw.gateway.endpoint import Call, Endpoint, Refused
from claw.gateway.keys import OWNER
from claw.gateway.openai.errors import render_error
from claw.gateway.openai.stream import ALIVE, EventStream

KEPT = 256
READERS = 32
KEEP_ALIVE_S = 15.0


class Reader:
    """The events that one stream has not sent yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[dict[str, Any]] = deque()
        self._skipped = 0
        self._news = asyncio.Event()

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        """Called on any thread."""
        found = {"type": event, "at": rfc3339(time.time()), **fields}
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._put, found)

    def wake(self) -> None:
        self._news.set()

    async def take(self, seconds: float) -> list[dict[str, Any]]:
        """What came, at latest after this time; [] for nothing."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()
        found = list(self._waiting)
        self._waiting.clear()
        if self._skipped:
            found.insert(0, {"type": "skipped", "events": self._skipped})
            self._skipped = 0
        return found

    def _put(self, event: dict[str, Any]) -> None:
        if len(self._waiting) >= KEPT:
            self._waiting.popleft()
            self._skipped += 1
        self._waiting.append(event)
        self._news.set()


class Events:
    """The streams of one gateway."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._readers = 0

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("/v1/events", self.open, timeout_s=None,
                        render_error=render_error)

    async def open(self, call: Call) -> Response:
        if call.key is None or call.key.sees != OWNER:
            raise Refused(403, "what happens is for the owner alone",
                          hint="claw gateway token add NAME --sees owner")
        if self._readers >= READERS:
            raise Refused(429, f"{READERS} streams are open",
                          {"Retry-After": "10"})
        return EventStream(self._read(call.closing))

    async def _read(self, closing: asyncio.Event) -> AsyncGenerator[bytes]:
        reader = Reader(asyncio.get_running_loop())
        leave = self._tap.listen(reader.hear)
        self._readers += 1
        ending = asyncio.ensure_future(closing.wait())
        ending.add_done_callback(lambda _: reader.wake())
        try:
            yield b": connected\n\n"
            while not closing.is_set():
                found = await reader.take(KEEP_ALIVE_S)
                yield b"".join(map(_encode, found)) or ALIVE
        finally:
            ending.cancel()
            self._readers -= 1
            leave()


def _encode(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False, default=str
                                  ).encode("utf-8", "replace") + b"\n\n"
