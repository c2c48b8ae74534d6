"""WebSockets to chat platforms, with the policy of net/http.

    async with connect(url, peer, ping_s=30, heard=link.heard) as socket:
        await socket.send("{...}")
        frame = await socket.receive()

Certificates and proxies are those of every other connection, redirects are
not followed (a token would go along), errors are translated once. Over
`websockets`, which is loaded by who makes a channel that needs it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as _connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidProxy,
    InvalidStatus,
    WebSocketException,
)

from claw.core.errors import (
    ConfigError,
    MissingPartError,
    UnavailableError,
)
from claw.core.failpoint import reach
from claw.core.installed import package_command
from claw.net.addresses import is_loopback
from claw.net.errors import (
    Peer,
    extract_host,
    scrub,
    status_error,
    wire_error,
)
from claw.net.http import CONNECT_S, ERROR_BYTES
from claw.net.remote import load_certificates
from claw.version import __version__

FRAME_BYTES = 16 * 1024 * 1024
_CLOSE_S = 1.0


class SocketClosedError(UnavailableError):
    """The connection is over. `code` is the close code, None where it was
    cut; `reason` what the platform said with it."""

    def __init__(self, message: str, code: int | None, reason: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class WebSocket:
    """An open connection. `url` names its host in errors."""

    def __init__(self, connection: ClientConnection, url: str,
                 peer: Peer) -> None:
        self._connection = connection
        self._where = f"{peer.title} at {extract_host(url)}"
        self._secrets = peer.secrets
        self._why = ""

    async def receive(self, timeout_s: float | None = None) -> str | bytes:
        """The next frame. Raises SocketClosedError, UnavailableError where
        none came within `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                frame = await self._connection.recv()
        except TimeoutError as error:
            raise UnavailableError(
                f"{self._where} said nothing for {timeout_s:g} s") from error
        except ConnectionClosed as error:
            raise self._closed(error) from error
        reach("net.response")
        return frame

    async def send(self, frame: str | bytes) -> None:
        """Raises SocketClosedError."""
        reach("net.request")
        try:
            await self._connection.send(frame)
        except ConnectionClosed as error:
            raise self._closed(error) from error

    async def close(self, code: int = 1000) -> None:
        """End it with this code; what waits for a frame hears of it."""
        await self._connection.close(code)

    async def keep_alive(self, every_s: float,
                         heard: Callable[[], None]) -> None:
        """Ping until the connection ends. A ping that is not answered
        within `every_s` ends it: the other side is gone without a word."""
        try:
            while True:
                await asyncio.sleep(every_s)
                async with asyncio.timeout(every_s):
                    await (await self._connection.ping())
                heard()
        except TimeoutError:
            self._why = f"answered no ping within {every_s:g} s"
            self._connection.transport.abort()
        except ConnectionClosed:
            pass  # whoever receives tells

    def _closed(self, error: ConnectionClosed) -> SocketClosedError:
        frame = error.rcvd
        code = None if frame is None else int(frame.code)
        reason = "" if frame is None else scrub(frame.reason, self._secrets)
        why = self._why or ("cut the connection" if code is None else
                            f"closed the connection ({code})")
        return SocketClosedError(
            f"{self._where} {why}" + (f": {reason}" if reason else ""),
            code, reason)


class _Connect(_connect):
    """Goes nowhere else."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@asynccontextmanager
async def connect(url: str, peer: Peer, *,
                  headers: Mapping[str, str] | None = None,
                  subprotocols: tuple[str, ...] = (),
                  proxy_url: str | None = None,
                  ping_s: float | None = None,
                  heard: Callable[[], None] = lambda: None,
                  max_bytes: int = FRAME_BYTES) -> AsyncIterator[WebSocket]:
    """A connection for the block. With `ping_s` it pings by itself, and
    `heard` is called for each pong.

    Raises UnavailableError, AuthError and what else a refused HTTP request
    raises, ConfigError for a proxy that can't be.
    """
    connection = await _open(url, peer, headers, subprotocols, proxy_url,
                             max_bytes)
    socket = WebSocket(connection, url, peer)
    pings = None if ping_s is None else asyncio.create_task(
        socket.keep_alive(ping_s, heard))
    try:
        yield socket
    finally:
        if pings is not None:
            pings.cancel()
            await asyncio.wait({pings})
        await _close(connection)


async def _open(url: str, peer: Peer, headers: Mapping[str, str] | None,
                subprotocols: tuple[str, ...], proxy_url: str | None,
                max_bytes: int) -> ClientConnection:
    near = is_loopback(url)
    options: dict[str, Any] = {}
    if url.startswith("wss:"):
        options["ssl"] = load_certificates()
    if subprotocols:
        options["subprotocols"] = subprotocols
    reach("net.request")
    try:
        connection = await _Connect(
            url, additional_headers=headers, open_timeout=CONNECT_S,
            user_agent_header=f"claw/{__version__}", ping_interval=None,
            close_timeout=_CLOSE_S, max_size=max_bytes,
            proxy=proxy_url or (None if near else True), **options)
    except InvalidStatus as error:
        body = bytes(error.response.body or b"")[:ERROR_BYTES]
        raise status_error(
            peer, error.response.status_code, body.decode("utf-8", "replace"),
            headers={k.lower(): v for k, v in
                     error.response.headers.raw_items()}) from error
    except ImportError as error:
        raise MissingPartError(
            f"the proxy before {peer.title} speaks SOCKS, and python-socks "
            "is not installed",
            hint=package_command("python-socks[asyncio]")) from error
    except InvalidProxy:  # not "from" it: the address may hold a password
        raise ConfigError(
            f"the proxy before {peer.title} can't be used",
            hint="correct the proxy_url, or HTTPS_PROXY") from None
    except (WebSocketException, OSError, TimeoutError, ValueError) as error:
        raise wire_error(peer, url, error, CONNECT_S) from error
    reach("net.response")
    return connection


async def _close(connection: ClientConnection) -> None:
    """Say goodbye, for a moment at most; then it is cut."""
    try:
        async with asyncio.timeout(_CLOSE_S):
            await connection.close()
    except TimeoutError:
        connection.transport.abort()
    except asyncio.CancelledError:
        connection.transport.abort()
        raise
