"""One connection to the gateway, from Hello to its end.

It reads at its own pace, so that heartbeats are answered while a message is
being committed: events wait in a queue. A heartbeat tells the last event
that is committed, so what is not stays with Discord. One that is not
acknowledged ends the connection, with a code that leaves the session to be
resumed.
Source: docs.discord.com/developers, events/gateway, API v10, read 2026-11.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

from claw.channels.discord import frames
from claw.channels.discord.frames import Frame, Inflater
from claw.channels.discord.session import Session
from claw.core.errors import ClawError, UnavailableError
from claw.net.websocket import SocketClosedError, WebSocket

QUERY = "/?v=10&encoding=json&compress=zlib-stream"
HEARTBEAT_S = 41.25  # until Hello says it
KEEPS_SESSION = 4000  # 1000 and 1001 would end it
_HELLO_S = 15.0
_MOST_WAITING = 2000
_SHORTEST_S, _LONGEST_S = 0.05, 600.0


class ReconnectError(UnavailableError):
    """The gateway wants to be connected to again, after `wait_s`."""

    wait_s = 1.0


class Gateway:
    """An open connection. `heard` is called for each frame, `rng` gives
    the jitter of the first heartbeat."""

    def __init__(self, socket: WebSocket, session: Session, token: str, *,
                 heard: Callable[[], None], rng: Callable[[], float]
                 ) -> None:
        self._socket = socket
        self._session = session
        self._token = token
        self._heard = heard
        self._rng = rng
        self._inflater = Inflater()
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
            if hello.op != frames.HELLO:
                raise UnavailableError("Discord's gateway said no Hello")
            self.heartbeat_s = _read_interval(hello.d)
            beating = asyncio.create_task(self._beat())
            place = self._session.place
            await self._send(
                frames.resume(self._token, place.session_id, place.sequence)
                if self.resumes else frames.identify(self._token))
            while True:
                frame = await self._next()
                if frame.op == frames.DISPATCH:
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
            text = self._inflater.feed(await self._socket.receive(timeout_s))
            self._heard()
            if text is not None:
                return frames.read_frame(text)

    async def _control(self, frame: Frame) -> None:
        if frame.op == frames.HEARTBEAT:
            await self._send_heartbeat()
        elif frame.op == frames.ACK:
            self._acknowledged = True
        elif frame.op == frames.RECONNECT:
            raise ReconnectError("Discord asked to connect anew")
        elif frame.op == frames.INVALID:
            error = ReconnectError("Discord does not know the session")
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
        await self._send({"op": frames.HEARTBEAT,
                          "d": self._session.place.sequence or None})

    async def _send(self, payload: dict[str, Any]) -> None:
        await self._socket.send(json.dumps(payload))

    def _explain(self, error: ClawError) -> ClawError:
        """What the end of the connection means."""
        if not isinstance(error, SocketClosedError):
            return error
        if self._why:
            return UnavailableError(f"Discord's gateway {self._why}")
        if frames.ends_session(error.code):
            self._session.forget()
        return frames.close_error(error.code) or error


def _read_interval(hello: Any) -> float:
    """Seconds between two heartbeats. Raises UnavailableError."""
    found = hello.get("heartbeat_interval") if isinstance(hello, dict) \
        else None
    if isinstance(found, bool) or not isinstance(found, int | float) \
            or found != found:
        raise UnavailableError("Discord's Hello names no heartbeat_interval")
    return max(_SHORTEST_S, min(_LONGEST_S * 1000, found) / 1000)
