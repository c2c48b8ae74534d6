"""A conversation on the page: events as they come, in every window.

    GET  /page/api/chat                     what was said, and where to go on
    GET  /page/api/chat/events?stream=S&after=N    a JSON object a line
    POST /page/api/chat/say     {"message": "..."}
    POST /page/api/chat/answer  {"id": "...", "answer": "yes"}
    POST /page/api/chat/stop    {}
    POST /page/api/chat/new     {}

A turn goes on when the page is closed or the phone sleeps: whoever comes
back asks for the events after the last that it saw.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from claw.gateway.endpoint import (
    DEFAULT_BODY_BYTES,
    Call,
    Endpoint,
    Handler,
    Refused,
    objects_with,
    parameter,
    reply,
)
from claw.gateway.page.rows import UNREADABLE, check_caller, read_object
from claw.gateway.page.session import BASE, SENDER

_BEAT_S = 15.0  # a blank line, so that a peer that left is noticed
_MESSAGE_BYTES = 256 * 1024
_MOST_EVENTS = 20_000
_TEXT = {"type": "string", "pattern": r"\S"}
_PLACE = (
    parameter("stream", {"type": "string"}, required=True),
    parameter("after", {"type": "string", "pattern": "^[0-9]{1,15}$"},
              required=True))


class EventLog:
    """The events of the running turn, or of the last one, numbered from the
    gateway's start on. `stream` names this log: numbers of another one
    mean nothing here."""

    def __init__(self) -> None:
        self.stream = secrets.token_hex(8)
        self.last = 0
        self._events: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    @property
    def begin(self) -> int:
        """The number before the first event that is kept."""
        return self.last - len(self._events)

    def clear(self) -> None:
        self._events.clear()

    def add(self, event: dict[str, Any]) -> None:
        self.last += 1
        self._events.append({"n": self.last, **event})
        del self._events[:-_MOST_EVENTS]
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self, after: int, closing: asyncio.Event,
                     may_see: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Lines for the events behind `after`, until the gateway ends or
        the reader may see no more: a key can be revoked meanwhile."""
        while not closing.is_set() and may_see():
            news = self._news
            new = self._events[max(0, after - self.begin):]
            for event in new:
                yield json.dumps(event).encode() + b"\n"
                after = event["n"]
            if not new and not await _wait(news, closing):
                yield b"\n"


async def _wait(*events: asyncio.Event) -> bool:
    """Until one of them is set; whether it was within the beat."""
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(
            tasks, timeout=_BEAT_S, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()


class Talks(Protocol):
    """The conversation behind it. What is asked at the wrong time raises
    UsageError or NotFoundError."""

    events: EventLog

    async def describe(self) -> dict[str, Any]: ...

    def say(self, message: str) -> None:
        """Begin a turn; it goes on by itself."""

    def answer(self, question: str, answer: str) -> None:
        """What the owner says to an approval or a question."""

    def stop(self) -> None: ...

    async def begin_anew(self) -> None: ...


class ChatRows:
    """The rows of a conversation. `knows` says whether a request still
    shows a good key."""

    def __init__(self, talk: Talks, knows: Callable[[Request], bool]
                 ) -> None:
        self._talk = talk
        self._knows = knows
        path = f"{BASE}/api/chat"

        def act(name: str, handle: Handler, *keys: str,
                size: int = DEFAULT_BODY_BYTES) -> Endpoint:
            return Endpoint(
                f"{path}/{name}", handle, methods=("POST",),
                body_bytes=size, parameters=SENDER,
                body=objects_with(dict.fromkeys(keys, _TEXT)))
        self.endpoints = (
            Endpoint(path, self._describe, parameters=SENDER),
            Endpoint(f"{path}/events", self._follow, timeout_s=None,
                     parameters=(*SENDER, *_PLACE)),
            act("say", self._say, "message", size=_MESSAGE_BYTES),
            act("answer", self._answer, "id", "answer"),
            act("stop", self._stop), act("new", self._begin_anew))

    async def _describe(self, call: Call) -> Response:
        check_caller(call)
        return reply(await self._talk.describe(), headers=UNREADABLE)

    async def _follow(self, call: Call) -> Response:
        check_caller(call)
        asked = call.request.query_params
        events, after = self._talk.events, asked.get("after", "")
        if not (after.isascii() and after.isdecimal() and len(after) < 16):
            raise Refused(400, "after: a number")
        if asked.get("stream") != events.stream or int(after) > events.last:
            raise Refused(409, "claw was started anew; load the "
                               "conversation again")
        return StreamingResponse(
            events.follow(int(after), call.closing,
                          partial(self._knows, call.request)),
            headers={**UNREADABLE, "Cache-Control": "no-store",
                     "X-Accel-Buffering": "no"},
            media_type="application/x-ndjson")

    async def _say(self, call: Call) -> Response:
        message = _read_text(await read_object(call), "message")
        self._talk.say(message)
        return reply({}, headers=UNREADABLE)

    async def _answer(self, call: Call) -> Response:
        body = await read_object(call)
        self._talk.answer(_read_text(body, "id"), _read_text(body, "answer"))
        return reply({}, headers=UNREADABLE)

    async def _stop(self, call: Call) -> Response:
        await read_object(call)
        self._talk.stop()
        return reply({}, headers=UNREADABLE)

    async def _begin_anew(self, call: Call) -> Response:
        await read_object(call)
        await self._talk.begin_anew()
        return reply({}, headers=UNREADABLE)


def _read_text(body: Mapping[str, Any], name: str) -> str:
    text = body.get(name)
    if not isinstance(text, str) or not text.strip():
        raise Refused(400, f"{name} is missing")
    return text
