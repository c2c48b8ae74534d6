"""The socket to an IRC server: lines in, lines out, no faster than allowed.

TLS unless told otherwise. Errors are UnavailableError and say which end of
the settings to look at.
"""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from claw.channels.irc.line import Line, read_line
from claw.channels.irc.settings import IrcSettings
from claw.core.errors import ConfigError, UnavailableError
from claw.net.errors import Peer, wire_error
from claw.net.remote import load_certificates

CONNECT_S = 15.0
MOST_BYTES = 16 * 1024  # tags have 8,191, the rest 512 or LINELEN
_CLOSE_S = 0.5
_CHUNK = 64 * 1024


class Bucket:
    """Flood control of one connection: `lines` at once, then one each
    `seconds`."""

    def __init__(self, lines: int, seconds: float,
                 clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep
                 ) -> None:
        self._lines = lines
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._full_at = clock()  # when all lines are free again

    @property
    def wait_s(self) -> float:
        """Seconds until a line may go."""
        room = (self._lines - 1) * self._seconds
        return max(0.0, self._full_at - self._clock() - room)

    async def take(self) -> None:
        """Wait for the room of a line."""
        wait = self.wait_s
        self.count()
        if wait > 0:
            await self._sleep(wait)

    def count(self, lines: float = 1.0) -> None:
        """So many lines go."""
        self._full_at = max(self._full_at,
                            self._clock()) + lines * self._seconds


class Wire:
    """An open connection."""

    def __init__(self, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter, where: str) -> None:
        self._reader = reader
        self._writer = writer
        self._where = where
        self._rest = b""
        self._lines: deque[bytes] = deque()
        self._skips = False  # the rest of a line that was too long

    async def read(self) -> Line | None:
        """The next line; None for what is none. Raises UnavailableError at
        the end."""
        while not self._lines:
            try:
                chunk = await self._reader.read(_CHUNK)
            except (OSError, ssl.SSLError) as error:
                raise UnavailableError(f"{self._where} broke off: "
                                       f"{type(error).__name__}") from error
            if not chunk:
                raise UnavailableError(f"{self._where} closed the connection",
                                       hint="try again")
            self._cut(chunk)
        return read_line(self._lines.popleft())

    def _cut(self, chunk: bytes) -> None:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if whole and self._skips:
            del whole[0]
            self._skips = False
        self._lines.extend(line.rstrip(b"\r") for line in whole
                           if len(line) <= MOST_BYTES)
        if len(self._rest) > MOST_BYTES:
            self._rest, self._skips = b"", True

    def post(self, *lines: bytes) -> None:
        """Write without waiting; that it broke off is seen by `read`."""
        with suppress(OSError, RuntimeError):
            self._writer.write(b"".join(lines))

    async def write(self, *lines: bytes) -> None:
        """Raises UnavailableError."""
        try:
            self._writer.write(b"".join(lines))
            async with asyncio.timeout(CONNECT_S):
                await self._writer.drain()
        except (OSError, RuntimeError, TimeoutError) as error:
            raise UnavailableError(f"{self._where} takes nothing: "
                                   f"{type(error).__name__}") from error

    def close(self, farewell: bytes = b"") -> None:
        """At once; what was not read is dropped."""
        with suppress(OSError, RuntimeError):
            if farewell and not self._writer.is_closing():
                self._writer.write(farewell)
            self._writer.close()

    async def wait_closed(self) -> None:
        """Until what was written is gone; a moment at most."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._writer.wait_closed()
                return
        self._writer.transport.abort()


async def open_wire(settings: IrcSettings) -> Wire:
    """Connect. Raises ConfigError, UnavailableError."""
    if not settings.server:
        raise ConfigError("channels_config.irc.server is not set",
                          hint="claw config set channels_config.irc.server "
                               "irc.example.org")
    where = f"{settings.server}:{settings.port}"
    context = make_context(settings)
    try:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(
                settings.server, settings.port, ssl=context,
                server_hostname=settings.server if context else None)
    except (OSError, TimeoutError, UnicodeError) as error:
        failure = wire_error(Peer("the IRC server"), f"irc://{where}", error)
        raise UnavailableError(
            failure.message, hint=_HINTS.get(type(error).__name__, (
                "see: claw channel doctor irc")),
            cause=failure.cause) from error
    return Wire(reader, writer, f"the IRC server {where}")


_HINTS = {
    "SSLCertVerificationError": "for a certificate of your own set "
    "SSL_CERT_FILE, or verify_tls = false in [channels_config.irc]",
    "SSLError": "is that the port for TLS (6697)? For plain TCP set use_tls "
                "= false in [channels_config.irc]",
    "ConnectionRefusedError": "is it running, and is the port right?",
}


def make_context(settings: IrcSettings) -> ssl.SSLContext | None:
    """Raises ConfigError for a client_cert that can't be used."""
    if not settings.use_tls:
        return None
    context = load_certificates()
    if not settings.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.client_cert:
        try:
            context.load_cert_chain(settings.client_cert)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                "channels_config.irc.client_cert can't be used: "
                f"{getattr(error, 'strerror', None) or error}",
                hint="a PEM file with the certificate and its key") from error
    return context
