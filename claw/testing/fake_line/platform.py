"""The fake: for claw the Messaging API, for the test its controls, which may
be called from any thread."""

import hmac
import http.client
import json
import re
import time
from base64 import b64encode
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from claw.testing.fake_line.rules import CHAT, KEY, Json, judge
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request
from claw.testing.webhook_poster import PostingServer, Signed

USER = "U4af4980629fbbd9a2f0d4e3b2b9f8f11"
GROUP = "Ca56f94637c4aa2f0d4e3b2b9f8f11aa2"
BOT = "U8e742f61d673b39c7fff3cecb7536ef0"
_PATHS = (
    ("content", r"/v2/bot/message/([^/]+)/content"),
    ("push", r"/v2/bot/message/push"),
    ("reply", r"/v2/bot/message/reply"),
    ("loading", r"/v2/bot/chat/loading/start"),
    ("info", r"/v2/bot/info"),
    ("endpoint", r"/v2/bot/channel/webhook/endpoint"),
    ("test", r"/v2/bot/channel/webhook/test"),
    ("quota", r"/v2/bot/message/quota"),
    ("consumption", r"/v2/bot/message/quota/consumption"),
    ("profile", r"/v2/bot/(?:profile|(?:group|room)/[^/]+/member)/([^/]+)"),
)


class FakeLine(PostingServer):
    """The Messaging API, inside a `with` block. Faults are keyed by call:
    "push", "reply", "content", "info" and what else stands above.

    `token_s` is how long a reply token is good, `quota` how many pushes a
    month has (None: no limit), `preparing` how often a file is not ready.
    """

    def __init__(self, *, port: int = 0, latency_s: float = 0.0) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.token = "linetoken/fake+0of0the0account="
        self.secret = "linesecret0fake0of0the0channel"
        self.token_s = 60.0
        self.quota: int | None = None
        self.pushed = 0
        self.preparing = 0
        self.names = {USER: "Mina"}
        self.files: dict[str, bytes] = {}
        self.sent: list[Json] = []  # messages, with `to`, `by` and `id`
        self.loading: list[Json] = []
        self.refused: list[str] = []
        self._tokens: dict[str, tuple[str, float]] = {}
        self._keys: dict[str, list[Json]] = {}
        self._numbers = count(1)

    @property
    def problems(self) -> list[str]:
        """Calls that LINE would not have."""
        return [*self._server.errors, *self.refused]

    # -- what people do

    def write(self, text: str, user: str = USER, chat: str = "",
              **fields: Any) -> str:
        """Somebody writes a text; the message's id."""
        return self.say({"type": "text", "text": text, **fields}, user, chat)

    def say(self, message: Json, user: str = USER, chat: str = "") -> str:
        """Somebody sends a message; its id."""
        number = str(10**17 + next(self._numbers))
        made = {"id": number, **message}
        if message["type"] in ("text", "image", "video", "sticker"):
            made.setdefault("quoteToken", f"quote{number}")
        self.tell("message", user, chat, message=made)
        return str(made["id"])

    def press(self, data: str, user: str = USER, chat: str = "") -> None:
        self.tell("postback", user, chat, postback={"data": data})

    def tell(self, kind: str, user: str = USER, chat: str = "",
             **fields: Any) -> Json:
        """An event; it is posted after those of its chat."""
        event = self.build(kind, user, chat, **fields)
        self.post(event, line=chat or user)
        return event

    def build(self, kind: str, user: str = USER, chat: str = "",
              **fields: Any) -> Json:
        """An event with a reply token."""
        number = next(self._numbers)
        source = {"type": "user", "userId": user}
        if chat:
            sort = "group" if chat.startswith("C") else "room"
            source = {"type": sort, f"{sort}Id": chat,
                      **({"userId": user} if user else {})}
        event: Json = {
            "type": kind, "mode": "active", "source": source,
            "timestamp": int(time.time() * 1000),
            "webhookEventId": f"01H{number:023d}",
            "deliveryContext": {"isRedelivery": False}, **fields}
        if kind not in ("unsend", "unfollow", "leave", "memberLeft"):
            token = f"{number:032x}"
            with self._changed:
                self._tokens[token] = chat or user, time.time()
            event.setdefault("replyToken", token)
        return event

    def post(self, *events: Json, line: str = "") -> None:
        """A webhook; when it is posted again it says so."""
        again = [{**e, "deliveryContext": {"isRedelivery": True}}
                 for e in events]
        self.post_signed(line, self.wrap(*events), self.wrap(*again))

    def wrap(self, *events: Json) -> Signed:
        body = json.dumps({"destination": BOT, "events": events}).encode()
        return body, sign(self.secret, body)

    def add_file(self, content: bytes, number: str = "") -> str:
        """What a message of this id holds."""
        found = number or str(10**17 + next(self._numbers))
        self.files[found] = content
        return found

    # -- what they see

    def answers(self, chat: str | None = None) -> list[str]:
        """What there is to read, in order."""
        return [read(message) for message in self.list_sent(chat)]

    def list_sent(self, chat: str | None = None) -> list[Json]:
        with self._changed:
            return [m for m in self.sent if chat in (None, m["to"])]

    # -- the Messaging API

    def _handle(self, request: Request) -> Answer:
        name, given = next(
            ((name, found.groups()) for name, path in _PATHS
             if (found := re.fullmatch(path, request.path))), ("", ()))
        fault = self._faults.take(name)
        if fault is None and not self.latency_s:
            return self._answer(name, given, request)

        async def do() -> Reply:
            return self._answer(name, given, request)
        return self._slowly(do, fault, _refuse)

    def _answer(self, name: str, given: tuple[str, ...],
                request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _error(401, "Authentication failed. Confirm that the "
                               "access token in the authorization header is "
                               "valid.")
        if not name:
            return _error(404, "Not found")
        with self._changed:
            reply: Reply = getattr(self, f"_do_{name}")(request, *given)
            self._changed.notify_all()
        return reply

    def _do_push(self, request: Request) -> Reply:
        body, key = json.loads(request.body), request.headers.get(
            "x-line-retry-key", "")
        why = judge(body.get("messages"))
        if not CHAT.fullmatch(str(body.get("to"))):
            why = "The property, 'to', in the request body is invalid"
        if not KEY.fullmatch(key):
            why = f"no retry key: {key}"
        if why is not None:
            return self._refuse(why)
        if key in self._keys:
            return _json({"message": "The retry key is already accepted",
                          "sentMessages": self._keys[key]}, 409)
        if self.quota is not None and self.pushed >= self.quota:
            return _error(429, "You have reached your monthly limit.")
        self.pushed += 1
        self._keys[key] = self._send("push", body["to"], body["messages"])
        return _json({"sentMessages": self._keys[key]})

    def _do_reply(self, request: Request) -> Reply:
        body = json.loads(request.body)
        why = judge(body.get("messages"))
        if "x-line-retry-key" in request.headers:
            why = "a reply takes no retry key"
        if why is not None:
            return self._refuse(why)
        chat, at = self._tokens.pop(body["replyToken"], ("", 0.0))
        if not chat or time.time() > at + self.token_s:
            return _error(400, "Invalid reply token")
        return _json({"sentMessages": self._send("reply", chat,
                                                 body["messages"])})

    def _send(self, by: str, chat: str, messages: list[Json]) -> list[Json]:
        ids = [str(5 * 10**17 + next(self._numbers)) for _ in messages]
        self.sent += [{**message, "to": chat, "by": by, "id": number}
                      for message, number in zip(messages, ids, strict=True)]
        return [{"id": number, "quoteToken": f"quote{number}"}
                for number in ids]

    def _refuse(self, why: str) -> Reply:
        self.refused.append(why)
        return _error(400, "The request body has 1 error(s)", [
            {"message": why, "property": "messages"}])

    def _do_loading(self, request: Request) -> Reply:
        body = json.loads(request.body)
        if body.get("loadingSeconds") not in range(5, 61, 5) \
                or not str(body.get("chatId")).startswith("U"):
            return self._refuse(f"no loading: {body}")
        self.loading.append(body)
        return _json({}, 202)

    def _do_content(self, request: Request, number: str) -> Reply:
        if number not in self.files:
            return _error(404, "Not found")
        if self.preparing:
            self.preparing -= 1
            return Reply(202, b"")
        return Reply(200, self.files[number], "application/octet-stream")

    def _do_info(self, request: Request) -> Reply:
        return _json({"userId": BOT, "basicId": "@216ru", "displayName":
                      "Claw", "chatMode": "bot", "markAsReadMode": "auto"})

    def _do_profile(self, request: Request, user: str) -> Reply:
        if user not in self.names:
            return _error(404, "Not found")
        return _json({"displayName": self.names[user], "userId": user})

    def _do_endpoint(self, request: Request) -> Reply:
        if self.callback is None:
            return _error(404, "Not found")
        return _json({"endpoint": self.callback, "active": True})

    def _do_test(self, request: Request) -> Reply:
        body, headers = self.wrap()
        url = urlsplit(self.callback or "")
        connection = http.client.HTTPConnection(
            url.hostname or "127.0.0.1", url.port or 9, timeout=2)
        try:
            connection.request("POST", url.path, body, dict(headers))
            status, why = connection.getresponse().status, "OK"
        except OSError as error:
            status, why = 0, str(error)
        finally:
            connection.close()
        return _json({"success": status == 200, "statusCode": status,
                      "timestamp": "2026-11-28T00:00:00.000Z",
                      "reason": "OK" if status == 200 else
                      "COULD_NOT_CONNECT", "detail": why})

    def _do_quota(self, request: Request) -> Reply:
        return _json({"type": "none"} if self.quota is None else
                     {"type": "limited", "value": self.quota})

    def _do_consumption(self, request: Request) -> Reply:
        return _json({"totalUsage": self.pushed})

    def _state(self) -> str:
        return (f"{len(self.sent)} messages, the last {self.sent[-3:]}; "
                f"refused {self.refused[-3:]}")


def sign(secret: str, body: bytes) -> dict[str, str]:
    """The headers of a body that LINE posts."""
    mac = hmac.digest(secret.encode(), body, "sha256")
    return {"Content-Type": "application/json",
            "X-Line-Signature": b64encode(mac).decode()}


def read(message: Json) -> str:
    """What a person reads of a message."""
    return str(message.get("text") or message.get("originalContentUrl")
               or message["template"]["text"])


def _json(value: Json, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value).encode())


def _error(status: int, message: str, details: list[Json] | None = None,
           headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    body = {"message": message, **({"details": details} if details else {})}
    return Reply(status, json.dumps(body).encode(), headers=headers)


def _refuse(fault: Fault) -> Reply:
    headers = (("Retry-After", str(fault.retry_after)),) \
        if fault.kind == "429" else ()
    words = "The API rate limit has been exceeded. Try again later." \
        if fault.status == 429 else "refused"
    return _error(fault.status, fault.description or words, headers=headers)
