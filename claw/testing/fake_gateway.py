"""The gateway of a fake platform: sessions, and the connections that they
have.

A session's events are kept, so that one that lost its connection can be
resumed. `Behaviour` says what goes wrong.
"""

import asyncio
import json
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

Json: TypeAlias = dict[str, Any]
_MOST_FRAMES, _FRAMES_S = 120, 60.0


@dataclass
class Behaviour:
    """How the gateway behaves: seconds between heartbeats, whether they are
    acknowledged, whether a session can be resumed, the intents that the
    portal has not switched on, those that there are, how compressed bytes
    are cut."""

    heartbeat_s: float = 41.25
    acknowledges: bool = True
    resumes: bool = True
    refused_intents: int = 0
    known_intents: int = (1 << 26) - 1
    cut_bytes: int = 0
    starts_left: int = 1000


@dataclass
class Session:
    """What one client was told; `events` begin with the first."""

    id: str
    events: list[Json] = field(default_factory=list)
    wake: asyncio.Event | None = None  # of its connection
    heartbeats: list[int | None] = field(default_factory=list)


class _Closing(Exception):
    """The connection ends with a code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Gateway:
    """`bots` are known by their tokens; `ready` makes the data of READY,
    `guilds` those of GUILD_CREATE; `lock` guards the sessions; `changed` is
    called for each frame."""

    def __init__(self, bots: dict[str, Json],
                 ready: Callable[[str, Json], Json],
                 guilds: Callable[[], list[Json]], lock: Any,
                 changed: Callable[[], None]) -> None:
        self.behaviour = Behaviour()
        self.sessions: dict[str, Session] = {}
        self.frames: list[Json] = []
        self.closes: list[int | None] = []
        self._links: dict[ServerConnection, _Link] = {}
        self._bots = bots
        self._ready = ready
        self._guilds = guilds
        self._lock = lock
        self._changed = changed
        self._count = 0

    # -- from any thread, with the lock

    def dispatch(self, kind: str, data: Json,
                 call_soon: Callable[[Callable[[], Any]], None],
                 **more: Any) -> None:
        """An event for everybody; `more` are further keys of its frame."""
        for session in self.sessions.values():
            self._note(session, kind, data, **more)
        call_soon(self.wake)

    def _note(self, session: Session, kind: str, data: Json,
              **more: Any) -> None:
        session.events.append({"op": 0, "t": kind, "d": data,
                               "s": len(session.events) + 1, **more})

    # -- on the server's loop

    def wake(self) -> None:
        for session in self.sessions.values():
            if session.wake is not None:
                session.wake.set()

    async def say(self, payload: Json) -> None:
        """A frame for every connection."""
        for link in list(self._links.values()):
            await link.send(payload)

    async def close(self, code: int) -> None:
        for connection in list(self._links):
            await connection.close(code, "as told")

    async def serve(self, connection: ServerConnection) -> None:
        link = self._links[connection] = _Link(connection, self.behaviour)
        try:
            await link.send({"op": 10, "s": None, "t": None, "d": {
                "heartbeat_interval": self.behaviour.heartbeat_s * 1000}})
            async for text in connection:
                await self._take(link, text)
        except _Closing as end:
            await connection.close(end.code, str(end))
        finally:
            del self._links[connection]
            link.stop()
            with self._lock:
                self.closes.append(connection.close_code)
            self._changed()

    async def _take(self, link: "_Link", text: str | bytes) -> None:
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, KeyError, TypeError):
            raise _Closing(4002, "Decode error") from None
        with self._lock:
            self.frames.append(frame)
        self._changed()
        link.count()
        if op == 1:
            if link.session is not None:
                link.session.heartbeats.append(data)
            if self.behaviour.acknowledges:
                await link.send({"op": 11, "d": None, "s": None, "t": None})
        elif op == 2:
            await self._identify(link, data)
        elif op == 6:
            await self._resume(link, data)
        elif link.session is None:
            raise _Closing(4003, "Not authenticated")
        elif op not in (3, 4, 8):
            raise _Closing(4001, "Unknown opcode")

    async def _identify(self, link: "_Link", data: Any) -> None:
        if link.session is not None:
            raise _Closing(4005, "Already authenticated")
        me = self._authorise(data)
        intents = data.get("intents")
        if not isinstance(intents, int) \
                or intents & ~self.behaviour.known_intents:
            raise _Closing(4013, "Invalid intent(s)")
        if intents & self.behaviour.refused_intents:
            raise _Closing(4014, "Disallowed intent(s)")
        with self._lock:
            self.behaviour.starts_left -= 1
            self._count += 1
            session = Session(f"session-{self._count}-{time.time_ns()}")
            self.sessions[session.id] = session
            self._note(session, "READY", self._ready(session.id, me))
            for guild in self._guilds():
                self._note(session, "GUILD_CREATE", guild)
        link.begin(session, 0)

    async def _resume(self, link: "_Link", data: Any) -> None:
        self._authorise(data)
        with self._lock:
            session = self.sessions.get(str(data.get("session_id"))) \
                if self.behaviour.resumes else None
            sequence = data.get("seq")
            if session is not None and not (
                    isinstance(sequence, int)
                    and 0 <= sequence <= len(session.events)):
                raise _Closing(4007, "Invalid seq")
            if session is not None:
                self._note(session, "RESUMED", {})
        if session is None:
            await link.send({"op": 9, "d": False, "s": None, "t": None})
            return
        link.begin(session, sequence)

    def _authorise(self, data: Any) -> Json:
        """Who it is."""
        me = self._bots.get(str(data.get("token"))) \
            if isinstance(data, dict) else None
        if me is None:
            raise _Closing(4004, "Authentication failed")
        return me


class _Link:
    """One connection and what it was sent."""

    def __init__(self, connection: ServerConnection,
                 behaviour: Behaviour) -> None:
        self.session: Session | None = None
        self._connection = connection
        self._behaviour = behaviour
        query = parse_qs(urlsplit(
            connection.request.path if connection.request else "").query)
        self._deflate = zlib.compressobj() \
            if query.get("compress") == ["zlib-stream"] else None
        self._lock = asyncio.Lock()
        self._feeding: asyncio.Task[None] | None = None
        self._times: list[float] = []

    def count(self) -> None:
        """A client that sends too many frames is cut off."""
        now = time.monotonic()
        self._times = [t for t in self._times if t > now - _FRAMES_S] + [now]
        if len(self._times) > _MOST_FRAMES:
            raise _Closing(4008, "Rate limited")

    def begin(self, session: Session, sequence: int) -> None:
        """Feed it the events after a number."""
        self.session = session
        session.wake = asyncio.Event()
        session.wake.set()
        self._feeding = asyncio.create_task(
            self._feed(session, session.wake, sequence))

    def stop(self) -> None:
        if self._feeding is not None:
            self._feeding.cancel()

    async def _feed(self, session: Session, wake: asyncio.Event,
                    at: int) -> None:
        with suppress(ConnectionClosed):
            while session.wake is wake:
                await wake.wait()
                wake.clear()
                while at < len(session.events):
                    await self.send(session.events[at])
                    at += 1

    async def send(self, payload: Json) -> None:
        text = json.dumps(payload)
        async with self._lock:
            if self._deflate is None:
                await self._connection.send(text)
                return
            data = self._deflate.compress(text.encode())
            data += self._deflate.flush(zlib.Z_SYNC_FLUSH)
            size = self._behaviour.cut_bytes or len(data)
            for at in range(0, len(data), size):
                await self._connection.send(data[at:at + size])
