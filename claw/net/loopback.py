"""Plain HTTP to a server on this machine, over asyncio's streams.

httpx and what it brings cost 90 ms of CPU that a single question to a local
model does not need. A connection is used again within two seconds, well
before servers close idle ones: a request that fails on it is never sent
again by itself, since it may have done its work. Cookies play no part.
Everything past this machine (https, proxies) goes over remote.py.
"""

import asyncio
import contextlib
import time
import zlib
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Mapping
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit

from claw.core.value import Value, replace
from claw.net.carrier import (
    ConnectError,
    ConnectTimeout,
    InvalidURL,
    ReadError,
    ReadTimeout,
    RemoteProtocolError,
    Request,
    WireFailure,
    WriteError,
    WriteTimeout,
)
from claw.net.http1 import AnswerParser, Head, ProtocolError, write_request
from claw.net.unpacking import PACKED, Unpacking

T = TypeVar("T")

_READ_BYTES = 64 * 1024
_UNPACKED_BYTES = 1024 * 1024
IDLE_S = 2.0
MOST_IDLE = 16
_IN_PATHS = "/%:@!$&'()*+,;=~-._[]|"


class _Line(Value):
    """An open connection, and when it was last used."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used_at: float = 0.0

    @property
    def is_fresh(self) -> bool:
        """Whether it can carry one more request."""
        return not (self.reader.at_eof() or self.writer.is_closing()
                    or time.monotonic() - self.used_at > IDLE_S)

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class _Place(Value):
    """Where a URL leads."""

    host: str
    port: int
    target: str
    authority: str
    login: str | None = None


class Loopback:
    """A few idle connections for each server."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], list[_Line]] = {}
        self._closed = False

    async def send(self, request: Request) -> "LoopbackResponse":
        place = read_url(request.url)
        headers = {"host": place.authority, "accept": "*/*",
                   "accept-encoding": "gzip, deflate", **request.headers}
        if place.login is not None:
            headers["authorization"] = place.login
        out = write_request(request.method, place.target, headers,
                            request.content)
        line = await self._line(place, request.connect_s)
        response = LoopbackResponse(self, place, line, request)
        try:
            await response.exchange(out)
        except BaseException:
            await response.abort()
            raise
        return response

    async def aclose(self) -> None:
        self._closed = True
        idle, self._idle = self._idle, {}
        for lines in idle.values():
            for line in lines:
                await line.close()

    async def _line(self, place: _Place, connect_s: float) -> _Line:
        idle = self._idle.get((place.host, place.port), [])
        if idle:  # llama.cpp hangs up behind a stream without a word:
            await asyncio.sleep(0)  # the loop asks the socket
            await asyncio.sleep(0)  # and hears of it
        while idle:
            line = idle.pop()
            if line.is_fresh:
                return line
            await line.close()
        try:
            async with asyncio.timeout(connect_s):
                return _Line(*await asyncio.open_connection(
                    place.host, place.port))
        except TimeoutError as error:
            raise ConnectTimeout("connecting took too long") from error
        except OSError as error:
            raise ConnectError(str(error)) from error

    def keep(self, place: _Place, line: _Line) -> None:
        """Put a connection back for the next request."""
        idle = self._idle.setdefault((place.host, place.port), [])
        if len(idle) < MOST_IDLE and not self._closed \
                and not line.writer.is_closing():
            idle.append(replace(line, used_at=time.monotonic()))
        else:
            line.writer.close()


class LoopbackResponse:
    """One connection: the request out, then the body of the answer."""

    status = 0
    headers: Mapping[str, str] = {}

    def __init__(self, pool: Loopback, place: _Place, line: _Line,
                 request: Request) -> None:
        self._pool = pool
        self._place = place
        self._line = line
        self._request = request
        self._parser = AnswerParser(request.method)
        self._closed = False

    async def exchange(self, out: bytes) -> None:
        """Send the request, read the head of the answer."""
        if self._request.leaving is not None:
            self._request.leaving()
        # Head and body in one packet: the server is woken once.
        self._line.writer.write(out)
        await self._timed(self._line.writer.drain(), WriteTimeout, WriteError)
        while (head := self._read_head()) is None:
            await self._receive()
        self.status, self.headers = head.status, head.headers

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body, unpacked where it is packed."""
        packing = self.headers.get("content-encoding", "").strip().lower()
        unpack = Unpacking() if packing in PACKED else None
        while piece := await self._piece():
            if unpack is None:
                yield piece
                continue
            try:
                while found := unpack(piece, _UNPACKED_BYTES):
                    yield found
                    piece = b""
            except zlib.error as error:
                raise RemoteProtocolError("packed badly") from error

    async def aclose(self) -> None:
        """Keep the connection where both sides are through with it. Who
        reads a stream up to its last event leaves the end of the message,
        which came in the same packet."""
        if self._closed:
            return
        with contextlib.suppress(ProtocolError):
            while self._parser.head and self._parser.read_body():
                pass
        if self._parser.reusable:
            self._closed = True
            self._pool.keep(self._place, self._line)
        else:
            await self.abort()

    async def abort(self) -> None:
        """Close the connection."""
        self._closed = True
        await self._line.close()

    async def _piece(self) -> bytes:
        """The next piece of the body, none at its end."""
        while True:
            try:
                piece = self._parser.read_body()
            except ProtocolError as error:
                raise RemoteProtocolError(str(error)) from error
            if piece or self._parser.done:
                return piece
            await self._receive()

    def _read_head(self) -> Head | None:
        try:
            return self._parser.read_head()
        except ProtocolError as error:
            raise RemoteProtocolError(str(error)) from error

    async def _receive(self) -> None:
        self._parser.receive(await self._timed(
            self._line.reader.read(_READ_BYTES), ReadTimeout, ReadError))

    async def _timed(self, work: Awaitable[T], late: type[WireFailure],
                     broken: type[WireFailure]) -> T:
        try:
            async with asyncio.timeout(self._request.timeout_s):
                return await work
        except TimeoutError as error:
            raise late("no word in time") from error
        except OSError as error:
            raise broken(str(error)) from error


def read_url(url: str) -> _Place:
    """Where a URL leads. A user and a password in it are Basic
    authentication. Raises InvalidURL."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 80
    except ValueError as error:
        raise InvalidURL(str(error)) from error
    if any(sign < " " or sign == "\x7f" for sign in url):
        raise InvalidURL("a control character")
    login = None
    if parts.username or parts.password:
        pair = ":".join(unquote(p or "")
                        for p in (parts.username, parts.password))
        login = f"Basic {b64encode(pair.encode()).decode()}"
    target = quote(parts.path or "/", safe=_IN_PATHS)
    if parts.query:
        target += "?" + quote(parts.query, safe=_IN_PATHS + "?")
    shown = f"[{host}]" if ":" in host else host
    return _Place(host, port, target,
                  shown if port == 80 else f"{shown}:{port}", login)
