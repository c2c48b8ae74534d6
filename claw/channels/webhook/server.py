"""A small HTTP/1.1 server that bounds everything a stranger can use up.

h11 speaks the protocol, asyncio's streams carry it. starlette with uvicorn
would cost 66 ms of CPU to import against 10 for h11 (which the HTTP client
needs anyway), waits without limit for the first request of a connection,
wakes ten times a second, and leaves the process when the port is taken.

One request a connection. A head may take 5 s and 16 KiB, a body 20 s and
1 MiB. Of 64 connections at once, 32 unfinished ones of one address, a new one
takes the place of the oldest unfinished (which gets 503) of the address that
has most: who is slow holds nobody else up.
"""

import asyncio
import errno
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from ipaddress import IPv6Network
from urllib.parse import urlsplit

import h11

from claw.core.errors import ClawError, ConfigError, UnavailableError
from claw.core.value import Value, made

SERVER_NAME = "claw"
_READ_BYTES = 64 * 1024
_REFUSED = (errno.EACCES, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class Limits(Value):
    """What one server and one connection may take; `grace_s` is the time
    for a commit that is under way when the server closes."""

    body_bytes: int = 1 << 20
    connections: int = 64
    unfinished: int = 32  # whose request is not whole, of one address
    head_s: float = 5.0
    body_s: float = 20.0
    linger_s: float = 1.0
    grace_s: float = 0.5


class Request(Value):
    """A request; header names in lower case, several of one name kept."""

    method: str
    path: str
    headers: tuple[tuple[str, bytes], ...]
    peer: str
    body: bytes = b""

    def header(self, name: str) -> bytes | None:
        """The one header of this name; None for none and for several."""
        found = [value for key, value in self.headers if key == name]
        return found[0] if len(found) == 1 else None


class Reply(Value):
    """An answer with a JSON body."""

    status: int
    body: Mapping[str, object]
    headers: Mapping[str, str] = made(factory=dict)


def refusal(status: int, message: str, **headers: str) -> Reply:
    """An error; header names with _ for -."""
    return Reply(status, {"error": message},
                 {k.replace("_", "-"): v for k, v in headers.items()})


class Refused(Exception):
    """Ends a request with this reply."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class Server:
    """`check` sees each request before its body is read and may raise
    Refused; `handle` answers the whole one."""

    def __init__(self, check: Callable[[Request], None],
                 handle: Callable[[Request], Awaitable[Reply]],
                 limits: Limits | None = None) -> None:
        self._check = check
        self._handle = handle
        self._limits = limits or Limits()
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], _Connection] = {}
        self._busy: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> int:
        """Bind and serve; the port. Raises UnavailableError where it is
        taken, ConfigError where it can't be ours."""
        try:
            self._server = await asyncio.start_server(
                self._accept, host, port, reuse_address=True,
                limit=_READ_BYTES)
        except OSError as error:
            raise bind_error(host, port, error) from error
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Take no more; let requests that are being handled end."""
        if self._server is not None:
            self._server.close()
        for task in self._unfinished():
            task.cancel()
        try:
            if self._busy:
                await asyncio.wait(self._busy,
                                   timeout=self._limits.grace_s)
        finally:
            for task in self._open:
                task.cancel()
        still_open = dict(self._open)
        await asyncio.gather(*still_open, return_exceptions=True)
        for connection in still_open.values():
            connection.close()

    def _accept(self, reader: asyncio.StreamReader,
                writer: asyncio.StreamWriter) -> None:
        connection = _Connection(reader, writer, self._limits)
        if not self._make_room(connection):
            connection.turn_away()
            return
        task = asyncio.create_task(self._serve(connection))
        self._open[task] = connection
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        if task in self._open:
            self._open.pop(task).close()
        self._busy.discard(task)

    def _unfinished(self) -> list[asyncio.Task[None]]:
        """Whose request is not whole yet, the oldest first."""
        return [task for task in self._open if task not in self._busy]

    def _make_room(self, new: "_Connection") -> bool:
        """Whether there is a place: a free one, or that of the oldest
        unfinished one of this address or of one that has more."""
        waiting = self._unfinished()
        held = Counter(self._open[task].network for task in waiting)
        network = new.network
        if held[network] < self._limits.unfinished:
            if len(self._open) < self._limits.connections:
                return True
            network = max([network, *held], key=held.__getitem__)
            if not held[network]:
                return False
        oldest = next(task for task in waiting
                      if self._open[task].network == network)
        self._open.pop(oldest).turn_away()
        oldest.cancel()
        return True

    async def _serve(self, connection: "_Connection") -> None:
        # A peer that is gone has nothing to be told, however the system
        # says so: a shutdown then is ENOTCONN.
        with suppress(OSError):
            reply, method = await self._answer(connection)
            if reply is not None:
                await connection.finish(reply, method)
        with suppress(OSError, TimeoutError):
            await connection.end()

    async def _answer(self, connection: "_Connection"
                        ) -> tuple[Reply | None, str | None]:
        """The reply, None for a connection without a request."""
        request: Request | None = None
        try:
            request = await connection.head()
            if request is None:
                return None, None
            self._check(request)
            request = await connection.with_body(request)
            task = asyncio.current_task()
            assert task is not None
            self._busy.add(task)
            return await self._handle(request), request.method
        except Refused as refused:
            return refused.reply, request.method if request else None


class _Connection:
    """One connection: a request in, a reply out."""

    def __init__(self, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter, limits: Limits) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.SERVER)
        self._got_bytes = False
        peer = writer.get_extra_info("peername") or ("unknown",)
        self.peer = str(peer[0])
        self.network = _network(self.peer)

    def close(self) -> None:
        self._writer.close()

    async def end(self) -> None:
        """Close it, and hear how it ended: nobody else does."""
        self._writer.close()
        async with asyncio.timeout(self._limits.linger_s):
            await self._writer.wait_closed()

    def turn_away(self) -> None:
        """End it for want of room."""
        with suppress(h11.LocalProtocolError):  # its answer is under way
            self._writer.write(self.render_reply(refusal(
                503, "too many connections", Retry_After="1"), None))
        self._writer.close()

    async def head(self) -> Request | None:
        try:
            async with asyncio.timeout(self._limits.head_s):
                event = await self._next()
        except TimeoutError:
            if not self._got_bytes:
                return None
            raise Refused(refusal(408, "the request took too long"
                                  )) from None
        if not isinstance(event, h11.Request):
            return None
        return Request(
            event.method.decode("ascii", "replace"),
            _path(event.target), tuple(
                (name.decode("latin-1"), value)
                for name, value in event.headers), self.peer)

    async def with_body(self, request: Request) -> Request:
        """The request with its body, which must fit."""
        declared = request.header("content-length") or b""
        if declared.isdigit() and int(declared) > self._limits.body_bytes:
            raise self._too_large()
        if self._http.they_are_waiting_for_100_continue:
            self._writer.write(self._http.send(h11.InformationalResponse(
                status_code=100, headers=[])) or b"")
        try:
            async with asyncio.timeout(self._limits.body_s):
                body = await self._body()
        except TimeoutError:
            raise Refused(refusal(408, "the body took too long")) from None
        return Request(request.method, request.path, request.headers,
                       request.peer, body)

    async def finish(self, reply: Reply, method: str | None) -> None:
        """Write the reply, then read on for a moment: closing with bytes
        unread would reset the connection and lose the reply."""
        self._writer.write(self.render_reply(reply, method))
        await self._writer.drain()
        if self._http.their_state in (h11.DONE, h11.MUST_CLOSE):
            return
        if self._writer.can_write_eof():
            self._writer.write_eof()
        async with asyncio.timeout(self._limits.linger_s):
            while await self._reader.read(_READ_BYTES):
                pass

    def render_reply(self, reply: Reply, method: str | None) -> bytes:
        """The bytes of a reply."""
        body = json.dumps(reply.body, ensure_ascii=False).encode() + b"\n"
        head = h11.Response(status_code=reply.status, headers=[
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))), ("Server", SERVER_NAME),
            ("Connection", "close"), *reply.headers.items()])
        data = self._http.send(head) or b""
        if method != "HEAD":
            data += self._http.send(h11.Data(data=body)) or b""
        return data + (self._http.send(h11.EndOfMessage()) or b"")

    async def _body(self) -> bytes:
        found = bytearray()
        while isinstance(event := await self._next(), h11.Data):
            found += event.data
            if len(found) > self._limits.body_bytes:
                raise self._too_large()
        if isinstance(event, h11.EndOfMessage):
            return bytes(found)
        raise ConnectionAbortedError("the peer left in the middle")

    async def _next(self) -> object:
        while True:
            try:
                event = self._http.next_event()
                if event is not h11.NEED_DATA:
                    return event
                data = await self._reader.read(_READ_BYTES)
                self._got_bytes = self._got_bytes or bool(data)
                self._http.receive_data(data)
            except h11.RemoteProtocolError as error:
                raise Refused(refusal(error.error_status_hint,
                                      f"that is no HTTP: {error}")
                              ) from error

    def _too_large(self) -> Refused:
        return Refused(refusal(
            413, f"the body is larger than {self._limits.body_bytes} bytes"))


def _network(address: str) -> str:
    """Who shares a room: an IPv4 address, the /64 of an IPv6 one."""
    if ":" not in address:
        return address
    return str(IPv6Network((address.partition("%")[0], 64), strict=False))


def _path(target: bytes) -> str:
    """The path of a request target, which may be a whole URL."""
    try:
        return urlsplit(target.decode("latin-1")).path
    except ValueError:
        return ""


def bind_error(host: str, port: int, error: OSError) -> ClawError:
    """Why this address can't be listened on."""
    where = f"webhook: can't listen on {host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return UnavailableError(
            f"{where}: another program holds the port",
            hint=f"find it with: ss -ltnp 'sport = :{port}'; or choose "
                 "another: claw config set channels_config.webhook.port")
    if error.errno == errno.EACCES:
        return ConfigError(
            f"{where}: this user may not",
            hint="use a port from 1024 up: claw config set "
                 "channels_config.webhook.port")
    if error.errno in _REFUSED or error.errno is None or error.errno < 0:
        return ConfigError(
            f"{where}: this machine has no such address",
            hint="claw config set channels_config.webhook.host 127.0.0.1")
    return UnavailableError(f"{where}: {error.strerror or error}")
