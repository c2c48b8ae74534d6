"""The fake: for claw the Graph API, for the test its controls, which may be
called from any thread."""

import json
import re
import time
from email.message import Message
from email.parser import BytesParser
from itertools import count
from typing import Any

from claw.testing.fake_whatsapp.rules import MEDIA, judge
from claw.testing.fake_whatsapp.webhooks import (
    Json,
    build_message,
    build_status,
    sign,
    wrap,
)
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request
from claw.testing.webhook_poster import PostingServer

NUMBER, USER_ID = "+4917012345678", "DE.13491208655302741918"
_CODES = {400: 100, 401: 190, 403: 10, 429: 130429, 500: 131000}


class FakeWhatsapp(PostingServer):
    """The Graph API, inside a `with` block. Faults are keyed by call:
    "messages", "media", "number", "file". A fault's `parameters` may hold
    the `code` of Meta's error. `closed` are the people whose window is
    over: "now" says so in the answer, "later" in a status.
    """

    def __init__(self, *, port: int = 0, latency_s: float = 0.0) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.token = "EAAGtoken0fake0bot0secret000"
        self.app_secret = "appsecret0fake0of0the0app"
        self.verify_token = "verify0fake0word"
        self.number_id = "106540352242922"
        self.tells = True  # statuses
        self.closed: dict[str, str] = {}
        self.sent: list[Json] = []  # messages, with their id
        self.signs: list[Json] = []  # typing, reactions
        self.media: dict[str, tuple[bytes, str, str]] = {}
        self.fetched: list[dict[str, str]] = []  # headers
        self.refused: list[str] = []
        self._numbers = count(1)

    @property
    def problems(self) -> list[str]:
        """Calls that Meta would not have."""
        return [*self._server.errors, *self.refused]

    # -- what people do

    def write(self, text: str, number: str = NUMBER,
              user_id: str = USER_ID, **fields: Any) -> str:
        """Somebody writes a text; the message's id."""
        return self.say({"type": "text", "text": {"body": text}, **fields},
                        number, user_id)

    def say(self, message: Json, number: str = NUMBER,
            user_id: str = USER_ID, name: str = "Mina") -> str:
        """Somebody sends a message; its id."""
        made = {"id": self._draw("IN"), "timestamp": str(int(time.time())),
                **message}
        self.post(build_message(number, user_id, name, made),
                  line=number or user_id)
        return str(made["id"])

    def add_media(self, content: bytes, mime: str, name: str = "") -> str:
        media_id = str(10**12 + next(self._numbers))
        self.media[media_id] = content, mime, name
        return media_id

    def post(self, *values: Json, line: str = "") -> None:
        """A webhook with these values, after those of its line."""
        body = wrap(self.number_id, *values)
        self.post_signed(line, (body, sign(self.app_secret, body)))

    # -- what they see

    def answers(self, chat: str | None = None) -> list[str]:
        """What there is to read, in order; files by their caption and
        content."""
        return self.read_all(self.list_sent(chat))

    def read_all(self, bodies: list[Json]) -> list[str]:
        return [_read(body, self.media) for body in bodies]

    def list_sent(self, chat: str | None = None) -> list[Json]:
        with self._changed:
            return [body for body in self.sent if chat is None or chat in (
                f"+{body.get('to')}", body.get("recipient"))]

    def tell(self, status: str, sent: Json,
             errors: list[Json] | None = None) -> None:
        """Post a status of a message that was sent."""
        self.post(build_status(status, sent, int(time.time()), errors),
                  line="statuses")

    # -- the Graph API

    def _handle(self, request: Request) -> Answer:
        name = self._name(request)
        fault = self._faults.take(name)
        if fault is None and not self.latency_s:
            return self._answer(name, request)

        async def do() -> Reply:
            return self._answer(name, request)
        return self._slowly(do, fault, _refusal)

    def _name(self, request: Request) -> str:
        last = request.path.rpartition("/")[2]
        if request.path.startswith("/files/"):
            return "file"
        if last in ("messages", "media"):
            return last
        return "number" if last == self.number_id else "url"

    def _answer(self, name: str, request: Request) -> Reply:
        if name == "file":
            self.fetched.append(request.headers)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _error(401, 190, "Invalid OAuth access token")
        if name != "file" and not re.match(r"/v\d+\.\d+/", request.path):
            return _error(400, 2500, "no version")
        with self._changed:
            reply: Reply = getattr(self, f"_do_{name}")(request)
            self._changed.notify_all()
        return reply

    def _do_messages(self, request: Request) -> Reply:
        body = json.loads(request.body)
        if body.get("status") == "read":
            self.signs.append(body)
            return _json({"success": True})
        chat = body.get("to") or body.get("recipient")
        why = judge(body, set(self.media)) if chat else "nobody to send to"
        if why is not None:
            self.refused.append(why)
            return _error(400, 100, why)
        if body["type"] == "reaction":
            self.signs.append(body)
            return _accept(chat, self._draw("RE"))
        closed = self.closed.get(chat if "recipient" in body else f"+{chat}") \
            if body["type"] != "template" else None
        if closed == "now":
            return _error(400, 131047, "Re-engagement message")
        sent = {**body, "id": self._draw("OUT")}
        if closed == "later":
            self.tell("failed", sent, [{"code": 131047, "title":
                                        "Re-engagement message"}])
        else:
            self.sent.append(sent)
            if self.tells:
                self.tell("sent", sent)
        return _accept(chat, str(sent["id"]))

    def _do_media(self, request: Request) -> Reply:
        form = _parse_form(request)
        if form.get("messaging_product", (b"", "", ""))[0] != b"whatsapp":
            self.refused.append("media without messaging_product")
            return _error(400, 100, "messaging_product is required")
        return _json({"id": self.add_media(*form["file"])})

    def _do_url(self, request: Request) -> Reply:
        media_id = request.path.rpartition("/")[2]
        if media_id not in self.media:
            return _error(400, 100, "no such media")
        content, mime, _ = self.media[media_id]
        return _json({"id": media_id, "mime_type": mime,
                      "file_size": len(content),
                      "url": f"{self.url}/files/{media_id}"})

    def _do_file(self, request: Request) -> Reply:
        content, mime, _ = self.media[request.path.rpartition("/")[2]]
        return Reply(200, content, mime)

    def _do_number(self, request: Request) -> Reply:
        return _json({
            "id": self.number_id, "display_phone_number": "+1 555 078 3881",
            "verified_name": "Claw", "quality_rating": "GREEN",
            "webhook_configuration": {
                "application": self.callback or "https://host/whatsapp"}})

    def _draw(self, sort: str) -> str:
        return f"wamid.{sort}{next(self._numbers):06d}=="

    def _state(self) -> str:
        return (f"{len(self.sent)} messages, the last {self.sent[-3:]}; "
                f"refused {self.refused[-3:]}")


def _read(body: Json, media: dict[str, tuple[bytes, str, str]]) -> str:
    """What a person reads of a message; a file's content behind its
    caption."""
    kind = body["type"]
    if kind == "text":
        return str(body["text"]["body"])
    if kind == "interactive":
        return str(body["interactive"]["body"]["text"])
    if kind == "template":
        return " ".join(p["text"] for c in body["template"]["components"]
                        for p in c["parameters"])
    assert kind in MEDIA
    content, _, _ = media[body[kind]["id"]]
    caption = str(body[kind].get("caption", ""))
    return f"{caption} {content.decode('utf-8', 'replace')}".strip()


def _parse_form(request: Request) -> dict[str, tuple[bytes, str, str]]:
    """name -> (content, MIME type, file name)."""
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n"
    whole: Message = BytesParser().parsebytes(head.encode() + request.body)
    parts: Any = whole.get_payload()
    return {str(part.get_param("name", header="content-disposition")): (
        part.get_payload(decode=True), part.get_content_type(),
        part.get_filename() or "") for part in parts}


def _json(value: Json) -> Reply:
    return Reply(200, json.dumps(value).encode())


def _accept(chat: str, message_id: str) -> Reply:
    return _json({"messaging_product": "whatsapp", "contacts": [
        {"input": chat, "wa_id": chat}], "messages": [{"id": message_id}]})


def _error(status: int, code: int, message: str,
           headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return Reply(status, json.dumps({"error": {
        "message": f"(#{code}) {message}", "type": "OAuthException",
        "code": code, "error_data": {"messaging_product": "whatsapp",
                                     "details": message},
        "fbtrace_id": "AbC"}}).encode(), headers=headers)


def _refusal(fault: Fault) -> Reply:
    code = (fault.parameters or {}).get("code") or _CODES.get(
        fault.status, 131000)
    headers = (("Retry-After", str(fault.retry_after)),) \
        if fault.kind == "429" else ()
    return _error(fault.status, code, fault.description or "refused",
                  headers)
