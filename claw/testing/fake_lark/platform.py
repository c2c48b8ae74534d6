"""The fake platform: a server for the app, controls for the test.

The controls may be called from any thread; all state is kept under one lock.
An event goes to one of the connections. One that is not acknowledged comes
again: after `retry_s`, and to the next connection.
"""

import asyncio
import base64
import json
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from claw.channels.lark.frames import CONTROL, DATA, Frame, decode, encode
from claw.testing.fake_lark.methods import METHODS, Call, bot_info
from claw.testing.fake_lark.world import (
    ALICE,
    APP_ID,
    PRIVATE,
    ApiError,
    Json,
    World,
    buttons,
    show,
)
from claw.testing.fake_server import FakeServer
from claw.testing.fake_sockets import SocketServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request

SECRET = "secret-of-the-fake-app-1111"
TOKEN = "t-fake-"


@dataclass
class Event:
    """What waits to be acknowledged."""

    number: str
    payload: Json
    attempts: int = 0
    sent_to: ServerConnection | None = None
    sent_at: float = 0.0
    acked: bool = False


class FakeLark(FakeServer):
    """The platform, running inside a `with` block.

    `config` is what the endpoint says of pings and reconnects, `part_bytes`
    into how large frames an event is cut, `token_s` how long a token lasts.
    """

    def __init__(self, *, port: int = 0, latency_s: float = 0.0,
                 retry_s: float = 3.0, key_s: float = 3600.0,
                 clock: Callable[[], float] = time.time) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.app_id, self.secret, self.retry_s = APP_ID, SECRET, retry_s
        self.config: Json = {"ReconnectCount": -1, "ReconnectInterval": 1,
                             "ReconnectNonce": 0, "PingInterval": 120}
        self.part_bytes = 0
        self.token_s = 7200
        self.endpoint_code: tuple[int, str] | None = None
        self.active = 2
        self.tells = True  # whether events are sent at all
        self.calls: list[Call] = []
        self.pings = 0
        self.tokens = 0
        self.world = World(clock, key_s=key_s)
        self.world.people[ALICE] = "alice"
        self.world.chat(PRIVATE)
        self.sockets = SocketServer(self._serve, refuse=self._refuse)
        self.events: list[Event] = []
        self._tickets: set[str] = set()
        self._turn = 0
        self._valid: dict[str, float] = {}
        self._problems: list[str] = []

    def up(self) -> None:
        if not self._running:
            super().up()
            self.sockets.start(self.host)

    def down(self) -> None:
        if self._running:
            self.sockets.stop()
        super().down()

    # what people do

    def say(self, text: str, chat: str = PRIVATE, user: str = "",
            **fields: Any) -> str:
        """A person writes; the message's id."""
        return self.post("text", {"text": text}, chat, user, **fields)

    def post(self, kind: str, content: Any, chat: str = PRIVATE,
             user: str = "", **fields: Any) -> str:
        """A person sends a message of a kind."""
        with self._changed:
            user = user or ("ou_" + chat.removeprefix("oc_")
                            if not self.world.chat(chat) else ALICE)
            self.world.people.setdefault(user, user)
            message = self.world.add(chat, {
                "id": user, "id_type": "open_id", "sender_type": "user"},
                kind, content, **fields)
        self.send_event("im.message.receive_v1", self._tell(message))
        return str(message["message_id"])

    def _tell(self, message: Json) -> Json:
        """A message as an event says it."""
        mentions = [{"key": m["key"], "name": m["name"], "id": {
            "open_id": m["id"], "user_id": "", "union_id": ""}}
            for m in message.get("mentions", ())]
        return {
            "sender": {"sender_id": {"open_id": message["sender"]["id"],
                                     "union_id": "on_x", "user_id": None},
                       "sender_type": "user", "tenant_key": "t"},
            "message": {
                "message_id": message["message_id"],
                "create_time": message["create_time"],
                "chat_id": message["chat_id"],
                "chat_type": "group" if self.world.chat(message["chat_id"])
                else "p2p", "message_type": message["msg_type"],
                "content": message["body"]["content"],
                **({"mentions": mentions} if mentions else {}),
                **{key: message[key] for key in (
                    "root_id", "parent_id", "thread_id")
                   if message.get(key)}}}

    def press(self, message_id: str, action: str, user: str = ALICE
              ) -> Event:
        """A person presses a button under a card."""
        with self._changed:
            message = self.world.find(message_id)
            assert action in [a for _, a in buttons(message)]
        return self.send_event("card.action.trigger", {
            "operator": {"open_id": user, "tenant_key": "t"},
            "token": "c-1", "host": "im_message",
            "action": {"tag": "button", "value": {"claw": action}},
            "context": {"open_message_id": message_id,
                        "open_chat_id": message["chat_id"]}})

    def send_event(self, kind: str, event: Any) -> Event:
        return self.send_payload({
            "schema": "2.0", "event": event,
            "header": {"event_id": uuid.uuid4().hex, "event_type": kind,
                       "create_time": str(int(time.time() * 1000)),
                       "token": "v", "app_id": APP_ID, "tenant_key": "t"}})

    def send_payload(self, payload: Any) -> Event:
        found = Event(uuid.uuid4().hex, payload)
        if self.tells:
            with self._changed:
                self.events.append(found)
            self._wake()
        return found

    # what the app did

    def messages(self, chat: str | None = None) -> list[Json]:
        """The app's messages, in order of appearance."""
        with self._changed:
            return [m for m in self.world.messages
                    if m["sender"]["id"] == APP_ID
                    and chat in (None, m["chat_id"])]

    def answers(self, chat: str | None = None) -> list[str]:
        """What people read of them."""
        return [show(m) for m in self.messages(chat)]

    def list_calls(self, name: str) -> list[Call]:
        return [c for c in list(self.calls) if c.name == name]

    def pending(self) -> list[Event]:
        """What is not acknowledged."""
        with self._changed:
            return [e for e in self.events if not e.acked]

    @property
    def problems(self) -> list[str]:
        return self._problems + self._server.errors + self.sockets.errors

    # what goes wrong (and `fault`, `latency_s`)

    def kill_connections(self) -> int:
        return super().kill_connections() + self.sockets.kill_connections()

    def send_frame(self, frame: str | bytes) -> None:
        """Anything, to every connection."""
        for connection in list(self.sockets.connections):
            self.sockets.run(connection.send(frame))

    def resend(self) -> None:
        """Send again what is not acknowledged."""
        with self._changed:
            for event in self.events:
                event.sent_to = None
        self._wake()

    def end_tokens(self) -> None:
        """No token counts any more."""
        with self._changed:
            self._valid.clear()

    # the long connection

    def _refuse(self, request: Any) -> int | None:
        ticket = request.path.rpartition("ticket=")[2]
        with self._changed:
            if ticket in self._tickets:
                self._tickets.discard(ticket)
                return None
        return 403

    async def _serve(self, connection: ServerConnection) -> None:
        await self._deliver()
        try:
            async for data in connection:
                frame = decode(data if isinstance(data, bytes) else b"")
                if frame.method == DATA:
                    self._acknowledge(frame)
                    continue
                with self._changed:
                    self.pings += 1
                    if frame.header("type") != "ping" or frame.service != 7:
                        self._problems.append(f"a control frame: {frame}")
                await connection.send(encode(Frame(
                    service=7, method=CONTROL, headers=(("type", "pong"),),
                    payload=json.dumps(self.config).encode())))
        finally:
            with self._changed:
                for event in self.events:
                    if event.sent_to is connection:
                        event.sent_to = None
            self._wake()

    def _acknowledge(self, frame: Frame) -> None:
        with self._changed:
            answer = json.loads(frame.payload)
            for event in self.events:
                if event.number == frame.header("message_id"):
                    event.acked = answer["code"] == 200
                    if "data" in answer:
                        self.world.toasts.append(json.loads(
                            base64.b64decode(answer["data"])))
                    if not frame.header("biz_rt"):
                        self._problems.append("an ack without biz_rt")
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
        for event in self.pending():
            if event.sent_to in self.sockets.connections and (
                    time.monotonic() < event.sent_at + self.retry_s):
                continue
            everyone = sorted(self.sockets.connections, key=id)
            if not everyone:
                return
            self._turn += 1
            event.sent_to = everyone[self._turn % len(everyone)]
            event.sent_at = time.monotonic()
            event.attempts += 1
            try:
                for frame in self._cut(event):
                    await event.sent_to.send(encode(frame))
            except ConnectionClosed:
                event.sent_to = None
        if self.pending() and self._running:
            asyncio.get_running_loop().call_later(self.retry_s, self._soon)

    def _cut(self, event: Event) -> list[Frame]:
        data = event.payload if isinstance(event.payload, bytes) \
            else json.dumps(event.payload).encode()
        size = self.part_bytes or len(data) or 1
        pieces = [data[n:n + size] for n in range(0, len(data), size)] \
            or [b""]
        return [Frame(
            seq_id=n + 1, log_id=1, service=7, method=DATA, headers=(
                ("type", "event"), ("message_id", event.number),
                ("sum", str(len(pieces))), ("seq", str(n)),
                ("trace_id", "t1")), payload=piece)
            for n, piece in enumerate(pieces)]

    # the Open API

    def _handle(self, request: Request) -> Answer:
        path = request.path.removeprefix("/open-apis/").strip("/")
        name, do = self._find(request.method, path)
        form = "multipart" in request.headers.get("content-type", "")
        try:
            body = {} if form else json.loads(request.body or b"{}")
        except ValueError:
            body = {}
        call = Call(name, path, dict(parse_qsl(request.query)), body,
                    request.body)
        token = request.headers.get("authorization", "").removeprefix(
            "Bearer ")
        with self._changed:
            self.calls.append(call)
            self._changed.notify_all()

        async def answer() -> Reply:
            return self._do(call, do, token)
        return self._slowly(answer, self._faults.take(name), _refusal)

    def _find(self, method: str, path: str) -> tuple[str, Any]:
        if path == "callback/ws/endpoint":
            return "endpoint", self._open
        if path == "auth/v3/tenant_access_token/internal":
            return "token", self._give_token
        for verb, pattern, name, do in METHODS:
            if verb == method and re.fullmatch(pattern, path):
                return name, do
        if path == "bot/v3/info":
            return "me", None
        return ("resource" if "/resources/" in path else "unknown"), None

    def _do(self, call: Call, do: Any, token: str) -> Reply:
        with self._changed:
            try:
                if call.name in ("endpoint", "token"):
                    return _reply({"code": 0, "msg": "ok", **do(call)})
                if self._valid.get(token, 0) <= time.monotonic():
                    raise ApiError(99991663, "Invalid access token for "
                                             "authorization")
                if call.name == "me":
                    return _reply({"code": 0, "msg": "ok",
                                   "bot": bot_info(self.active)})
                if call.name == "resource":
                    return self._download(call)
                if do is None:
                    self._problems.append(f"an unknown call: {call.path}")
                    return Reply(404, b"404 page not found", "text/plain")
                return _reply({"code": 0, "msg": "success",
                               "data": do(self.world, call)})
            except ApiError as error:
                return _reply({"code": error.code, "msg": error.msg},
                              error.status)
            finally:
                self._changed.notify_all()

    def _open(self, call: Call) -> Json:
        if self.endpoint_code is not None:
            code, msg = self.endpoint_code
            raise ApiError(code, msg, 200)
        if (call.body.get("AppID"), call.body.get("AppSecret")) \
                != (self.app_id, self.secret):
            raise ApiError(10014, "app secret invalid", 200)
        ticket = uuid.uuid4().hex
        self._tickets.add(ticket)
        return {"data": {
            "URL": f"{self.sockets.url}/ws/v2?device_id=1&service_id=7"
                   f"&ticket={ticket}", "ClientConfig": self.config}}

    def _give_token(self, call: Call) -> Json:
        if (call.body.get("app_id"), call.body.get("app_secret")) \
                != (self.app_id, self.secret):
            raise ApiError(10014, "app secret invalid", 200)
        self.tokens += 1
        token = f"{TOKEN}{self.tokens:04d}"
        self._valid[token] = time.monotonic() + self.token_s
        return {"tenant_access_token": token, "expire": self.token_s}

    def _download(self, call: Call) -> Reply:
        data = self.world.contents.get(call.path.rpartition("/")[2])
        if data is None:
            raise ApiError(234003, "File not in msg.")
        return Reply(200, data, "application/octet-stream")

    def _state(self) -> str:
        return (f"{len(self.calls)} calls, the last "
                f"{[c.name for c in self.calls[-8:]]}; {len(self.pending())}"
                f" events pending; {len(self.sockets.connections)} sockets; "
                f"answers {[a[:60] for a in self.answers()[-5:]]}; "
                f"problems {self.problems[:5]}")


def _refusal(fault: Fault) -> Reply:
    """What the platform says to a call that a fault struck."""
    if fault.kind == "429":
        return _reply({"code": 99991400, "msg": "request trigger frequency "
                       "limit"}, 400, [("x-ogw-ratelimit-reset",
                                        str(fault.retry_after))])
    code = (fault.parameters or {}).get("code", {
        401: 99991663, 500: 1000040343}.get(fault.status, 230001))
    return _reply({"code": code, "msg": fault.description or "no"},
                  fault.status)


def _reply(body: Json, status: int = 200,
           headers: list[tuple[str, str]] | None = None) -> Reply:
    return Reply(status, json.dumps(body).encode(),
                 headers=tuple(headers or ()))
