"""The fake platform: a server for the bot, controls for the test.

The controls may be called from any thread; all state is kept under one
lock.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from claw.testing.fake_gateway import Behaviour, Gateway, Session
from claw.testing.fake_qq.world import ApiError, Json, Rules, Sent, World
from claw.testing.fake_server import FakeServer
from claw.testing.fake_sockets import SocketServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request

BOT_ID = "10000001"
ALICE = "E4F4AEA33253A2797FB897C50B81D7ED"
ALICE_IN_GROUP = "A1F4AEA33253A2797FB897C50B81D7ED"
GROUP = "C9F778FE6ADF9D1D1DBE395BF744A33A"
_MESSAGES = re.compile(
    r"/(?:v2/)?(users|groups|channels|dms)/([^/]+)/(messages|files)")
_MOMENT_S = 0.3
_KNOWN_INTENTS = (1 << 31) - 1


@dataclass
class Call:
    """A call of the bot's; `operation` names it in faults."""

    operation: str
    path: str
    body: Json


class FakeQq(FakeServer):
    """The platform, running inside a `with` block. Faults are named by
    operation: token, gateway, me, message, upload, press. `clock` says when
    a message is too old to be answered. With `patient` people write once
    the bot has been there for a moment: what a session is given that nobody
    knows of is lost, as it is with QQ."""

    patient = False

    def __init__(self, *, port: int = 0, latency_s: float = 0.0,
                 clock: Callable[[], float] = time.time) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.app_id, self.secret = "102012345", "DG5g3B4j9X2KOErG-secret"
        self.token = "access-token-of-the-bot-1"
        self.life_s: Any = "7200"
        self.calls: list[Call] = []
        self.starts_left = 1000
        self.world = World(clock)
        self._server.clock = clock
        self._problems: list[str] = []
        self._tokens = 1
        self._bots: dict[str, Json] = {}
        self._admit()
        self._gateway = Gateway(self._bots, self._ready, list, self._changed,
                                self._notify)
        self._gateway.behaviour.known_intents = _KNOWN_INTENTS
        self._sockets = SocketServer(self._gateway.serve)
        self._sockets_run = False
        self._early: list[tuple[str, Json]] = []

    def up(self) -> None:
        super().up()
        if not self._sockets_run:
            self._sockets.start(self.host)
            self._sockets_run = True

    def down(self) -> None:
        if self._sockets_run:
            self._sockets_run = False
            self._sockets.stop()
        super().down()

    def kill_connections(self) -> int:
        return super().kill_connections() + self._sockets.kill_connections()

    @property
    def token_url(self) -> str:
        return self.url + "/app/getAppAccessToken"

    @property
    def gateway_url(self) -> str:
        return self._sockets.url + "/websocket/"

    @property
    def connections(self) -> int:
        return super().connections + len(self._sockets.connections)

    # what people do

    def message(self, text: str, *, user: str = ALICE, group: str = "",
                **fields: Any) -> tuple[str, Json]:
        """The event of a message and its data; it is known from now on."""
        with self._changed:
            number = self.world.draw_id()
            chat = f"groups/{group}" if group else f"users/{user}"
            self.world.came[number] = chat, self.world.clock()
            at = time.strftime("%Y-%m-%dT%H:%M:%S+08:00", time.gmtime(
                self.world.clock() + 8 * 3600))
            author = {"member_openid": user, "id": user} if group else {
                "user_openid": user, "id": user}
            data = {"id": number, "content": f" {text}" if group else text,
                    "timestamp": at, "author": author, "attachments": [],
                    **({"group_openid": group} if group else {}), **fields}
            return ("GROUP_AT_MESSAGE_CREATE" if group
                    else "C2C_MESSAGE_CREATE"), data

    def say(self, text: str, **given: Any) -> str:
        """A person writes; the message's id."""
        kind, data = self.message(text, **given)
        self.dispatch(kind, data)
        return str(data["id"])

    def press_event(self, action: str, *, user: str = ALICE,
                    group: str = "") -> tuple[str, Json]:
        """The event of a pressed button and its data."""
        with self._changed:
            number = f"30540ff7-{len(self.world.presses)}"
            self.world.presses[number] = None
            self.world.came[number] = (
                f"groups/{group}" if group else f"users/{user}",
                self.world.clock())
            who = {"group_openid": group, "group_member_openid": user} \
                if group else {"user_openid": user}
            return "INTERACTION_CREATE", {
                "id": number, "type": 11, "version": 1,
                "chat_type": 1 if group else 2,
                "scene": "group" if group else "c2c",
                "data": {"type": 11, "resolved": {
                    "button_data": action, "button_id": "1"}}, **who}

    def press(self, action: str, **given: Any) -> str:
        """A person presses a button; the event's id."""
        kind, data = self.press_event(action, **given)
        self.dispatch(kind, data)
        return str(data["id"])

    def add_file(self, content: bytes, name: str, content_type: str,
                 **fields: Any) -> Json:
        """A file on QQ's servers; an attachment to write with."""
        with self._changed:
            path = f"/download/{len(self.world.files)}/{name}"
            self.world.files[path] = content
            return {"url": self.url + path, "filename": name,
                    "content_type": content_type, "size": len(content),
                    **fields}

    def dispatch(self, kind: str, data: Json, **more: Any) -> None:
        """Any event, to everybody who is connected or may resume."""
        with self._changed:
            if self.patient:
                self._early.append((kind, data))
                return
            self._gateway.dispatch(kind, json.loads(json.dumps(data)),
                                   self._sockets.call_soon, **{
                                       "id": f"{kind}:1", **more})
            self._changed.notify_all()

    # what the bot did

    def messages(self, chat: str | None = None) -> list[Sent]:
        with self._changed:
            return [sent for sent in self.world.sent
                    if chat in (None, sent.chat)]

    def answers(self, chat: str = f"users/{ALICE}") -> list[str]:
        return [sent.text for sent in self.messages(chat)]

    def list_calls(self, operation: str) -> list[Call]:
        return [c for c in list(self.calls) if c.operation == operation]

    @property
    def rules(self) -> Rules:
        return self.world.rules

    @property
    def behaviour(self) -> Behaviour:
        return self._gateway.behaviour

    @property
    def sessions(self) -> list[Session]:
        with self._changed:
            return list(self._gateway.sessions.values())

    @property
    def frames(self) -> list[Json]:
        with self._changed:
            return list(self._gateway.frames)

    @property
    def closes(self) -> list[int | None]:
        with self._changed:
            return list(self._gateway.closes)

    @property
    def problems(self) -> list[str]:
        return (self._problems + self._server.errors
                + self._sockets.errors)

    # what goes wrong (and `fault`, `behaviour`, `rules`)

    def end_token(self) -> None:
        """The token is no longer good; another one is given out."""
        with self._changed:
            self._tokens += 1
            self.token = f"access-token-of-the-bot-{self._tokens}"
            self._bots.clear()
            self._admit()

    def forget_sessions(self) -> None:
        with self._changed:
            self._gateway.sessions.clear()

    def tell(self, op: int, data: Any = None) -> None:
        """A control frame for every connection: 1, 7, 9."""
        self._sockets.run(self._gateway.say({"op": op, "d": data}))

    def close(self, code: int) -> None:
        """Close every connection with a code."""
        self._sockets.run(self._gateway.close(code))

    def cut(self) -> None:
        """Cut every connection without a goodbye."""
        self._sockets.kill_connections()

    # the server's side

    def _admit(self) -> None:
        self._bots[f"QQBot {self.token}"] = {
            "id": BOT_ID, "username": "claw", "bot": True}

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _say_early(self) -> None:
        """What waits, once somebody is connected who was a moment ago."""
        with self._changed:
            if not self.patient:
                return
            if not self._sockets.connections:
                self._say_soon()
                return
            self.patient = False
            for kind, data in self._early:
                self.dispatch(kind, data)

    def _say_soon(self) -> None:
        self._sockets.call_soon(lambda: asyncio.get_running_loop(
            ).call_later(_MOMENT_S, self._say_early))

    def _ready(self, session_id: str, me: Json) -> Json:
        self._say_soon()
        return {"version": 1, "session_id": session_id, "user": me,
                "shard": [0, 1]}

    def _handle(self, request: Request) -> Answer:
        if request.path in self.world.files:
            return Reply(body=self.world.files[request.path],
                         content_type="application/octet-stream")
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            body = {}
        call = Call(_name(request), request.path, body)
        with self._changed:
            self.calls.append(call)
            self._changed.notify_all()
        if call.operation != "token" and request.headers.get(
                "authorization") not in self._bots:
            return _refuse(ApiError(401, 11244, "token not exist or expire"))
        fault = self._faults.take(call.operation)

        async def do() -> Reply:
            return self._do(call)
        if fault is None and not self.latency_s:
            return self._do(call)
        return self._slowly(do, fault, _refusal)

    def _do(self, call: Call) -> Reply:
        with self._changed:
            try:
                result = self._perform(call)
            except ApiError as error:
                return _refuse(error)
            finally:
                self._changed.notify_all()
        return Reply(202 if result.get("code") == 304023 else 200,
                     body=json.dumps(result).encode())

    def _perform(self, call: Call) -> Json:
        if call.operation == "token":
            if call.body != {"appId": self.app_id,
                             "clientSecret": self.secret}:
                return {"code": 100016, "message": "invalid appid or secret"}
            return {"access_token": self.token, "expires_in": self.life_s}
        if call.operation == "gateway":
            return {"url": self.gateway_url, "shards": 1,
                    "session_start_limit": {
                        "total": 1000, "remaining": self.starts_left,
                        "reset_after": 86_400_000, "max_concurrency": 1}}
        if call.operation == "me":
            return {"id": BOT_ID, "username": "claw"}
        if call.operation == "press":
            self.world.presses[call.path.rpartition("/")[2]] = \
                call.body.get("code")
            return {}
        if found := _MESSAGES.fullmatch(call.path):
            chat = f"{found[1]}/{found[2]}"
            return self.world.upload(chat, call.body) \
                if found[3] == "files" else self.world.post(chat, call.body)
        self._problems.append(f"no such call: {call.path}")
        raise ApiError(404, 0, "not found")

    def _state(self) -> str:
        return (f"calls {[c.path for c in self.calls][-10:]}, "
                f"frames {self.frames[-5:]}, problems {self.problems}")


def _name(request: Request) -> str:
    path = request.path
    if path == "/app/getAppAccessToken":
        return "token"
    if path in ("/gateway", "/gateway/bot"):
        return "gateway"
    if path == "/users/@me":
        return "me"
    if path.startswith("/interactions/") and request.method == "PUT":
        return "press"
    found = _MESSAGES.fullmatch(path)
    if found is None:
        return "unknown"
    return "upload" if found[3] == "files" else "message"


def _refuse(error: ApiError) -> Reply:
    body: Json = {"message": error.message, "trace_id": "0" * 32}
    if error.code:
        body.update(code=error.code, err_code=error.code)
    return Reply(error.status, json.dumps(body).encode())


def _refusal(fault: Fault) -> Reply:
    reply = _refuse(ApiError(
        fault.status, int((fault.parameters or {}).get("code", 0)),
        fault.description or "refused"))
    if fault.kind == "429":
        return Reply(429, reply.body, headers=(
            ("Retry-After", str(fault.retry_after)),))
    return reply


__all__ = ["ALICE", "ALICE_IN_GROUP", "BOT_ID", "GROUP", "FakeQq"]
