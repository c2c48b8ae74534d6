"""A lean HTTP/1.1 server on 127.0.0.1, the ground that fakes stand on.

It runs an asyncio loop in a thread of its own and parses requests itself:
`http.server` gives each connection a thread and is several times slower.
Keep-alive, pipelining, Content-Length and chunked bodies; an answer may be
cut in half, reset or never come. Source: RFC 9112.
"""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import unquote

_HEAD_LIMIT = 64 * 1024
_BODY_LIMIT = 64 * 1024 * 1024
_REASONS = {int(status): status.phrase for status in HTTPStatus}
# Close with RST: linger on, zero seconds.
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `ending` is how the connection goes on: "whole" (all of
    it is sent), "half" (half of the body, then the end), "reset" (RST
    instead of an answer), "silence" (open, and nothing comes) or "open"
    (a stream: `opened` is handed the connection, to `push` to)."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    ending: str = "whole"
    opened: "Callable[[Connection], None] | None" = None


Answer: TypeAlias = Reply | Coroutine[Any, Any, Reply]
Handler: TypeAlias = Callable[[Request], Answer]


class _BadRequest(Exception):
    """What was sent is no HTTP request; carries the status to answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class HttpServer:
    """Calls `handle` on its loop for each request.

    A handler answers with a Reply at once, or with a coroutine that makes
    one. `errors` collects what handlers raised (the client got a 500),
    `clock` gives the Date of answers.
    """

    handle: Handler
    port: int = 0
    errors: list[str] = field(default_factory=list)
    clock: Callable[[], float] = time.time
    connections: "set[Connection]" = field(default_factory=set)
    _entering: set[asyncio.Task[Any]] = field(default_factory=set)

    def start(self, host: str = "127.0.0.1") -> None:
        listener = socket.create_server((host, self.port), backlog=512)
        listener.setblocking(False)
        self.port = int(listener.getsockname()[1])
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(listener, ready), daemon=True,
            name=f"fake-http-{self.port}")
        self._thread.start()
        ready.wait()

    def stop(self) -> None:
        """Hang up on everyone and end the thread."""
        self.call(self._close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def call(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on the server's loop and wait for its end."""
        asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    def kill_connections(self) -> int:
        """Reset every open connection; how many there were."""
        count = len(self.connections)
        self.call(self._reset_all())
        return count

    def _run(self, listener: socket.socket,
             ready: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.add_reader(listener, self._accept, listener)
        self._listener = listener
        ready.set()
        self.loop.run_forever()

    def _accept(self, listener: socket.socket) -> None:
        """A client knocks. Not `create_server`: closing that loses the
        sockets of clients that are just being accepted."""
        try:
            client, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        client.setblocking(False)
        task = self.loop.create_task(self.loop.connect_accepted_socket(
            lambda: Connection(self), client))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _reset_all(self) -> None:
        found = list(self.connections)
        for connection in found:
            connection.reset()
        for connection in found:
            await connection.gone.wait()

    async def _close(self) -> None:
        self.loop.remove_reader(self._listener)
        self._listener.close()
        await asyncio.gather(*self._entering)
        await self._reset_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)


class Connection(asyncio.Protocol):
    """One client: requests in order, one answer at a time."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._buffer = bytearray()
        self._busy = False
        self._continued = False
        self._bodiless = False
        self._task: asyncio.Task[None] | None = None
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._task is not None:
            self._task.cancel()
        self.gone.set()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._busy:
            self._serve()

    def reset(self) -> None:
        """End it with RST, as a crashed host or a firewall does."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None and not self._transport.is_closing():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()

    def push(self, data: bytes) -> None:
        """Another piece of a stream; on the server's loop."""
        if not self._transport.is_closing():
            self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _serve(self) -> None:
        while not self._busy and not self._transport.is_closing():
            try:
                request = self._next()
            except _BadRequest as error:
                self._write(Reply(error.status), close=True)
                return
            if request is None:
                return
            close = request.headers.get("connection", "").lower() == "close"
            self._answer(request, close)

    def _answer(self, request: Request, close: bool) -> None:
        try:
            answer = self._server.handle(request)
        except Exception as error:  # the test is told
            answer = self._failed(request, error)
        self._bodiless = request.method == "HEAD"
        if isinstance(answer, Reply):
            self._write(answer, close=close)
            return
        self._busy = True
        self._task = self._server.loop.create_task(
            self._later(request, answer, close))

    async def _later(self, request: Request,
                     answer: Coroutine[Any, Any, Reply],
                     close: bool) -> None:
        try:
            reply = await answer
        except Exception as error:  # the test is told
            reply = self._failed(request, error)
        self._task = None
        self._busy = False
        self._write(reply, close=close)
        self._serve()

    def _failed(self, request: Request, error: Exception) -> Reply:
        """A fault of the fake: the test must see it, not guess it."""
        method = request.path.rpartition("/")[2]
        self._server.errors.append(
            f"the fake failed at {method}: {type(error).__name__}: {error}")
        return Reply(500, b"the fake failed", "text/plain")

    def _write(self, reply: Reply, *, close: bool) -> None:
        if self._transport.is_closing():
            return
        if reply.ending == "silence":
            self._busy = True
            return
        if reply.ending == "reset":
            self.reset()
            return
        extra = "".join(f"{name}: {value}\r\n"
                        for name, value in reply.headers)
        length = ("Transfer-Encoding: chunked" if reply.ending == "open"
                  else f"Content-Length: {len(reply.body)}")
        head = (f"HTTP/1.1 {reply.status} "
                f"{_REASONS.get(reply.status, 'Status')}\r\n"
                f"Date: {_date(int(self._server.clock()))}\r\n"
                f"Content-Type: {reply.content_type}\r\n"
                f"{length}\r\n{extra}"
                f"{'Connection: close' + chr(13) + chr(10) if close else ''}"
                "\r\n").encode("latin-1")
        if reply.ending == "open" and reply.opened is not None:
            self._busy = True
            self._transport.write(head)
            reply.opened(self)
            return
        if self._bodiless:
            self._transport.write(head)
        elif reply.ending == "half":
            self._transport.write(head + reply.body[:len(reply.body) // 2])
            close = True
        else:
            self._transport.write(head + reply.body)
        if close:
            self._transport.close()

    def _next(self) -> Request | None:
        """The next whole request in the buffer."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _HEAD_LIMIT:
                raise _BadRequest(431)
            return None
        method, target, headers = _head(self._buffer[:end])
        if headers.get("expect", "").lower() == "100-continue" \
                and not self._continued:
            self._continued = True
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        taken = _body(self._buffer, end + 4, headers)
        if taken is None:
            return None
        body, after = taken
        del self._buffer[:after]
        self._continued = False
        return Request(method, target, headers, body)


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def parse_headers(lines: Iterable[str]) -> dict[str, str]:
    """Header lines as values by name, the names in lower case."""
    fields = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in fields}


def _head(raw: bytearray) -> tuple[str, str, dict[str, str]]:
    lines = raw.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _BadRequest(400)
    headers = parse_headers(lines[1:])
    if words[2] == "HTTP/1.0":
        headers.setdefault("connection", "close")
    return words[0], words[1], headers


def _body(buffer: bytearray, start: int,
          headers: dict[str, str]) -> tuple[bytes, int] | None:
    """The body and where it ends; None while it is not all there."""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _chunked(buffer, start)
    digits = headers.get("content-length", "0")
    if not digits.isdecimal():
        raise _BadRequest(400)
    length = int(digits)
    if length > _BODY_LIMIT:
        raise _BadRequest(413)
    if len(buffer) < start + length:
        return None
    return bytes(buffer[start:start + length]), start + length


def _chunked(buffer: bytearray, at: int) -> tuple[bytes, int] | None:
    body = bytearray()
    while True:
        line = buffer.find(b"\r\n", at)
        if line < 0:
            return None
        try:
            size = int(bytes(buffer[at:line]).partition(b";")[0], 16)
        except ValueError:
            raise _BadRequest(400) from None
        if len(body) + size > _BODY_LIMIT or size < 0:
            raise _BadRequest(413)
        if len(buffer) < line + 2 + size + 2:
            return None
        body += buffer[line + 2:line + 2 + size]
        at = line + 2 + size + 2
        if not size:
            return bytes(body), at
