"""Events over the WebSocket.

The server numbers the events of a connection and keeps the last 128 of them
for some minutes after it ended. A new connection that names the old one and
the number it waits for gets the rest, with no greeting; else it is greeted
("hello") under a new id, and what was missed has to be asked for.

    ?connection_id=...&sequence_number=7      the query of the handshake
    {"seq": 1, "action": "authentication_challenge", "data": {"token"}}
    {"event": "hello", "data": {"connection_id"}, "seq": 0}
    {"event": "posted", "data": {"post": "{...}"}, "seq": 7}
    {"status": "OK", "seq_reply": 2}          our request 2 was done

Source: server/channels/app/platform/{web_conn,web_hub,websocket_router}.go.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from claw.channels.connection import Connection
from claw.channels.mattermost.api import Api
from claw.channels.mattermost.wire import is_id
from claw.core.errors import UnavailableError
from claw.core.log import Log
from claw.core.value import Value, made
from claw.net.websocket import WebSocket, connect

PING_S = 30.0
GREETING_S = 10.0
_BARREN = 2  # then what was missed is asked for
_CHALLENGE, _PING = 1, 2  # numbers of our requests


class Event(Value):
    """Something that happened; `seq` numbers it in its connection."""

    name: str
    seq: int
    data: dict[str, Any] = made(factory=dict)


Handle: TypeAlias = Callable[[Event], Awaitable[None]]


class Live:
    """The connections of one listener, one after the other. `opened` says
    whether the last one came to be."""

    def __init__(self, api: Api, link: Connection, log: Log, *,
                 ping_s: float = PING_S) -> None:
        self._api = api
        self._link = link
        self._log = log
        self._ping_s = ping_s
        self._id = ""  # of the connection to take up
        self._next = 0  # the event that is waited for
        self._barren = 0  # connections that brought no event
        self._behind = True
        self.opened = False

    async def run(self, handle: Handle,
                  catch_up: Callable[[], Awaitable[None]]) -> None:
        """One connection. An event counts as seen once `handle` has
        returned; `catch_up` is called where some were missed. Raises
        UnavailableError at its end, and what those two raise."""
        self.opened = False
        self._barren += 1
        if self._barren > _BARREN:
            self._id, self._behind = "", True
        query = (f"?connection_id={self._id}&sequence_number={self._next}"
                 if self._id else "")
        async with connect(
                self._api.socket_url + query, self._api.peer,
                headers=self._api.headers, proxy_url=self._api.proxy_url,
                ping_s=self._ping_s, heard=self._link.heard) as socket:
            # The header does it; a proxy may have taken that away.
            await _request(socket, _CHALLENGE, "authentication_challenge",
                           self._api.challenge)
            await _request(socket, _PING, "ping")
            while True:
                frame = await socket.receive(
                    None if self.opened else GREETING_S)
                self._link.heard()
                await self._take(frame, socket, handle, catch_up)

    async def _take(self, frame: str | bytes, socket: WebSocket,
                    handle: Handle,
                    catch_up: Callable[[], Awaitable[None]]) -> None:
        found = _read(frame)
        if found is None:
            return
        if isinstance(found, Event) and found.name == "hello":
            self._greet(found)
        if not self.opened:
            self.opened = True
            self._link.recover()
            if self._behind:
                await catch_up()
                self._behind = False
                # That may have taken long: is anybody there?
                await _request(socket, _PING + 1, "ping")
            else:
                self._log("resumed")
        if isinstance(found, Event) and self._is_next(found):
            await handle(found)
            self._next = found.seq + 1
            self._barren = 0

    def _greet(self, hello: Event) -> None:
        """It is a new connection: what happened before it is lost here."""
        given = hello.data.get("connection_id")
        self._behind = True
        self.opened = False
        self._id = given if isinstance(given, str) and is_id(given) else ""
        self._next = hello.seq

    def _is_next(self, event: Event) -> bool:
        """Raises UnavailableError where events are missing before it. A
        server that gives no id does not number for us."""
        if self._id and event.seq > self._next:
            raise UnavailableError(
                f"Mattermost left out events ({self._next} to "
                f"{event.seq - 1})")
        return not self._id or event.seq == self._next


async def _request(socket: WebSocket, number: int, action: str,
                   data: dict[str, Any] | None = None) -> None:
    await socket.send(json.dumps(
        {"seq": number, "action": action, "data": data or {}}))


def _read(frame: str | bytes) -> Event | bool | None:
    """An event, or True for a request that was answered with OK; None for
    anything else."""
    try:
        raw = json.loads(frame)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    name, seq, data = raw.get("event"), raw.get("seq", 0), raw.get("data")
    if isinstance(name, str) and type(seq) is int and seq >= 0:
        return Event(name, seq, data if isinstance(data, dict) else {})
    return True if raw.get("status") == "OK" else None
