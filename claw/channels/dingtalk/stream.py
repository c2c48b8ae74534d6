"""Stream mode: callbacks over a WebSocket, each acknowledged once what it
brought is committed.

What is not acknowledged within a minute or so comes again, to any
connection, under the same id. Before DingTalk leaves a connection it says
"disconnect": another one is opened while the old one still serves.
Source: open-dingtalk.github.io/developerpedia/docs/learn/stream/protocol.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from claw.channels.connection import Connection
from claw.channels.dingtalk.answers import read_text
from claw.channels.dingtalk.api import DingtalkApi
from claw.channels.overlap import Connections
from claw.core.errors import AuthError, UnavailableError
from claw.core.log import Log
from claw.net.websocket import WebSocket, connect

PING_S = 30.0
LEAVE_S = 10.0  # so long the old connection serves beside the new one

# Takes what a callback holds: its topic and data.
Take = Callable[[str, Any], Awaitable[None]]


class Stream(Connections):
    """The connections of one listener. `take` commits."""

    def __init__(self, api: DingtalkApi, link: Connection, take: Take, *,
                 log: Log, ping_s: float = PING_S,
                 leave_s: float = LEAVE_S) -> None:
        super().__init__(link)
        self._api = api
        self._take = take
        self._log = log
        self._ping_s = ping_s
        self._leave_s = leave_s

    async def serve(self, overlaps: bool) -> None:
        url = await self._api.open_stream()
        try:
            await self._listen(url)
        except AuthError as error:  # of the ticket, not of the app
            raise UnavailableError(error.message) from error

    async def _listen(self, url: str) -> None:
        async with connect(url, self._api.peer, ping_s=self._ping_s,
                           proxy_url=self._api.proxy_url,
                           heard=self._link.heard) as socket:
            self._link.recover()
            loop, leave_at = asyncio.get_running_loop(), float("inf")
            while (left := leave_at - loop.time()) > 0:
                frame = self._read(await socket.receive(
                    None if left == float("inf") else left))
                self._link.heard()
                if frame.get("type") != "SYSTEM":
                    await self.answer_beside(self._answer(socket, frame))
                    continue
                await self._confirm(socket, frame, frame.get("data"))
                if _topic(frame) == "disconnect" \
                        and leave_at == float("inf"):
                    leave_at = loop.time() + self._leave_s
                    self.start(overlaps=True)

    async def _answer(self, socket: WebSocket,
                      frame: dict[str, Any]) -> None:
        """Commit what a frame holds, then say so."""
        if not _headers(frame):
            return
        said: dict[str, Any] = {"status": "SUCCESS"}
        if frame.get("type") == "CALLBACK":
            await self._take(_topic(frame), frame.get("data"))
            said = {"response": None}
        await self._confirm(socket, frame, json.dumps(said))

    async def _confirm(self, socket: WebSocket, frame: dict[str, Any],
                       data: Any) -> None:
        number = read_text(_headers(frame), "messageId")
        await socket.send(json.dumps({
            "code": 200, "message": "OK",
            "headers": {"contentType": "application/json",
                        "messageId": number},
            "data": data if isinstance(data, str) else json.dumps(data)}))

    def _read(self, frame: str | bytes) -> dict[str, Any]:
        """A frame; {} for what is none of DingTalk's."""
        try:
            found = json.loads(frame)
        except (ValueError, RecursionError) as error:
            self._log("event_unreadable", error=str(error)[:300])
            return {}
        return found if isinstance(found, dict) else {}


def _headers(frame: dict[str, Any]) -> dict[str, Any]:
    found = frame.get("headers")
    return found if isinstance(found, dict) else {}


def _topic(frame: dict[str, Any]) -> str:
    return read_text(_headers(frame), "topic")
