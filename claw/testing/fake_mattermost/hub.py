"""The WebSocket: connections that are numbered, kept and taken up.

A connection keeps its last 128 events while nobody is attached; one that
comes back with its id and the number it waits for gets the rest and no
greeting. Without such events, or after a restart, it is greeted anew.
Source: server/channels/app/platform/web_conn.go, web_hub.go.
"""

import asyncio
import json
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import parse_qsl

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from claw.testing.fake_mattermost.world import Json

KEPT = 128
_numbers = count(1)  # of connections; a restart gives none again


@dataclass
class Link:
    """A connection as the server knows it; `socket` is who is attached."""

    id: str
    user: str
    next: int = 0
    kept: list[tuple[int, str]] = field(default_factory=list)
    socket: ServerConnection | None = None
    waiting: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue)

    def push(self, event: str, data: Json, channel: str = "") -> None:
        frame = json.dumps({
            "event": event, "data": data, "broadcast": {
                "omit_users": None, "user_id": "", "channel_id": channel,
                "team_id": ""}, "seq": self.next})
        self.kept = [*self.kept, (self.next, frame)][-KEPT:]
        self.next += 1
        if self.socket is not None:
            self.waiting.put_nowait(frame)

    def greet(self) -> None:
        self.push("hello", {"server_version": "11.11.0",
                            "connection_id": self.id})


class Hub:
    """All connections. Everything here runs on the sockets' loop.

    `tokens` are those of users; `mute` leaves the next so many events out
    of a connection, `deaf` takes requests and answers nothing.
    `strips_headers` is a proxy that takes the authorization away.
    """

    def __init__(self, tokens: dict[str, str]) -> None:
        self.links: dict[str, Link] = {}
        self.tokens = tokens
        self.mute = 0
        self.deaf = False
        self.strips_headers = False
        self.resumed = 0
        self.greeted = 0
        self.caught_up = False  # see live.py: its last ping says so

    def publish(self, event: str, data: Json, channel: str,
                users: set[str]) -> None:
        for link in list(self.links.values()):
            if link.user in users:
                if self.mute > 0:
                    self.mute -= 1
                    link.next += 1
                else:
                    link.push(event, data, channel)

    async def serve(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        query = dict(parse_qsl(socket.request.path.partition("?")[2]))
        given = socket.request.headers.get("Authorization", "")
        token = "" if self.strips_headers \
            else given.removeprefix("Bearer ").strip()
        user = self.tokens.get(token)
        link = None if user is None else self._attach(user, query, socket)
        writer = None if link is None else self._write(link, socket)
        try:
            async for frame in socket:
                request = json.loads(frame)
                if self.deaf:
                    continue
                if request["action"] == "authentication_challenge":
                    if link is not None:
                        continue  # the header did it
                    user = self.tokens.get(request["data"].get("token"))
                    if user is None:
                        return
                    link = self._attach(user, {}, socket)
                    writer = self._write(link, socket)
                    _reply(link, request)
                elif link is None:
                    await socket.send(json.dumps({
                        "status": "FAIL", "seq_reply": request["seq"],
                        "error": {"id": "api.web_socket_router."
                                  "not_authenticated.app_error"}}))
                elif request["action"] == "ping":
                    self.caught_up |= request["seq"] > 2
                    _reply(link, request, {"text": "pong"})
                else:
                    _reply(link, request)
        except ConnectionClosed:
            pass
        finally:
            if link is not None and link.socket is socket:
                link.socket = None
            if writer is not None:
                writer.cancel()

    def _attach(self, user: str, query: dict[str, str],
                socket: ServerConnection) -> Link:
        link = self.links.get(query.get("connection_id", ""))
        number = int(query.get("sequence_number") or 0)
        if link is not None and link.user == user and (
                number == link.next or number in dict(link.kept)):
            self.resumed += 1
            link.waiting = asyncio.Queue()
            link.socket = socket
            for seq, frame in link.kept:
                if seq >= number:
                    link.waiting.put_nowait(frame)
            return link
        link = Link(f"conn{next(_numbers):022d}", user, socket=socket)
        self.links[link.id] = link
        self.greeted += 1
        link.greet()
        return link

    def _write(self, link: Link,
               socket: ServerConnection) -> "asyncio.Task[None]":
        queue = link.waiting

        async def write() -> None:
            try:
                while True:
                    await socket.send(await queue.get())
            except ConnectionClosed:
                return
        return asyncio.get_running_loop().create_task(write())


def _reply(link: Link, request: Json, data: Json | None = None) -> None:
    link.waiting.put_nowait(json.dumps({
        "status": "OK", "seq_reply": request["seq"],
        **({"data": data} if data else {})}))
