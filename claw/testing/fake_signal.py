"""signal-cli's HTTP daemon with Signal behind it, for tests.

    with FakeSignal() as platform:
        platform.post("hello")         # alice writes
        platform.sent[0].text          # what the bot sent

As the real one with `--receive-mode on-connection`: what is written while
nobody is connected waits, what was handed over is forgotten, every stream
gets everything, nothing says who reads. Source: AsamK/signal-cli, 0.13.19
(tests/peers/test_signal_daemon.py asks both the same) and 0.14.6.
"""

import asyncio
import base64
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote

from claw.testing.fake_server import FakeServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Connection, Reply, Request

ACCOUNT = "+4930000001"
ALICE = "+4930000002"
ALICE_ACI = "a11ce000-0000-4000-8000-000000000002"
OWN_ACI = "c1a00000-0000-4000-8000-000000000001"
GROUP = "Z3JvdXAgb2YgdGhlIHRlc3RzLCAzMiBieXRlcy4uLi4="
_KEEP_ALIVE = b":\n"
Json = dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """A message of the bot's; `files` are (name, type, bytes)."""

    chat: str
    text: str
    timestamp: int
    params: Json = field(default_factory=dict)
    files: tuple[tuple[str, str, bytes], ...] = ()


class FakeSignal(FakeServer):
    """`accounts` are the daemon's; with `single` it was started with -a.
    `waiting` are the events that nobody was there for. With `keeps_s` it
    gives again what it handed over so shortly before a stream broke: the
    real one does not, so that what was on its way is gone. `problems` are
    calls that the real one would refuse."""

    def __init__(self, *, version: str = "0.14.6", port: int = 0,
                 single: bool = False, keeps_s: float = 0.0) -> None:
        super().__init__(port=port)
        self.version = version
        self.single = single
        self.accounts = [ACCOUNT]
        self.sent: list[Sent] = []
        self.calls: list[tuple[str, Json]] = []
        self.waiting: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.problems: list[str] = []
        self.refusals: dict[str, Json] = {}  # a method's error
        self._keeps_s = keeps_s
        self._given: deque[tuple[float, Json]] = deque(maxlen=1000)
        self._streams: list[Connection] = []
        self.opened = 0  # streams until now
        self._moment = int(time.time() * 1000)
        self._waiting_posts: list[Callable[[], Any]] = []
        self.headers_late_s = 0.0  # 0.13 sends them with a keep-alive
        self.mute = False  # hand nothing over, as a connection cut unseen

    # -- what people do

    def post(self, text: str | None, *, aci: str | None = ALICE_ACI,
             number: str | None = ALICE, name: str = "Alice",
             group: str | None = None, edits: int | None = None,
             server_ms: int | None = None, **data: Any) -> Json:
        """Somebody writes; the event as it goes out. `data` are further
        fields of the dataMessage."""
        moment = self.next_moment()
        message = {"timestamp": moment, "message": text,
                   "expiresInSeconds": 0, "viewOnce": False, **data}
        if group is not None:
            message["groupInfo"] = {"groupId": group, "groupName": "the tests",
                                    "revision": 1, "type": "DELIVER"}
        what = {"dataMessage": message} if edits is None else {
            "editMessage": {"targetSentTimestamp": edits,
                            "dataMessage": message}}
        return self.publish(what, moment, aci=aci, number=number, name=name,
                            server_ms=server_ms)

    def publish(self, what: Json, moment: int | None = None, *,
                aci: str | None = ALICE_ACI, number: str | None = ALICE,
                name: str = "Alice", server_ms: int | None = None) -> Json:
        """An envelope of any kind."""
        moment = moment or self.next_moment()
        event = {"envelope": {
            "source": number or aci, "sourceNumber": number,
            "sourceUuid": aci, "sourceName": name, "sourceDevice": 1,
            "timestamp": moment,
            "serverReceivedTimestamp": moment if server_ms is None
            else server_ms,
            "serverDeliveredTimestamp": moment, **what}, "account": ACCOUNT}
        self.give(event)
        return event

    def give(self, event: Json) -> None:
        """Hand an event to whoever is there, else let it wait."""
        if not self._running:
            self.waiting.append(event)
            return
        self._server.loop.call_soon_threadsafe(self._give, event)

    def push_bytes(self, *pieces: bytes) -> None:
        """Raw bytes of the stream, each a chunk of its own."""
        for piece in pieces:
            self._server.loop.call_soon_threadsafe(self._push, piece)

    def keep_alive(self) -> None:
        self.push_bytes(_KEEP_ALIVE)

    def next_moment(self) -> int:
        self._moment = max(self._moment + 1, int(time.time() * 1000))
        return self._moment

    def write_when_heard(self, work: Callable[[], Any]) -> None:
        """Do it once the bot has been there: what is older than its first
        start it does not answer."""
        with self._changed:
            if self.heard:
                work()
            else:
                self._waiting_posts.append(work)

    @property
    def heard(self) -> bool:
        """Whether somebody has ever listened."""
        return bool(self._streams) or self._was_heard

    _was_heard = False

    @property
    def listeners(self) -> int:
        return len(self._streams)

    def texts(self, chat: str | None = None) -> list[str]:
        return [one.text for one in self.sent if chat in (None, one.chat)]

    # -- the stream

    def _give(self, event: Json) -> None:
        live = [one for one in self._streams if not one.gone.is_set()]
        if not live:
            self.waiting.append(event)
        else:
            self._given.append((time.monotonic(), event))
            self._push(b"event:receive\ndata:" + json.dumps(
                event, ensure_ascii=False).encode("utf-8", "surrogatepass")
                + b"\n\n")

    def _push(self, data: bytes) -> None:
        for stream in self._streams:
            if not self.mute:
                stream.push(data)

    def _open(self, stream: Connection) -> None:
        self._streams = [one for one in self._streams
                         if not one.gone.is_set()] + [stream]
        self.opened += 1
        self._server.loop.create_task(self._watch(stream))
        with self._changed:
            self._was_heard = True
            posts, self._waiting_posts = self._waiting_posts, []
        waiting, self.waiting = self.waiting, []
        for event in waiting:
            self._give(event)
        for work in posts:
            work()

    async def _watch(self, stream: Connection) -> None:
        await stream.gone.wait()
        self._streams = [one for one in self._streams if one is not stream]
        since = time.monotonic() - self._keeps_s
        self.waiting = [*(event for at, event in self._given if at > since),
                        *self.waiting]
        self._given.clear()

    # -- calls

    def _handle(self, request: Request) -> Answer:
        if request.path == "/api/v1/events":
            return self._slowly(lambda: self._events(request),
                                self._faults.take("events"), _refuse)
        if request.path == "/api/v1/rpc" and request.method == "POST":
            body = json.loads(request.body)
            return self._slowly(lambda: self._rpc(body), self._faults.take(
                str(body.get("method"))), _refuse)
        return Reply(404 if request.path != "/api/v1/check" else 200)

    async def _events(self, request: Request) -> Reply:
        account = parse_qs(request.query).get("account", [""])[0]
        if account and not self.single and not self._has(account):
            return Reply(400)
        await asyncio.sleep(self.headers_late_s)
        return Reply(content_type="text/event-stream", ending="open",
                     opened=self._open)

    def _has(self, account: str) -> bool:
        return account in self.accounts or (
            account == OWN_ACI and self.version >= "0.14.6")

    async def _rpc(self, body: Json) -> Reply:
        method, params = body["method"], dict(body.get("params") or {})
        found: Json = {"jsonrpc": "2.0", "id": body.get("id")}
        handler = getattr(self, f"_do_{method}", None)
        account = params.pop("account", None)
        error = self.refusals.get(method)
        if error is None and handler is None:
            error = {"code": -32601, "message": "Method not implemented",
                     "data": None}
        if error is None and not self.single:
            error = self._judge_account(account, method)
        if error is None and handler is not None:
            answer = handler(params)
            if isinstance(answer, dict) and "code" in answer:
                error = answer
            else:
                found["result"] = answer
        if error is not None:
            found["error"] = error
        with self._changed:
            self.calls.append((method, params))
            self._changed.notify_all()
        return Reply(200, json.dumps(found).encode())

    def _judge_account(self, account: str | None, method: str
                       ) -> Json | None:
        if account is not None and not self._has(account):
            return {"code": -32602, "message": "Specified account does not "
                    "exist", "data": None}
        if account is None and len(self.accounts) != 1 \
                and method not in ("version", "listAccounts"):
            return {"code": -32602, "message": "Method requires valid "
                    "account parameter", "data": None}
        return None

    def _do_version(self, params: Json) -> Json:
        return {"version": self.version}

    def _do_listAccounts(self, params: Json) -> Any:
        if self.single:
            return {"code": -32601, "message": "Method not implemented",
                    "data": None}
        return [{"number": number} for number in self.accounts]

    def _do_getAttachment(self, params: Json) -> Json:
        content = self.files.get(params["id"])
        if content is None:
            return {"code": -1, "message": "Could not find attachment with "
                    f"ID: {params['id']}", "data": None}
        return {"data": base64.b64encode(content).decode()}

    def _do_sendTyping(self, params: Json) -> Json:
        self._find_chat(params)
        return {"timestamp": self.next_moment(), "results": []}

    def _do_sendReaction(self, params: Json) -> Json:
        self._find_chat(params)
        return {"timestamp": self.next_moment(), "results": []}

    def _do_send(self, params: Json) -> Json:
        chat, text = self._find_chat(params), params.get("message", "")
        files = tuple(map(self._read_uri, params.get("attachment", [])))
        if not text and not files:
            return {"code": -1, "message": "Sending empty message is not "
                    "allowed, either a message, attachment or sticker must "
                    "be given.", "data": None}
        if len(text.encode()) > 2000:
            self.problems.append("a text of more than 2,000 bytes")
        units = len(text.encode("utf-16-le")) // 2
        for style in params.get("textStyle", []):
            start, length, kind = style.split(":")
            if int(start) + int(length) > units or kind not in (
                    "BOLD", "ITALIC", "STRIKETHROUGH", "MONOSPACE",
                    "SPOILER"):
                self.problems.append(f"style {style} of {units} units")
        if "previewUrl" in params:
            self.problems.append("a preview")
        moment = self.next_moment()
        with self._changed:
            self.sent.append(Sent(chat, text, moment, params, files))
            self._changed.notify_all()
        return {"timestamp": moment, "results": [{
            "recipientAddress": {"uuid": ALICE_ACI, "number": ALICE},
            "type": "SUCCESS"}]}

    def _find_chat(self, params: Json) -> str:
        if "groupId" in params:
            return f"group:{params['groupId'][0]}"
        return str(params["recipient"][0])

    def _read_uri(self, uri: str) -> tuple[str, str, bytes]:
        head, _, data = uri.removeprefix("data:").partition(";base64,")
        kind, _, name = head.partition(";filename=")
        if not uri.startswith("data:") or not data:
            self.problems.append(f"an attachment {uri[:20]}")
        return unquote(name), kind, base64.b64decode(data)

    def _state(self) -> str:
        return f"{len(self.sent)} sent, {len(self.waiting)} waiting, " \
               f"{len(self._streams)} listening"


def _refuse(fault: Fault) -> Reply:
    body = b"refused"
    if fault.kind == "429":
        return Reply(429, body, headers=(
            ("Retry-After", str(fault.retry_after)),))
    return Reply(fault.status, body)
