"""The two ends that bench/runtime.py puts a bot between, each a process of
its own: Telegram (claw's fake, which notes when each message left and was
answered) and an instant model (a lean server that streams as a real one).

Messages carry their number as `bench-17`; the clock is the monotonic one,
which all processes of a machine share.
"""

import asyncio
import json
import multiprocessing
import re
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from claw.testing.fake_telegram import TOKEN, FakeTelegram

_NUMBER = re.compile(r"bench-(\d+)")
_NUMBER_BYTES = re.compile(rb"bench-(\d+)")
PLACEHOLDERS = ("…", "...")


class Post(NamedTuple):
    """A message to be posted: seconds from the start, number, chat."""

    at: float
    number: int
    chat: int

    @property
    def text(self) -> str:
        return (f"bench-{self.number} what is there to know about green tea "
                f"from harbour {self.number % 97}?")

    def put(self, fake: FakeTelegram) -> None:
        fake.post(self.text, chat_id=self.chat)


class Seen(NamedTuple):
    """When (monotonic seconds) each message was posted, left Telegram and
    was answered there; and how often each method was called."""

    posted: dict[int, float]
    left: dict[int, float]
    answered: dict[int, float]
    calls: dict[str, int]
    order: dict[int, list[int]]


class _Watched(FakeTelegram):
    """Notes times; keeps no list of calls, so that it stays small."""

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        self.posted: dict[int, float] = {}
        self.left: dict[int, float] = {}
        self.answered: dict[int, float] = {}
        self.order: dict[int, list[int]] = {}
        self.counts: Counter[str] = Counter()

    def _record(self, method: str, params: Any) -> None:
        self.counts[method] += 1
        found = _NUMBER.search(str(params.get("text") or ""))
        if found is not None:
            number = int(found[1])
            if number not in self.answered:
                self.order.setdefault(
                    int(params["chat_id"]), []).append(number)
            self.answered.setdefault(number, time.monotonic())

    async def _poll(self, params: Any) -> Any:
        reply = await super()._poll(params)
        numbers = [int(n) for n in _NUMBER_BYTES.findall(reply.body)]
        now = time.monotonic()  # it is written right after this
        for number in numbers:
            self.left.setdefault(number, now)
        return reply


def _telegram(pipe: Connection) -> None:
    with _Watched() as fake:
        pipe.send(fake.url)
        while (asked := pipe.recv()) is not None:
            name, given = asked
            if name == "post":
                _post(fake, given)
                pipe.send(None)
            elif name == "count":
                pipe.send(len(fake.answered))
            else:
                pipe.send(Seen(fake.posted, fake.left, fake.answered,
                               dict(fake.counts), fake.order))
                fake.forget()


def _post(fake: _Watched, posts: list[Post]) -> None:
    start = time.monotonic()
    for post in posts:
        wait = start + post.at - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        fake.posted[post.number] = time.monotonic()
        post.put(fake)


class Wire(asyncio.Protocol):
    """One connection to the model."""

    seen: dict[int, float] = {}  # noqa: RUF012
    wrote: dict[int, float] = {}  # noqa: RUF012
    asked: list[int] = [0, 0]  # requests, bytes  # noqa: RUF012

    def __init__(self) -> None:
        self._buffer = bytearray()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    @staticmethod
    def find_number(messages: list[dict[str, Any]]) -> int | None:
        """Of the last thing that a person said."""
        asked = next((str(one.get("content")) for one in reversed(messages)
                      if one.get("role") == "user"), "")
        found = _NUMBER.search(asked)
        return int(found[1]) if found else None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while True:
            head, gap, _ = self._buffer.partition(b"\r\n\r\n")
            if not gap:
                return
            length = int((re.search(rb"content-length: *(\d+)", head.lower())
                          or [b"", b"0"])[1])
            end = len(head) + 4 + length
            if len(self._buffer) < end:
                return
            now = time.monotonic()
            body = bytes(self._buffer[len(head) + 4:end])
            del self._buffer[:end]
            self.answer(body, now)

    def answer(self, body: bytes, now: float) -> None:
        asked = json.loads(body or b"{}")
        self.asked[0] += 1
        self.asked[1] += len(body)
        messages = asked.get("messages") or []
        last = str(messages[-1].get("content")) if messages else ""
        found = _NUMBER.search(last)
        notes = "history_entry" in str(messages[:1])
        if found is None or notes:
            text = '{"history_entry": "", "memory_update": null}'
        else:
            text = f"The answer to bench-{found[1]} is: green tea, mostly."
            self.seen.setdefault(int(found[1]), now)
        self.write(text, stream=bool(asked.get("stream")))
        if found is not None and not notes:
            self.wrote.setdefault(int(found[1]), time.monotonic())

    def write(self, text: str, *, stream: bool) -> None:
        """Streamed: a packet for each of a few deltas."""
        third = len(text) // 3 + 1
        if stream:
            self._stream([{"role": "assistant", "content": ""}, *(
                {"content": text[start:start + third]}
                for start in range(0, len(text), third))], "stop")
        else:
            self._whole({"content": text}, "stop")

    def call_tool(self, name: str, arguments: dict[str, Any], *,
                  stream: bool) -> None:
        call = {"index": 0, "id": f"call_{time.monotonic_ns()}",
                "type": "function", "function": {
                    "name": name, "arguments": json.dumps(arguments)}}
        message = {"content": None, "tool_calls": [call]}
        if stream:
            self._stream([{"role": "assistant", **message}], "tool_calls")
        else:
            self._whole(message, "tool_calls")

    def _stream(self, deltas: list[dict[str, Any]], finish: str) -> None:
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n")
        for delta in deltas:
            self._transport.write(_chunk(delta))
        self._transport.write(_chunk({}, finish)
                              + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

    def _whole(self, message: dict[str, Any], finish: str) -> None:
        body = json.dumps({
            "id": "1", "object": "chat.completion", "created": 0,
            "model": "m", "usage": _USAGE, "choices": [{
                "index": 0, "finish_reason": finish, "message": {
                    "role": "assistant", **message}}]}).encode()
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body)


_USAGE = {"prompt_tokens": 900, "completion_tokens": 12,
          "total_tokens": 912}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    event: dict[str, Any] = {
        "id": "1", "object": "chat.completion.chunk", "created": 0,
        "model": "m", "choices": [{"index": 0, "delta": delta,
                                   "finish_reason": finish}]}
    if finish:
        event["usage"] = _USAGE
    line = f"data: {json.dumps(event)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(line), line)


def _model(pipe: Connection, wire: type[Wire]) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(wire, "127.0.0.1", 0)
        over = loop.create_future()

        def asked() -> None:
            if pipe.recv() is None:
                over.set_result(None)
                return
            pipe.send((dict(Wire.seen), dict(Wire.wrote),
                       tuple(Wire.asked)))
            Wire.seen.clear()
            Wire.wrote.clear()
            Wire.asked[:] = [0, 0]

        pipe.send("http://127.0.0.1:"
                  f"{server.sockets[0].getsockname()[1]}/v1")
        loop.add_reader(pipe.fileno(), asked)
        await over
    asyncio.run(serve())


class _Process:
    """A process that answers one question after the other."""

    def __init__(self, work: Callable[[Connection], None]) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=work, args=(theirs,),
                                      daemon=True)
        self._process.start()
        self.url = self._pipe.recv()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.send(None)
        self._process.join(5)
        self._process.kill()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def ask(self, what: Any) -> Any:
        self._pipe.send(what)
        return self._pipe.recv()


class Telegram(_Process):
    """The platform's end."""

    token = TOKEN

    def __init__(self) -> None:
        super().__init__(_telegram)

    def post(self, posts: list[Post]) -> None:
        """Returns when the last one is posted."""
        self.ask(("post", posts))

    def answered(self) -> int:
        return int(self.ask(("count", None)))

    def wait(self, count: int, patience_s: float = 60.0) -> None:
        """Until so many are answered. Raises SystemExit when nothing
        moves for `patience_s`."""
        moved, last = time.monotonic(), -1
        while (done := self.answered()) < count:
            if done != last:
                moved, last = time.monotonic(), done
            if time.monotonic() - moved > patience_s:
                raise SystemExit(f"{done} of {count} answers, then nothing "
                                 f"for {patience_s:.0f} s")
            time.sleep(0.05)

    def take(self) -> Seen:
        """What was seen since the last time."""
        seen: Seen = self.ask(("take", None))
        return seen


class Model(_Process):
    """The model's end."""

    def __init__(self, wire: type[Wire] = Wire) -> None:
        super().__init__(partial(_model, wire=wire))

    def take(self) -> tuple[dict[int, float], dict[int, float],
                            tuple[int, int]]:
        """When requests were read, when answers were written, and the
        number and bytes of requests."""
        seen, wrote, asked = self.ask("take")
        return seen, wrote, asked
