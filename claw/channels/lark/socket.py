"""The long connection: events in protobuf frames, each acknowledged once
what it brought is committed.

The platform waits three seconds for that, then sends the event again after
15 s, 5 min, 1 h and 6 h, to any connection: what comes again has the same id
and is kept once. A large event comes in several frames (`sum`, `seq`), and
the last one is acknowledged. How often to ping and how soon to come back is
the server's to say (ClientConfig, at first and in a pong); it says so for
its own sake, so where nobody answered at all the house's short waits hold.
"""

import asyncio
import base64
import json
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from claw.channels.connection import Connection
from claw.channels.lark.answers import mend
from claw.channels.lark.api import Endpoint, LarkApi, configure
from claw.channels.lark.frames import CONTROL, DATA, Frame, decode, encode
from claw.core.errors import AuthError, RateLimitedError, UnavailableError
from claw.core.log import Log
from claw.core.value import replace
from claw.net.websocket import SocketClosedError, WebSocket, connect

PING_S = 20.0  # of the WebSocket, for lines that are dead
SILENCE_S = 300.0
_LEAST_S = 1.0  # else a server that hangs up at once is asked without end
_SOON = 3  # tries after which a server that says no is left in peace
MOST = 64  # events that are answered at once
MOST_PARTS, MOST_EVENTS = 256, 64
PART_S = 300.0
EVENT_BYTES = 4 * 1024 * 1024

# Takes an event, commits it, and says what the platform hears; None: just
# that it came.
Take = Callable[[Any], Awaitable[Any]]


class Assembly:
    """Events that come in several frames, a bounded number of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[str, tuple[float, int, dict[int, bytes]]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, frame: Frame) -> bytes | None:
        """The whole payload, once all of it is there. Raises ValueError."""
        total, seq = _count(frame, "sum", 1), _count(frame, "seq", 0)
        if total <= 1:
            return frame.payload
        number = frame.header("message_id")
        if total > MOST_PARTS or seq >= total or not number:
            raise ValueError(f"part {seq} of {total}")
        now = self._clock()
        self._open = {key: one for key, one in self._open.items()
                      if now - one[0] < PART_S}
        _, known, parts = self._open.get(number, (now, total, {}))
        if known != total:
            parts = {}
        parts[seq] = frame.payload
        if sum(map(len, parts.values())) > EVENT_BYTES:
            self._open.pop(number, None)
            raise ValueError("an event that is too large")
        if len(parts) == total:
            self._open.pop(number, None)
            return b"".join(parts[n] for n in range(total))
        if number not in self._open and len(self._open) >= MOST_EVENTS:
            del self._open[next(iter(self._open))]
        self._open[number] = (now, total, parts)
        return None


class LongConnection:
    """The connections of one listener, one after the other. `take`
    commits; `connected` is called when one was opened."""

    def __init__(self, api: LarkApi, link: Connection, take: Take,
                 connected: Callable[[], Awaitable[None]], *, log: Log,
                 ping_s: float = PING_S, silence_s: float = SILENCE_S,
                 draw: Callable[[], float] = random.random) -> None:
        self._api = api
        self._link = link
        self._take = take
        self._connected = connected
        self._log = log
        self._ping_s = ping_s
        self._silence_s = silence_s
        self._draw = draw
        self._endpoint = Endpoint("")
        self._answering: set[asyncio.Task[None]] = set()
        self._tries = 0
        self._stood = False
        self._failure: Exception | None = None

    async def run(self) -> None:
        """Receive until cancelled. Raises AuthError, what `take` raises,
        and UnavailableError after as many tries as the server allows."""
        while True:
            self._stood, self._failure = False, None
            try:
                self._endpoint = await self._api.open_endpoint()
                await self._connect()
            except UnavailableError as error:
                if self._failure is not None:
                    raise self._failure from error
                await self._wait(error)

    async def _wait(self, error: UnavailableError) -> None:
        """Before the next try: after a connection a random while, so that
        not all clients come at once; after a server's no what it says."""
        if self._stood:
            self._tries = 0
            self._log("connection_lost", error=error.message)
            wait = self._draw() * self._endpoint.nonce_s
            if wait > _LEAST_S:
                await self._link.rest(wait)
            else:
                await self._link.wait_out(error)
            return
        self._tries += 1
        if 0 <= self._endpoint.reconnects < self._tries:
            self._tries = 0
            raise error
        if error.status is None or self._tries <= _SOON \
                or isinstance(error, RateLimitedError):
            await self._link.wait_out(error)
        else:
            await self._link.rest(self._endpoint.interval_s)

    async def _connect(self) -> None:
        """One connection; ends by raising UnavailableError."""
        try:
            async with connect(
                    self._endpoint.url, self._api.peer, ping_s=self._ping_s,
                    proxy_url=self._api.proxy_url,
                    heard=self._link.heard) as socket:
                await self._serve(socket)
        except AuthError as error:
            # The app was accepted a moment ago: an address that is over, or
            # too many connections.
            raise UnavailableError(error.message, hint=error.hint) from error

    async def _serve(self, socket: WebSocket) -> None:
        self._stood = True
        self._link.recover()
        await self._connected()
        parts = Assembly()
        pings = asyncio.create_task(self._ping(socket))
        try:
            while True:
                data = await socket.receive(self._silence_s)
                self._link.heard()
                await self._read(socket, data, parts)
        finally:
            left = {pings, *self._answering}
            for task in left:
                task.cancel()
            await asyncio.wait(left)

    async def _ping(self, socket: WebSocket) -> None:
        with suppress(SocketClosedError):  # whoever receives tells
            while True:
                await socket.send(encode(Frame(
                    service=self._endpoint.service,
                    headers=(("type", "ping"),))))
                await asyncio.sleep(self._endpoint.ping_s)

    # -- what comes

    async def _read(self, socket: WebSocket, data: str | bytes,
                    parts: Assembly) -> None:
        """One frame; what can't be read is told of and holds up nothing."""
        try:
            frame = decode(data if isinstance(data, bytes) else b"")
            if frame.method == CONTROL:
                self._configure(frame)
            elif frame.method == DATA:
                payload = parts.add(frame)
                if payload is not None:
                    await self._begin_answer(socket, frame, payload)
        except (ValueError, RecursionError) as error:
            self._log("event_unreadable", error=str(error)[:300])

    def _configure(self, frame: Frame) -> None:
        if frame.header("type") == "pong" and frame.payload:
            self._endpoint = configure(self._endpoint,
                                       json.loads(frame.payload))

    async def _begin_answer(self, socket: WebSocket, frame: Frame,
                            payload: bytes) -> None:
        """Answer beside what comes next: a file that is slow holds up its
        own chat alone."""
        if len(self._answering) >= MOST:
            await asyncio.wait(self._answering,
                               return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._answer(socket, frame, payload))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, socket: WebSocket, frame: Frame,
                      payload: bytes) -> None:
        """Commit what an event holds, then say so."""
        began = asyncio.get_running_loop().time()
        try:
            said = await self._take(self._load(payload))
            took = asyncio.get_running_loop().time() - began
            await socket.send(encode(acknowledge(frame, said, took)))
        except SocketClosedError:
            pass  # the platform sends it again
        except Exception as error:  # rises out of run, not out of a task
            self._failure = error
            await socket.close()

    def _load(self, payload: bytes) -> Any:
        """An event; None for what is none, which no repetition mends."""
        try:
            return mend(json.loads(payload))
        except (ValueError, RecursionError) as error:
            self._log("event_unreadable", error=str(error)[:300])
            return None


def acknowledge(frame: Frame, said: Any, took_s: float) -> Frame:
    """The same frame, with what the platform hears."""
    answer: dict[str, Any] = {"code": 200}
    if said is not None:
        answer["data"] = base64.b64encode(json.dumps(
            said, ensure_ascii=False).encode()).decode()
    return replace(
        frame, payload=json.dumps(answer).encode(),
        headers=(*frame.headers, ("biz_rt", str(int(took_s * 1000)))))


def _count(frame: Frame, name: str, default: int) -> int:
    """A number in a header. Raises ValueError."""
    given = frame.header(name)
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 7):
        raise ValueError(f"{name} is no number")
    return int(given)
