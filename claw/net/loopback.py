"""Plain HTTP to a server on this machine, for httpx.

httpx's own transport brings a connection pool and anyio, 30 ms of CPU that a
single question to a local model does not need. This one opens a connection
for each request over asyncio's streams; h11 speaks the protocol. Everything
past this machine (https, proxies) goes through httpx's transport.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

import h11

from claw.net.lean import httpx

T = TypeVar("T")

_READ_BYTES = 64 * 1024


class LoopbackTransport(httpx.AsyncBaseTransport):
    """One connection a request. Raises httpx's own errors."""

    async def handle_async_request(self, request: httpx.Request
                                   ) -> httpx.Response:
        limits = request.extensions.get("timeout", {})
        wire = await _connect(request, limits)
        try:
            head = await wire.exchange(request)
        except BaseException:
            await wire.aclose()
            raise
        return httpx.Response(
            head.status_code, headers=list(head.headers), stream=wire,
            extensions={"http_version": b"HTTP/1.1",
                        "reason_phrase": bytes(head.reason)})


async def _connect(request: httpx.Request, limits: dict[str, Any]) -> "_Wire":
    host = request.url.host
    port = request.url.port or 80
    try:
        async with asyncio.timeout(limits.get("connect")):
            reader, writer = await asyncio.open_connection(host, port)
    except TimeoutError as error:
        raise httpx.ConnectTimeout("connecting took too long",
                                   request=request) from error
    except OSError as error:
        raise httpx.ConnectError(str(error), request=request) from error
    return _Wire(request, reader, writer, limits)


class _Wire(httpx.AsyncByteStream):
    """One connection: the request out, then the body of the answer."""

    def __init__(self, request: httpx.Request, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter,
                 limits: dict[str, Any]) -> None:
        self._request = request
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.CLIENT)

    async def exchange(self, request: httpx.Request) -> h11.Response:
        """Send the request; the head of the answer."""
        headers = [(name, value) for name, value in request.headers.raw
                   if name.lower() != b"connection"]
        await self._send(h11.Request(
            method=request.method, target=request.url.raw_path,
            headers=[*headers, (b"Connection", b"close")]))
        async for piece in request.stream:  # type: ignore[union-attr]
            await self._send(h11.Data(data=piece))
        await self._send(h11.EndOfMessage())
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
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _send(self, event: Any) -> None:
        try:
            data = self._http.send(event)
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(
                str(error), request=self._request) from error
        if data:
            self._writer.write(data)
            await self._timed("write", self._writer.drain(),
                              httpx.WriteTimeout, httpx.WriteError)

    async def _next(self) -> Any:
        """The next event of the answer."""
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(
                    str(error), request=self._request) from error
            if event is not h11.NEED_DATA:
                return event
            self._http.receive_data(await self._timed(
                "read", self._reader.read(_READ_BYTES),
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
