"""A second Telegram, made by somebody else: plain asyncio, and a different
choice wherever the Bot API leaves one to the server.

    with OtherPlatform(edit="true", wire="gzip") as platform:
        platform.post("hello")        # a person writes
        platform.shown()              # what the chat shows of the bot
"""

import asyncio
import gzip
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from email import message_from_bytes
from urllib.parse import parse_qsl

from claw.testing.bot_api_spec import check

TOKEN = "4242:AAother-platform_of-tests"
HTML = b"<html><body><h1>502 Bad Gateway</h1>nginx</body></html>"


@dataclass
class OtherPlatform:
    """`offset`: "forget" confirmed updates, or "filter" them only (no
    offset gives everything again). `wire`: length, chunked, gzip or http10.
    `edit`: what an edit answers: message, true or null. `ids`: messages are
    numbered for each "chat" or for the "bot". `lacks`: methods it does not
    know, answered with status `unknown` ("true": a catch-all). `faults`:
    what becomes of the next calls of a method: a status, "html", "drop",
    "late_drop" (done, not answered) or "slow:3"; None for nothing."""

    offset: str = "forget"
    wire: str = "length"
    edit: str = "message"
    unmodified: str = "error"
    ids: str = "chat"
    order: str = "given"
    ok: bool = True
    long_poll: bool = True
    lacks: tuple = ()
    unknown: str = "404"
    spec: dict | None = None
    faults: dict = field(default_factory=dict)
    username: str = "other_bot"
    first_update: int = 1

    def __post_init__(self):
        self.url, self.token = "", TOKEN
        self.updates, self.calls, self.problems = [], [], []
        self.messages, self.made = {}, Counter()
        self.changed = threading.Condition(threading.RLock())

    def __enter__(self):
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(
            self._serve(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(5)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    # -- what people do

    def post(self, text, chat=1001, user=None, **fields):
        with self.changed:
            number = self._new_id(chat)
            kind = "private" if chat > 0 else "supergroup"
            self.updates.append({
                "update_id": self.first_update + len(self.updates),
                "message": {
                    "message_id": number, "date": int(time.time()),
                    "chat": {"id": chat, "type": kind, "title": "T"},
                    "from": {"id": user or abs(chat), "is_bot": False,
                             "first_name": "Ann"}, "text": text, **fields}})
        return number

    def push(self, update):
        """Any update; anything at all."""
        if isinstance(update, dict):
            update.setdefault("update_id",
                              self.first_update + len(self.updates))
        self.updates.append(update)

    def shown(self, chat=1001):
        """The bot's messages as the chat shows them, deleted ones not."""
        with self.changed:
            return [m["text"] for (c, _), m in sorted(self.messages.items())
                    if c == chat]

    def wait(self, done, seconds=20.0):
        with self.changed:
            assert self.changed.wait_for(done, seconds), (
                self.messages, self.calls[-5:])

    def count(self, method):
        return sum(1 for name, _ in self.calls if name == method)

    # -- the wire

    async def _serve(self, ready):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._tasks = set()
        server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        ready.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _client(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(asyncio.current_task())
            writer.close()

    async def _one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {k.strip().lower(): v.strip() for k, _, v in (
            line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get(
            "content-length", 0)))
        _, target, _ = first.split(" ")
        status, answer = await self._answer(target, headers, body)
        if answer is None:
            return False
        writer.write(self._wrapped(status, answer))
        await writer.drain()
        return self.wire != "http10"

    def _wrapped(self, status, body):
        page = body.startswith(b"<")
        kind = "text/html" if page else "application/json; charset=utf-8"
        lines = [f"Content-Type: {kind}"]
        if self.wire == "gzip":
            body = gzip.compress(body)
            lines.append("Content-Encoding: gzip")
        if self.wire == "chunked":
            lines.append("Transfer-Encoding: chunked")
            body = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]),
                                              body[i:i + 7])
                            for i in range(0, len(body), 7)) + b"0\r\n\r\n"
        elif self.wire != "http10":
            lines.append(f"Content-Length: {len(body)}")
        version = "HTTP/1.0" if self.wire == "http10" else "HTTP/1.1"
        return "\r\n".join([f"{version} {status} Some", *lines, "", ""]
                           ).encode() + body

    async def _answer(self, target, headers, body):
        path, _, query = target.partition("?")
        _, bot, method = path.split("/", 2)
        if bot != f"bot{TOKEN}":
            return 401, _error(401, "Unauthorized")
        params = _params(query, headers, body)
        with self.changed:
            self.calls.append((method, params))
        if self.spec is not None:
            self.problems += check(self.spec, method, params)
        waiting = self.faults.get(method) or []
        fault = waiting.pop(0) if waiting else None
        if isinstance(fault, str) and fault.startswith("slow:"):
            await asyncio.sleep(float(fault[5:]))
        elif fault == "html":
            return 502, HTML
        elif fault == "drop":
            return 0, None
        elif fault == "late_drop":
            await self._do(method, params)
            return 0, None
        elif fault == 429:
            return 429, _error(429, "Too Many Requests: retry after 1",
                               retry_after=1)
        elif isinstance(fault, int):
            return fault, _error(fault, "Some error")
        return await self._do(method, params)

    async def _do(self, method, params):
        work = getattr(self, f"do_{method}", None)
        if work is None or method in self.lacks:
            if self.unknown == "true":
                return 200, b'{"ok":true,"result":true}'
            code = int(self.unknown)
            return code, _error(code, "Not Found: method not found")
        if method == "getUpdates":
            result = await self.do_getUpdates(params)
        else:
            with self.changed:
                result = work(params)
                self.changed.notify_all()
        if isinstance(result, tuple):
            return result
        ok = {"ok": True} if self.ok else {}
        return 200, json.dumps({**ok, "result": result}).encode()

    # -- the methods

    def do_getMe(self, params):
        return {"id": 4242, "is_bot": True, "first_name": "O",
                "username": self.username}

    async def do_getUpdates(self, params):
        until = time.monotonic() + (
            float(params.get("timeout") or 0) if self.long_poll else 0)
        while True:
            with self.changed:
                found = self._batch(int(params.get("offset") or 0))
                self.changed.notify_all()
            if found or time.monotonic() >= until or self._stop.is_set():
                return found
            await asyncio.sleep(0.02)

    def _batch(self, offset):
        def number(update):
            found = update.get("update_id") if isinstance(
                update, dict) else None
            return found if isinstance(found, int) else offset
        if self.offset == "forget":
            self.updates[:] = [u for u in self.updates
                               if number(u) >= offset]
            self.first_update = max(self.first_update, offset)
        found = [u for u in self.updates if number(u) >= offset]
        return found[::-1] if self.order == "backwards" else found

    def do_sendMessage(self, params):
        text = params.get("text") or ""
        if not text.strip() or len(text.encode("utf-16-le")) > 8192:
            return 400, _error(400, "Bad Request: message is too long"
                               if text else "Bad Request: text is empty")
        chat = int(params["chat_id"])
        number = self._new_id(chat)
        self.messages[chat, number] = dict(params)
        return {"message_id": number, "date": 1, "text": text,
                "chat": {"id": chat, "type": "private"}}

    def do_editMessageText(self, params):
        key = int(params["chat_id"]), int(params["message_id"])
        if key not in self.messages:
            return 400, _error(400, "Bad Request: message to edit not found")
        if self.messages[key]["text"] == params["text"] \
                and self.unmodified == "error":
            return 400, _error(400, "Bad Request: message is not modified")
        self.messages[key].update(params)
        self.made[key] += 1
        return {"true": True, "null": None, "message": {
            "message_id": key[1], "date": 1, "text": params["text"],
            "chat": {"id": key[0], "type": "private"}}}[self.edit]

    def do_editMessageReplyMarkup(self, params):
        key = int(params["chat_id"]), int(params["message_id"])
        return 400, _error(400, "Bad Request: message " + (
            "is not modified" if key in self.messages
            else "to edit not found"))

    def do_deleteMessage(self, params):
        self.messages.pop((int(params["chat_id"]),
                           int(params["message_id"])), None)
        return True

    def do_sendChatAction(self, params):
        return True

    do_setMessageReaction = do_answerCallbackQuery = do_sendChatAction

    def _new_id(self, chat):
        key = chat if self.ids == "chat" else "all"
        self.made[key] += 1
        return self.made[key]


def _error(code, text, **parameters):
    return json.dumps({"ok": False, "error_code": code, "description": text,
                       "parameters": parameters}).encode()


def _params(query, headers, body):
    found = dict(parse_qsl(query))
    kind = headers.get("content-type", "")
    if kind.startswith("application/json"):
        found |= json.loads(body or b"{}")
    elif kind.startswith("application/x-www-form-urlencoded"):
        found |= dict(parse_qsl(body.decode()))
    elif kind.startswith("multipart/"):
        whole = message_from_bytes(
            f"Content-Type: {kind}\r\n\r\n".encode() + body)
        for part in whole.get_payload():
            name = part.get_param("name", header="content-disposition")
            found[name] = part.get_payload(decode=True)
    return found
