"""Plain HTTP to a server on this machine, for httpx.

httpx's own transport brings a connection pool and anyio, 30 ms of CPU that a
single question to a local model does not need. This one works over
asyncio's streams; h11 speaks the protocol. A connection is used again within
two seconds, well before servers close idle ones: a request that fails on it
is never sent again by itself, since it may have done its work. Everything
past this machine (https, proxies) goes through httpx's transport.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import h11

from claw.net.lean import httpx

T = TypeVar("T")

_READ_BYTES = 64 * 1024
IDLE_S = 2.0
MOST_IDLE = 16


class _Line(NamedTuple):
    """An open connection, and when it was last used."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    http: h11.Connection
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


class LoopbackTransport(httpx.AsyncBaseTransport):
    """A few idle connections for each server. Raises httpx's own
    errors."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], list[_Line]] = {}
        self._closed = False

    async def handle_async_request(self, request: httpx.Request
                                   ) -> httpx.Response:
        limits = request.extensions.get("timeout", {})
        line = await self._line(request, limits)
        wire = _Wire(request, line, limits, self._keep)
        try:
            head = await wire.exchange(request)
        except BaseException:
            await wire.abort()
            raise
        return httpx.Response(
            head.status_code, headers=list(head.headers), stream=wire,
            extensions={"http_version": b"HTTP/1.1",
                        "reason_phrase": bytes(head.reason)})

    async def aclose(self) -> None:
        self._closed = True
        idle, self._idle = self._idle, {}
        for lines in idle.values():
            for line in lines:
                await line.close()

    async def _line(self, request: httpx.Request,
                    limits: dict[str, Any]) -> _Line:
        idle = self._idle.get(_server(request), [])
        if idle:  # llama.cpp hangs up behind a stream without a word:
            await asyncio.sleep(0)  # the loop asks the socket
            await asyncio.sleep(0)  # and hears of it
        while idle:
            line = idle.pop()
            if line.is_fresh:
                return line
            await line.close()
        return await _connect(request, limits)

    def _keep(self, request: httpx.Request, line: _Line) -> None:
        """Put a connection back for the next request."""
        idle = self._idle.setdefault(_server(request), [])
        if len(idle) < MOST_IDLE and not self._closed \
                and not line.writer.is_closing():
            idle.append(line._replace(used_at=time.monotonic()))
        else:
            line.writer.close()


def _server(request: httpx.Request) -> tuple[str, int]:
    return request.url.host, request.url.port or 80


async def _connect(request: httpx.Request, limits: dict[str, Any]) -> _Line:
    try:
        async with asyncio.timeout(limits.get("connect")):
            reader, writer = await asyncio.open_connection(*_server(request))
    except TimeoutError as error:
        raise httpx.ConnectTimeout("connecting took too long",
                                   request=request) from error
    except OSError as error:
        raise httpx.ConnectError(str(error), request=request) from error
    return _Line(reader, writer, h11.Connection(h11.CLIENT))


class _Wire(httpx.AsyncByteStream):
    """One connection: the request out, then the body of the answer."""

    def __init__(self, request: httpx.Request, line: _Line,
                 limits: dict[str, Any],
                 keep: Callable[[httpx.Request, _Line], None]) -> None:
        self._request = request
        self._line = line
        self._limits = limits
        self._keep = keep
        self._closed = False

    async def exchange(self, request: httpx.Request) -> h11.Response:
        """Send the request; the head of the answer."""
        headers = [(name, value) for name, value in request.headers.raw
                   if name.lower() != b"connection"]
        out = self._said(h11.Request(
            method=request.method, target=request.url.raw_path,
            headers=headers))
        async for piece in request.stream:  # type: ignore[union-attr]
            out += self._said(h11.Data(data=piece))
        out += self._said(h11.EndOfMessage())
        trace = request.extensions.get("trace")
        if trace is not None:  # as httpcore says it
            await trace("http11.send_request_headers.started", {})
        # Head and body in one packet: the server is woken once.
        self._line.writer.write(out)
        await self._timed("write", self._line.writer.drain(),
                          httpx.WriteTimeout, httpx.WriteError)
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise httpx.RemoteProtocolError(
                    "the connection closed before an answer",
                    request=self._request)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self  # no generator: one would have to be closed in order

    async def __anext__(self) -> bytes:
        event = await self._next()
        if not isinstance(event, h11.Data):
            raise StopAsyncIteration
        return bytes(event.data)

    async def aclose(self) -> None:
        """Keep the connection where both sides are through with it."""
        http = self._line.http
        if self._closed:
            return
        self._read_what_came()
        if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            await self.abort()
            return
        self._closed = True
        http.start_next_cycle()
        self._keep(self._request, self._line)

    def _read_what_came(self) -> None:
        """Who reads a stream up to its last event leaves the end of the
        message, which came in the same packet."""
        http = self._line.http
        with contextlib.suppress(h11.RemoteProtocolError):
            while http.their_state is h11.SEND_BODY:
                if http.next_event() is h11.NEED_DATA:
                    return

    async def abort(self) -> None:
        """Close the connection."""
        self._closed = True
        await self._line.close()

    def _said(self, event: Any) -> bytes:
        try:
            return self._line.http.send(event) or b""
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(
                str(error), request=self._request) from error

    async def _next(self) -> Any:
        """The next event of the answer."""
        while True:
            try:
                event = self._line.http.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(
                    str(error), request=self._request) from error
            if event is not h11.NEED_DATA:
                return event
            self._line.http.receive_data(await self._timed(
                "read", self._line.reader.read(_READ_BYTES),
                httpx.ReadTimeout, httpx.ReadError))

    async def _timed(self, kind: str, work: Awaitable[T],
                     late: type[httpx.TimeoutException],
                     broken: type[httpx.NetworkError]) -> T:
        try:
            async with asyncio.timeout(self._limits.get(kind)):
                return await work
        except TimeoutError as error:
            raise late("no word in time", request=self._request) from error
        except OSError as error:
            raise broken(str(error), request=self._request) from error
