"""The fake platform: a server for the bot, controls for the test.

The controls may be called from any thread; all state is kept under one
lock. An envelope goes to one of the connections, in turn. One that is not
acknowledged comes again: after `retry_s`, and to the next connection.
"""

import asyncio
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from claw.testing.fake_server import FakeServer
from claw.testing.fake_slack.methods import METHODS, show
from claw.testing.fake_slack.world import ApiError, Json, World
from claw.testing.fake_sockets import SocketServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request

BOT_TOKEN = "xoxb-" + "1111-2222-of-the-fake"
APP_TOKEN = "xapp-" + "1-A1-3333-of-the-fake"
BOT, BOT_ID = "U0BOT", "B0BOT"
ALICE, PRIVATE = "U1001", "D1001"
SCOPES = ("chat:write,app_mentions:read,channels:history,groups:history,"
          "im:history,mpim:history,channels:read,groups:read,im:read,"
          "mpim:read,users:read,files:read,files:write,reactions:write,"
          "im:write")
_PAGE = b"<!DOCTYPE html><html><title>Sign in | Slack</title></html>"


@dataclass
class Envelope:
    """What waits to be acknowledged."""

    number: str
    kind: str
    payload: Json
    attempts: int = 0
    sent_to: ServerConnection | None = None
    acked: bool = False
    sent_at: float = 0.0


@dataclass
class Call:
    """A call that the bot made."""

    method: str
    params: Json
    token: str = ""
    at: float = field(default_factory=time.monotonic)


class FakeSlack(FakeServer):
    """The platform, running inside a `with` block.

    Methods are at <url>/<method>; `lacks` are some that this server does
    not know, `scopes` (None: not told) what the bot token may. `clock` is
    Slack's own.
    """

    def __init__(self, *, port: int = 0, latency_s: float = 0.0,
                 lacks: tuple[str, ...] = (), scopes: str | None = SCOPES,
                 retry_s: float = 3.0, keeps_metadata: bool = True,
                 clock: Callable[[], float] = time.time) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.lacks, self.scopes, self.retry_s = lacks, scopes, retry_s
        self.calls: list[Call] = []
        self.downloads: list[tuple[str, bool]] = []  # path, with a token
        self.moved: dict[str, str] = {}  # path -> where a file is now
        self.slow_s = 0.0  # what a file takes
        self.tells = True  # whether events are sent at all
        self.world = World({"user_id": BOT, "bot_id": BOT_ID,
                            "name": "claw"}, clock,
                           keeps_metadata=keeps_metadata)
        self.world.person(ALICE, "alice")
        self.world.channel(PRIVATE)
        self.sockets = SocketServer(self._serve, refuse=self._refuse)
        self.envelopes: list[Envelope] = []
        self._tickets: set[str] = set()
        self._turn = 0
        self._problems: list[str] = []

    def up(self) -> None:
        if not self._running:
            super().up()
            self.sockets.start(self.host)
            self.world.bot["url"] = super().url

    def down(self) -> None:
        if self._running:
            self.sockets.stop()
        super().down()

    @property
    def url(self) -> str:
        return f"{super().url}/api"

    # what people do

    def say(self, text: str, channel: str = PRIVATE, user: str = "", *,
            twice: bool = False, **fields: Any) -> str:
        """A person writes; the message's ts. `twice`: it comes as a
        mention, too."""
        with self._changed:
            user = user or ("U" + channel[1:] if channel.startswith("D")
                            else ALICE)
            self.world.person(user)
            message = self.world.add(channel, {
                "user": user, "text": text, **fields})
            event = {**message, "channel": channel, "event_ts":
                     message["ts"], "channel_type": "im"
                     if channel.startswith("D") else "channel"}
        if twice:
            self.send_event({**event, "type": "app_mention"})
        self.send_event(event)
        return str(message["ts"])

    def edit(self, channel: str, ts: str, text: str) -> None:
        """A person changes a message."""
        with self._changed:
            message = self.world.find(channel, ts)
            assert message is not None
            before = dict(message)
            message.update(text=text, edited={
                "user": message["user"], "ts": self.world.next_ts()})
            event = {"type": "message", "subtype": "message_changed",
                     "hidden": True, "channel": channel,
                     "ts": self.world.next_ts(), "message": dict(message),
                     "previous_message": before}
        self.send_event(event)

    def send_event(self, event: Json) -> Envelope:
        return self.send_envelope("events_api", {
            "type": "event_callback", "team_id": "T1", "api_app_id": "A1",
            "event_id": self.world.number("Ev"), "event": event,
            "event_time": int(time.time())})

    def send_envelope(self, kind: str, payload: Any) -> Envelope:
        envelope = Envelope(str(uuid.uuid4()), kind, payload)
        if self.tells:
            with self._changed:
                self.envelopes.append(envelope)
            self._wake()
        return envelope

    def press(self, ts: str, value: str, channel: str = PRIVATE,
              user: str = ALICE) -> Envelope:
        """A person presses a button under a message."""
        with self._changed:
            message = self.world.find(channel, ts)
            assert message is not None
            payload = {
                "type": "block_actions", "user": {"id": user, "name":
                                                  user.lower()},
                "channel": {"id": channel, "name": "directmessage"},
                "message": dict(message), "trigger_id":
                    self.world.number("Tr"),
                "container": {"type": "message", "message_ts": ts,
                              "channel_id": channel},
                "actions": [{"type": "button", "action_id": "claw_0",
                             "block_id": "claw", "value": value,
                             "action_ts": self.world.next_ts()}]}
        return self.send_envelope("interactive", payload)

    def command(self, command: str, text: str = "", channel: str = PRIVATE,
                user: str = ALICE) -> Envelope:
        return self.send_envelope("slash_commands", {
            "command": command, "text": text, "channel_id": channel,
            "user_id": user, "user_name": user.lower(),
            "trigger_id": self.world.number("Tr")})

    def add_file(self, data: bytes, name: str = "notes.txt",
                 **fields: Any) -> Json:
        """A file on the platform, to be said with `files=[...]`."""
        with self._changed:
            file_id = self.world.number("F")
            self.world.contents[file_id] = data
            return {"id": file_id, "name": name, "size": len(data),
                    "url_private": f"{super().url}/files/{file_id}/{name}",
                    **fields}

    # what the bot did

    def messages(self, channel: str | None = None) -> list[Json]:
        """The bot's messages, in order of appearance."""
        with self._changed:
            found = [{**m, "channel": place}
                     for place, said in self.world.messages.items()
                     for m in said if m.get("user") == BOT
                     and channel in (None, place)]
        return sorted(found, key=lambda m: float(m["ts"]))

    def answers(self, channel: str | None = None) -> list[str]:
        """What people read of them."""
        return [show(m["text"], m.get("blocks"))
                for m in self.messages(channel)]

    def list_calls(self, method: str) -> list[Call]:
        return [c for c in list(self.calls) if c.method == method]

    def previews(self) -> int:
        with self._changed:
            return sum(bool(m.get("unfurl")) for said in
                       self.world.messages.values() for m in said)

    def pending(self) -> list[Envelope]:
        """What is not acknowledged."""
        with self._changed:
            return [e for e in self.envelopes if not e.acked]

    @property
    def problems(self) -> list[str]:
        return self._problems + self._server.errors + self.sockets.errors

    # what goes wrong (and `fault`, `latency_s`)

    def kill_connections(self) -> int:
        return super().kill_connections() + self.sockets.kill_connections()

    def disconnect(self, reason: str) -> None:
        """Tell every connection that it is over, or soon will be."""
        frame = json.dumps({"type": "disconnect", "reason": reason})
        for connection in list(self.sockets.connections):
            self.sockets.run(connection.send(frame))

    def close_sockets(self, connections: Any = None) -> None:
        for connection in list(connections or self.sockets.connections):
            self.sockets.run(connection.close())

    def send_frame(self, frame: str | bytes) -> None:
        """Anything, to every connection."""
        for connection in list(self.sockets.connections):
            self.sockets.run(connection.send(frame))

    def resend(self) -> None:
        """Send again what is not acknowledged."""
        with self._changed:
            for envelope in self.envelopes:
                envelope.sent_to = None
        self._wake()

    # Socket Mode

    def _refuse(self, request: Any) -> int | None:
        ticket = request.path.rpartition("ticket=")[2]
        with self._changed:
            if ticket in self._tickets:
                self._tickets.discard(ticket)
                return None
        return 404

    async def _serve(self, connection: ServerConnection) -> None:
        await connection.send(json.dumps({
            "type": "hello", "connection_info": {"app_id": "A1"},
            "num_connections": len(self.sockets.connections),
            "debug_info": {"host": "fake", "approximate_connection_time":
                           18060}}))
        await self._deliver()
        try:
            async for frame in connection:
                self._acknowledge(json.loads(frame))
        finally:
            with self._changed:
                for envelope in self.envelopes:
                    if envelope.sent_to is connection:
                        envelope.sent_to = None
            self._wake()

    def _acknowledge(self, frame: Json) -> None:
        with self._changed:
            for envelope in self.envelopes:
                if envelope.number == frame.get("envelope_id"):
                    envelope.acked = True
                    break
            else:
                self._problems.append(f"an ack of nothing: {frame}")
            self._changed.notify_all()

    def _wake(self) -> None:
        if self._running:
            self.sockets.call_soon(self._soon)

    def _soon(self) -> None:
        task = asyncio.ensure_future(self._deliver())
        task.add_done_callback(lambda done: done.cancelled()
                               or done.exception())

    async def _deliver(self) -> None:
        """Send what waits, each to one connection."""
        for envelope in self.pending():
            if envelope.sent_to in self.sockets.connections and (
                    time.monotonic() < envelope.sent_at + self.retry_s):
                continue
            everyone = sorted(self.sockets.connections, key=id)
            if not everyone:
                return
            self._turn += 1
            envelope.sent_to = everyone[self._turn % len(everyone)]
            envelope.sent_at = time.monotonic()
            again = {"retry_attempt": envelope.attempts,
                     "retry_reason": "timeout"} if envelope.attempts else {}
            envelope.attempts += 1
            try:
                await envelope.sent_to.send(json.dumps({
                    "envelope_id": envelope.number, "type": envelope.kind,
                    "payload": envelope.payload, **again,
                    "accepts_response_payload":
                        envelope.kind != "events_api"}))
            except ConnectionClosed:
                envelope.sent_to = None
        if self.pending() and self._running:
            asyncio.get_running_loop().call_later(self.retry_s, self._soon)

    # the Web API

    def _handle(self, request: Request) -> Answer:
        if request.path.startswith("/upload/"):
            return self._slowly(partial(self._upload, request), None,
                                _refusal)
        if request.path.startswith("/files/"):
            return self._give(request)
        method = request.path.removeprefix("/api/")
        params = _read_params(request)
        token = request.headers.get("authorization", "").removeprefix(
            "Bearer ")
        with self._changed:
            self.calls.append(Call(method, params, token))
            self._changed.notify_all()

        async def do() -> Reply:
            return self._do(method, params, token)
        return self._slowly(do, self._faults.take(method), _refusal)

    def _do(self, method: str, params: Json, token: str) -> Reply:
        with self._changed:
            try:
                if method in self.lacks or (
                        method not in METHODS
                        and method != "apps.connections.open"):
                    raise ApiError("unknown_method", req_method=method)
                wanted = (self.app_token if method == "apps.connections.open"
                          else self.bot_token)
                if token != wanted:
                    raise ApiError("invalid_auth" if token else "not_authed")
                found = (self._open() if method == "apps.connections.open"
                         else METHODS[method](self.world, params))
            except ApiError as error:
                return _reply({"ok": False, "error": error.code,
                               **error.extra})
            finally:
                self._changed.notify_all()
        return _reply({"ok": True, **found}, *(
            [("X-OAuth-Scopes", self.scopes)] if self.scopes else []))

    def _open(self) -> Json:
        ticket = uuid.uuid4().hex
        self._tickets.add(ticket)
        return {"url": f"{self.sockets.url}/link/?ticket={ticket}"}

    async def _upload(self, request: Request) -> Reply:
        with self._changed:
            upload = self.world.uploads.get(request.path.rpartition("/")[2])
            if upload is None or len(request.body) != upload.length:
                return Reply(404, b"file_not_found", "text/plain")
            if "authorization" in request.headers:
                self._problems.append("an upload with the token")
            upload.content = request.body
            return Reply(200, b"OK", "text/plain")

    async def _give(self, request: Request) -> Reply:
        await asyncio.sleep(self.slow_s)
        return self._download(request)

    def _download(self, request: Request) -> Reply:
        with self._changed:
            known = request.headers.get(
                "authorization") == f"Bearer {self.bot_token}"
            self.downloads.append((request.path, known))
            data = self.world.contents.get(request.path.split("/")[2])
        if request.path in self.moved:
            return Reply(302, b"", "text/plain", headers=(
                ("Location", self.moved[request.path]),))
        if not known:
            return Reply(200, _PAGE, "text/html; charset=utf-8")
        if data is None:
            return Reply(404, b"", "text/html")
        return Reply(200, data, "application/octet-stream")

    def _state(self) -> str:
        return (f"{len(self.calls)} calls, the last "
                f"{[c.method for c in self.calls[-8:]]}; {len(self.pending())}"
                f" envelopes pending; {len(self.sockets.connections)} "
                f"sockets; answers {[a[:60] for a in self.answers()[-5:]]}; "
                f"problems {self.problems[:5]}")


def _read_params(request: Request) -> Json:
    """Query, form and JSON, as Slack mixes them."""
    found: Json = dict(parse_qsl(request.query, keep_blank_values=True))
    kind = request.headers.get("content-type", "")
    if "json" in kind:
        body = json.loads(request.body or b"{}")
        return {**found, **body}
    found.update(parse_qsl(request.body.decode("utf-8", "replace"),
                           keep_blank_values=True))
    for key in ("files", "blocks", "attachments", "metadata"):
        if isinstance(found.get(key), str):
            found[key] = json.loads(found[key])
    return found


def _reply(body: Json, *headers: tuple[str, str]) -> Reply:
    return Reply(200, json.dumps(body).encode(), headers=headers)


def _refusal(fault: Fault) -> Reply:
    if fault.kind == "429":
        return Reply(429, json.dumps({
            "ok": False, "error": "ratelimited"}).encode(), headers=(
                ("Retry-After", str(fault.retry_after)),))
    codes = {400: "invalid_arguments", 401: "invalid_auth"}
    if fault.description is None and fault.status not in codes:
        return Reply(fault.status, b"upstream trouble", "text/plain")
    return _reply({"ok": False, "error": fault.description
                   or codes[fault.status]})
