"""A gateway: one WebSocket, from its Hello to its end.

Several platforms speak this way: numbered events, heartbeats that tell the
number of the last one, a session that a later connection resumes. It reads
at its own pace, so that heartbeats are answered while a message is being
committed: events wait in a queue. A heartbeat tells the last event that is
committed, so what is not stays with the platform. One that is not
acknowledged ends the connection, with a code that leaves the session to be
resumed.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any, Protocol

import msgspec

from claw.channels.client import read_json
from claw.core.errors import ClawError, UnavailableError
from claw.net.addresses import is_address, is_loopback
from claw.net.websocket import SocketClosedError, WebSocket

DISPATCH, HEARTBEAT, IDENTIFY, RESUME = 0, 1, 2, 6
RECONNECT, INVALID, HELLO, ACK = 7, 9, 10, 11
HEARTBEAT_S = 41.25  # until Hello says it
KEEPS_SESSION = 4000  # 1000 and 1001 would end it
_HELLO_S = 15.0
_MOST_WAITING = 2000
_SHORTEST_S, _LONGEST_S = 0.05, 600.0


class Frame(msgspec.Struct, frozen=True):
    """A payload: opcode, data, sequence and name of an event, and its id
    where it has one."""

    op: int
    d: Any = None
    s: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)] | None = None
    t: str | None = None
    id: Any = None


class ReconnectError(UnavailableError):
    """The gateway wants to be connected to again, after `wait_s`."""

    wait_s = 1.0


class Session(Protocol):
    """What a later connection resumes; `sequence` is the last event that is
    committed."""

    @property
    def is_resumable(self) -> bool: ...

    @property
    def sequence(self) -> int: ...

    def forget(self) -> None:
        """The platform has ended it."""


class Gateway:
    """An open connection. `title` names the platform, `first` makes the
    frame that begins or resumes, `feed` a text of what came (None: a piece),
    `explain` an error of a close; `heard` is called for each frame, `rng`
    gives the jitter of the first heartbeat."""

    def __init__(self, title: str, socket: WebSocket, session: Session, *,
                 first: Callable[[bool], dict[str, Any]],
                 explain: Callable[[SocketClosedError], ClawError],
                 heard: Callable[[], None], rng: Callable[[], float],
                 feed: Callable[[str | bytes], str | None] = (
                     lambda data: data if isinstance(data, str)
                     else data.decode("utf-8", "replace"))) -> None:
        self._title = title
        self._socket = socket
        self._session = session
        self._first = first
        self._feed = feed
        self._explain_close = explain
        self._heard = heard
        self._rng = rng
        self._events: asyncio.Queue[Frame | Exception] = asyncio.Queue(
            _MOST_WAITING)
        self._acknowledged = True
        self._why = ""
        self.heartbeat_s = HEARTBEAT_S
        self.resumes = session.is_resumable

    async def events(self) -> AsyncGenerator[Frame]:
        """The events in order; ends with an error. Close the iterator."""
        reading = asyncio.create_task(self._read())
        try:
            while True:
                event = await self._events.get()
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            reading.cancel()
            await asyncio.wait({reading})

    async def _read(self) -> None:
        """Until the connection ends; how it did is the last of the
        events."""
        beating: asyncio.Task[None] | None = None
        try:
            hello = await self._next(_HELLO_S)
            if hello.op != HELLO:
                raise UnavailableError(
                    f"{self._title}'s gateway said no Hello")
            self.heartbeat_s = read_interval(self._title, hello.d)
            beating = asyncio.create_task(self._beat())
            await self._send(self._first(self.resumes))
            while True:
                frame = await self._next()
                if frame.op == DISPATCH:
                    await self._events.put(frame)
                else:
                    await self._control(frame)
        except ClawError as error:
            await self._events.put(self._explain(error))
        except Exception as error:  # else the events would never end
            await self._events.put(error)
        finally:
            if beating is not None:
                beating.cancel()
                await asyncio.wait({beating})

    async def _next(self, timeout_s: float | None = None) -> Frame:
        while True:
            text = self._feed(await self._socket.receive(timeout_s))
            self._heard()
            if text is not None:
                return read_frame(self._title, text)

    async def _control(self, frame: Frame) -> None:
        if frame.op == HEARTBEAT:
            await self._send_heartbeat()
        elif frame.op == ACK:
            self._acknowledged = True
        elif frame.op == RECONNECT:
            raise ReconnectError(f"{self._title} asked to connect anew")
        elif frame.op == INVALID:
            error = ReconnectError(f"{self._title} does not know the session")
            if frame.d is not True:
                self._session.forget()
                error.wait_s = 1.0 + 4.0 * self._rng()  # as it asks for
            raise error

    async def _beat(self) -> None:
        """The first one after a random part of the interval."""
        await asyncio.sleep(self.heartbeat_s * self._rng())
        try:
            while self._acknowledged or self._events.full():
                self._acknowledged = False
                await self._send_heartbeat()
                await asyncio.sleep(self.heartbeat_s)
            self._why = "answered no heartbeat within " \
                        f"{self.heartbeat_s:g} s"
            await self._socket.close(KEEPS_SESSION)
        except SocketClosedError:
            return  # who reads tells

    async def _send_heartbeat(self) -> None:
        await self._send({"op": HEARTBEAT,
                          "d": self._session.sequence or None})

    async def _send(self, payload: dict[str, Any]) -> None:
        await self._socket.send(json.dumps(payload))

    def _explain(self, error: ClawError) -> ClawError:
        """What the end of the connection means."""
        if not isinstance(error, SocketClosedError):
            return error
        if self._why:
            return UnavailableError(f"{self._title}'s gateway {self._why}")
        return self._explain_close(error)


def read_frame(title: str, text: str) -> Frame:
    """Raises UnavailableError for what is no frame."""
    try:
        return msgspec.convert(read_json(text), Frame)
    except ValueError as error:
        raise UnavailableError(
            f"{title}'s gateway sent what is no frame") from error


def read_interval(title: str, hello: Any) -> float:
    """Seconds between two heartbeats. Raises UnavailableError."""
    found = hello.get("heartbeat_interval") if isinstance(hello, dict) \
        else None
    if isinstance(found, bool) or not isinstance(found, int | float) \
            or found != found:
        raise UnavailableError(
            f"{title}'s Hello names no heartbeat_interval")
    return max(_SHORTEST_S, min(_LONGEST_S * 1000, found) / 1000)


def is_gateway(url: Any) -> bool:
    """Whether the token may go there: encrypted, or on this machine."""
    return isinstance(url, str) and is_address(url, ("ws", "wss")) and (
        url.startswith("wss:") or is_loopback(url))
