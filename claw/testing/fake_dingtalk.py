"""A DingTalk on 127.0.0.1: the API, the older API, session webhooks and
stream mode on two ports, for tests of bots.

    with FakeDingtalk() as platform:
        platform.say("hello")                # to who listens then
        platform.answers()

What nobody is connected for is lost, as there; what was handed over and is
not acknowledged comes again after `retry_s`, to the next connection.
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from claw.testing.fake_server import FakeServer
from claw.testing.fake_sockets import SocketServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request

CLIENT_ID, SECRET = "dingofthefake", "secret-" + "of-the-fake-dingtalk"
ALICE = "user1001"
GROUP = "cidGroupOfTheFake00000001=="
TOPIC = "/v1.0/im/bot/messages/get"
BOT = "$:LWCP_v1:$BotOfTheFake"
_CORP = "ding1111"
_IMAGE = re.compile(r"!\[[^\]\u2060]*\]\(")
_LINK = re.compile(r"\]\((?!https?://|mailto:|dtmd://dingtalkclient/"
                   r"sendMessage\?content=%E2%96%B8)[^)]*\)")
_NO_TOKEN = {"code": "InvalidAuthentication", "message": "no such token"}
Json = dict[str, Any]


@dataclass
class Frame:
    """What waits to be acknowledged."""

    number: str
    body: Json
    chat: str = ""
    attempts: int = 0
    sent_to: ServerConnection | None = None
    sent_at: float = 0.0
    acked: bool = False


@dataclass
class Session:
    """A session webhook."""

    chat: str
    until: float


@dataclass
class Message:
    """What the bot said: `via` is "session", "oto" or "group"."""

    chat: str
    via: str
    text: str
    title: str = ""
    kind: str = "sampleMarkdown"
    data: Json = field(default_factory=dict)
    content: bytes = b""


class FakeDingtalk(FakeServer):
    """The platform, running inside a `with` block. `rights` says whether
    the app may use the robot API."""

    def __init__(self, *, port: int = 0, latency_s: float = 0.0,
                 retry_s: float = 60.0, token_s: int = 7200,
                 session_s: float = 5400.0) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.client_id, self.secret = CLIENT_ID, SECRET
        self.retry_s, self.token_s, self.session_s = (
            retry_s, token_s, session_s)
        self.rights = True
        self.sockets = SocketServer(self._serve, refuse=self._refuse)
        self.frames: list[Frame] = []
        self.acks: list[Json] = []
        self.lost: list[str] = []
        self.sent: list[Message] = []
        self.calls: list[tuple[str, Json]] = []
        self.reactions: list[tuple[str, Json]] = []
        self.files: dict[str, bytes] = {}
        self.media: dict[str, bytes] = {}
        self.sessions: dict[str, Session] = {}
        self.tokens: set[str] = set()
        self.strangers: set[str] = set()  # user ids that nobody has
        self.slow_s = 0.0  # what a file takes
        self._tickets: set[str] = set()
        self._turn = 0
        self._waiting: list[Callable[[], object]] = []
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

    def build(self, text: str, user: str = ALICE, /, *, group: str = "",
              **fields: Any) -> Json:
        """A message's data; `fields` replace and add, None takes away."""
        number = uuid.uuid4().hex
        data = {
            "conversationId": group or private(user), "senderNick": user,
            "conversationType": "2" if group else "1",
            "chatbotCorpId": _CORP, "senderCorpId": _CORP,
            "chatbotUserId": BOT, "msgId": f"msg{number}==",
            "senderStaffId": user, "senderId": f"$:LWCP_v1:${user}",
            "isAdmin": False, "createAt": int(time.time() * 1000),
            "sessionWebhook": self.open_session(group or user),
            "sessionWebhookExpiredTime": int(
                (time.time() + self.session_s) * 1000),
            "robotCode": self.client_id, "msgtype": "text",
            "text": {"content": text}, **fields}
        if group:
            data |= {"isInAtList": True, "conversationTitle": "a group",
                     "atUsers": [{"dingtalkId": BOT}], **fields}
        return {key: value for key, value in data.items()
                if value is not None}

    def open_session(self, chat: str) -> str:
        """The address of a new session webhook."""
        token = uuid.uuid4().hex
        self.sessions[token] = Session(chat, time.time() + self.session_s)
        return f"{self.url}/robot/sendBySession?session={token}"

    def say(self, text: str, user: str = ALICE, /, *, group: str = "",
            **fields: Any) -> Frame | None:
        """A person writes; None where nobody listens: it is lost."""
        return self.push(self.build(text, user, group=group, **fields))

    def say_once_there(self, text: str, user: str) -> None:
        """A person writes, as soon as the bot is connected."""
        with self._changed:
            if self.sockets.connections and not self._waiting:
                self.say(text, user)
                return
            self._waiting.append(partial(self.say, text, user))
        self._wake()

    def push(self, data: Any, topic: str = TOPIC, kind: str = "CALLBACK"
             ) -> Frame | None:
        """Hand a frame to one of the connections."""
        number = uuid.uuid4().hex
        frame = Frame(number, {
            "specVersion": "1.0", "type": kind, "headers": {
                "appId": "a1", "connectionId": "c1", "topic": topic,
                "contentType": "application/json", "messageId": number,
                "time": str(int(time.time() * 1000))},
            "data": data if isinstance(data, str) else json.dumps(data)},
            str(data.get("conversationId")) if isinstance(data, dict)
            else "")
        with self._changed:
            if not self.sockets.connections:
                self.lost.append(str(frame.body["data"]))
                return None
            self.frames.append(frame)
        self._wake()
        return frame

    def add_file(self, data: bytes) -> str:
        """A file that somebody sent; its downloadCode."""
        code = "code" + uuid.uuid4().hex
        self.files[code] = data
        return code

    def ask_system(self, topic: str, data: Json | None = None) -> None:
        """A SYSTEM frame to every connection."""
        for connection in list(self.sockets.connections):
            self.send_frame(json.dumps({
                "specVersion": "1.0", "type": "SYSTEM", "headers": {
                    "topic": topic, "messageId": f"sys-{uuid.uuid4().hex}",
                    "contentType": "application/json"},
                "data": json.dumps(data or {})}), connection)

    def send_frame(self, frame: str | bytes,
                   connection: ServerConnection | None = None) -> None:
        """Anything, to one connection or all."""
        for one in [connection] if connection \
                else list(self.sockets.connections):
            self.sockets.run(one.send(frame))

    # what the bot did

    def messages(self, chat: str | None = None) -> list[Message]:
        with self._changed:
            return [m for m in self.sent if chat in (None, m.chat)]

    def answers(self, chat: str | None = None) -> list[str]:
        """What people read."""
        return [show(m.text) for m in self.messages(chat)]

    def pending(self) -> list[Frame]:
        with self._changed:
            return [f for f in self.frames if not f.acked]

    def previews(self) -> int:
        """Messages with an image of somewhere else."""
        return sum(bool(_IMAGE.search(m.text)) for m in self.messages())

    def list_calls(self, name: str) -> list[Json]:
        return [body for called, body in list(self.calls) if called == name]

    @property
    def problems(self) -> list[str]:
        return self._problems + self._server.errors + self.sockets.errors

    # what goes wrong (and `fault`, `latency_s`)

    def kill_connections(self) -> int:
        return super().kill_connections() + self.sockets.kill_connections()

    def close_sockets(self, connections: Any = None) -> None:
        for connection in list(connections or self.sockets.connections):
            self.sockets.run(connection.close())

    def resend(self) -> None:
        """Send again what is not acknowledged."""
        with self._changed:
            for frame in self.frames:
                frame.sent_to = None
        self._wake()

    # stream mode

    def _refuse(self, request: Any) -> int | None:
        ticket = unquote_plus(request.path.rpartition("ticket=")[2])
        with self._changed:
            if ticket in self._tickets:
                self._tickets.discard(ticket)
                return None
        return 401

    async def _serve(self, connection: ServerConnection) -> None:
        await self._deliver()
        try:
            async for frame in connection:
                self._acknowledge(json.loads(frame))
        finally:
            with self._changed:
                for one in self.frames:
                    if one.sent_to is connection:
                        one.sent_to = None
            self._wake()

    def _acknowledge(self, ack: Json) -> None:
        with self._changed:
            number = ack.get("headers", {}).get("messageId", "")
            if ack.get("code") != 200 or not isinstance(
                    ack.get("data"), str):
                self._problems.append(f"an ack of another form: {ack}")
            self.acks.append(ack)
            known = [f for f in self.frames if f.number == number]
            for frame in known:
                frame.acked = True
            if not known and not number.startswith("sys-"):
                self._problems.append(f"an ack of nothing: {ack}")
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
        if self.sockets.connections:
            with self._changed:
                waiting, self._waiting = self._waiting, []
            for work in waiting:
                work()
        holding: dict[str, ServerConnection] = {}
        for frame in self.pending():
            if frame.sent_to in self.sockets.connections and (
                    time.monotonic() < frame.sent_at + self.retry_s):
                holding[frame.chat] = frame.sent_to
                continue
            everyone = sorted(self.sockets.connections, key=id)
            if not everyone:
                return
            self._turn += 1
            # Behind what waits there: a chat keeps its order.
            frame.sent_to = holding.setdefault(
                frame.chat, everyone[self._turn % len(everyone)])
            frame.sent_at = time.monotonic()
            frame.attempts += 1
            try:
                await frame.sent_to.send(json.dumps(frame.body))
            except ConnectionClosed:
                frame.sent_to = None
                return  # what is behind it goes with it
        if self.pending() and self._running:
            asyncio.get_running_loop().call_later(self.retry_s, self._soon)

    # over HTTP

    def _handle(self, request: Request) -> Answer:
        name = {
            "/v1.0/gateway/connections/open": "open",
            "/v1.0/oauth2/accessToken": "token",
            "/robot/sendBySession": "session",
            "/v1.0/robot/oToMessages/batchSend": "oto",
            "/v1.0/robot/groupMessages/send": "group",
            "/v1.0/robot/messageFiles/download": "download",
            "/v1.0/robot/emotion/reply": "emotion/reply",
            "/v1.0/robot/emotion/recall": "emotion/recall",
            "/media/upload": "upload"}.get(request.path)
        if request.path.startswith("/files/"):
            return self._slowly(partial(self._give, request),
                                self._faults.take("file"), _refusal)
        if name is None:
            return Reply(404, b'{"code":"InvalidAction.NotFound"}')

        async def do() -> Reply:
            with self._changed:
                try:
                    return self._do(name, request)
                finally:
                    self._changed.notify_all()
        return self._slowly(do, self._faults.take(name), _refusal)

    def _do(self, name: str, request: Request) -> Reply:
        if name == "upload":
            return self._upload(request)
        body = json.loads(request.body)
        self.calls.append((name, body))
        if name == "session":
            return self._say_by_session(request, body)
        if name in ("open", "token"):
            keys = ("clientId", "clientSecret") if name == "open" \
                else ("appKey", "appSecret")
            if tuple(map(body.get, keys)) != (self.client_id, self.secret):
                return _json({"code": "invalidClientIdOrSecret",
                              "message": "no such client"}, 400)
            return self._open() if name == "open" else self._give_token()
        if request.headers.get(
                "x-acs-dingtalk-access-token") not in self.tokens:
            return _json(_NO_TOKEN, 401)
        if body.get("robotCode") != self.client_id:
            return _json({"code": "robot.notExist", "message": "?"}, 400)
        if name == "download":
            code = body.get("downloadCode")
            if code not in self.files:
                return _json({"code": "invalidParameter", "message":
                              "downloadCode"}, 400)
            return _json({"downloadUrl": f"{self.url}/files/{code}"})
        if name.startswith("emotion/"):
            self.reactions.append((name.partition("/")[2], body))
            return _json({"success": True})
        return self._say_by_robot(name, body)

    def _open(self) -> Reply:
        ticket = f"t+{uuid.uuid4().hex}/="
        self._tickets.add(ticket)
        return _json({"endpoint": f"{self.sockets.url}/connect",
                      "ticket": ticket})

    def _give_token(self) -> Reply:
        token = uuid.uuid4().hex
        self.tokens.add(token)
        return _json({"accessToken": token, "expireIn": self.token_s})

    def _say_by_session(self, request: Request, body: Json) -> Reply:
        token = request.query.partition("session=")[2]
        session = self.sessions.get(token)
        if session is None or session.until < time.time():
            return _json({"errcode": 310000, "errmsg": "session is over"})
        if len(request.body) > 20_000:
            self._problems.append("a body of more than 20,000 bytes")
            return _json({"errcode": 460101, "errmsg": "message too long"})
        said = body["markdown"]
        self._note(Message(session.chat, "session", said["text"],
                           said["title"], data=body))
        return _json({"errcode": 0, "errmsg": "ok"})

    def _say_by_robot(self, name: str, body: Json) -> Reply:
        if not self.rights:
            return _json({
                "code": "Forbidden.AccessDenied.AccessTokenPermissionDenied",
                "message": "qyapi_robot_sendmsg"}, 403)
        param = json.loads(body["msgParam"])
        if len(body["msgParam"].encode()) > 15_000:
            self._problems.append("a msgParam of more than 15,000 bytes")
            return _json({"code": "invalidParameter.msgParam"}, 400)
        chat = body["openConversationId"] if name == "group" \
            else body["userIds"][0]
        key = f"key{uuid.uuid4().hex}"
        if chat in self.strangers:
            return _json({"processQueryKey": key, "invalidStaffIdList":
                          [chat], "flowControlledStaffIdList": []})
        media = param.get("mediaId") or param.get("photoURL") or ""
        if body["msgKey"] != "sampleMarkdown" and media not in self.media:
            return _json({"code": "invalidParameter.mediaId"}, 400)
        self._note(Message(chat, name, param.get("text", ""),
                           param.get("title", ""), body["msgKey"], param,
                           self.media.get(media, b"")))
        return _json({"processQueryKey": key, "invalidStaffIdList": [],
                      "flowControlledStaffIdList": []})

    def _note(self, message: Message) -> None:
        if found := _LINK.search(message.text):
            self._problems.append(f"a link to no page: {found[0][:80]}")
        self.sent.append(message)

    def _upload(self, request: Request) -> Reply:
        query = parse_qs(request.query)
        if query.get("access_token", [""])[0] not in self.tokens:
            return _json({"errcode": 40014, "errmsg": "no such token"})
        _, _, content = request.body.partition(b"\r\n\r\n")
        content = content[:content.rindex(b"\r\n--")]
        media = f"@{query['type'][0]}{uuid.uuid4().hex}"
        self.media[media] = content
        return _json({"errcode": 0, "errmsg": "ok", "media_id": media,
                      "type": query["type"][0]})

    async def _give(self, request: Request) -> Reply:
        await asyncio.sleep(self.slow_s)
        if "x-acs-dingtalk-access-token" in request.headers:
            self._problems.append("a download with the token")
        data = self.files.get(request.path.rpartition("/")[2])
        return Reply(404, b"") if data is None \
            else Reply(200, data, "application/octet-stream")

    def _state(self) -> str:
        return (f"{len(self.calls)} calls, the last "
                f"{[name for name, _ in self.calls[-8:]]}; "
                f"{len(self.pending())} frames pending; "
                f"{len(self.sockets.connections)} sockets; answers "
                f"{[a[:60] for a in self.answers()[-5:]]}; lost "
                f"{len(self.lost)}; problems {self.problems[:5]}")


def private(user: str) -> str:
    """The id of somebody's conversation with the bot."""
    return f"cidPrivate{user}=="


def show(text: str) -> str:
    """What is read of Markdown: without word joiners, and lines that end
    in two blanks."""
    return text.replace("\u2060", "").replace("  \n", "\n").replace(
        "**", "").replace("`", "")


def _json(body: Json, status: int = 200) -> Reply:
    return Reply(status, json.dumps(body).encode())


def _refusal(fault: Fault) -> Reply:
    if fault.kind == "429":
        return Reply(429, json.dumps({
            "code": "Throttling.Api", "message": "slow down"}).encode(),
            headers=(("Retry-After", str(fault.retry_after)),))
    codes = {400: "invalidParameter", 401: "InvalidAuthentication"}
    if fault.description is None and fault.status not in codes:
        return Reply(fault.status, b"upstream trouble", "text/plain")
    return _json({"code": fault.description or codes[fault.status],
                  "message": "refused"}, fault.status)
