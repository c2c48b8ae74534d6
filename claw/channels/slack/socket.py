"""Socket Mode: envelopes over a WebSocket, each acknowledged once what it
brought is committed.

Slack waits three seconds for that and then sends it again, to any
connection, at once, after a minute and after five: a commit that is late is
acknowledged late, and what comes again has the same id and is kept once.
Before Slack leaves a connection it says so ("warning", "refresh_requested"):
another one is opened while the old one still serves.
Source: docs.slack.dev/apis/events-api/using-socket-mode.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from claw.channels.connection import Connection
from claw.channels.overlap import Connections
from claw.channels.slack.answers import mend
from claw.channels.slack.api import SlackApi
from claw.core.errors import AuthError, UnavailableError
from claw.core.log import Log
from claw.net.websocket import WebSocket, connect

PING_S = 10.0
HELLO_S = 30.0
LEAVE_S = 30.0  # so long the old connection serves beside the new one
_SOON = ("warning", "refresh_requested")

# Takes what an envelope holds: its type, payload and id.
Take = Callable[[str, Any, str], Awaitable[None]]


class SocketMode(Connections):
    """The connections of one listener. `take` commits; `connected` is
    called when one was opened, and told whether another one overlaps it:
    else something may have been missed."""

    def __init__(self, api: SlackApi, link: Connection, take: Take,
                 connected: Callable[[bool], Awaitable[None]], *, log: Log,
                 ping_s: float = PING_S) -> None:
        super().__init__(link)
        self._api = api
        self._take = take
        self._connected = connected
        self._log = log
        self._ping_s = ping_s

    async def serve(self, overlaps: bool) -> None:
        """One connection, from its hello to its end."""
        url = await self._api.open_socket()
        async with connect(url, self._api.peer, ping_s=self._ping_s,
                           proxy_url=self._api.proxy_url,
                           heard=self._link.heard) as socket:
            frame = self._read(await socket.receive(HELLO_S))
            if frame.get("type") != "disconnect":
                self._link.recover()
                await self._connected(overlaps)
            loop, leave_at = asyncio.get_running_loop(), float("inf")
            while (left := leave_at - loop.time()) > 0:
                if frame.get("type") != "disconnect":
                    await self.answer_beside(self._answer(socket, frame))
                elif self._is_soon(frame) and leave_at == float("inf"):
                    leave_at = loop.time() + LEAVE_S
                    self.start(overlaps=True)
                frame = self._read(await socket.receive(
                    None if left == float("inf") else left))
                self._link.heard()

    def _is_soon(self, frame: dict[str, Any]) -> bool:
        """Whether Slack leaves in a moment. Raises UnavailableError where
        it leaves now, AuthError where there is no coming back."""
        reason = frame.get("reason")
        if reason == "link_disabled":
            raise AuthError(
                "Slack has closed the connection: Socket Mode is off",
                hint="switch it on at api.slack.com/apps, Socket Mode")
        if reason == "too_many_websockets":
            raise UnavailableError(
                "Slack allows no more connections of this app (ten)",
                hint="stop another claw listen with the same app_token")
        if reason not in _SOON:
            raise UnavailableError("Slack has closed the connection")
        return True

    async def _answer(self, socket: WebSocket,
                      envelope: dict[str, Any]) -> None:
        """Commit what an envelope holds, then say so."""
        number = envelope.get("envelope_id")
        if not isinstance(number, str) or not number:
            return
        await self._take(str(envelope.get("type")), envelope.get("payload"),
                         number)
        await socket.send(json.dumps({"envelope_id": number}))

    def _read(self, frame: str | bytes) -> dict[str, Any]:
        """A frame; {} for what is none of Slack's."""
        try:
            found = mend(json.loads(frame))
        except (ValueError, RecursionError) as error:
            self._log("event_unreadable", error=str(error)[:300])
            return {}
        return found if isinstance(found, dict) else {}
