"""A way out for a program that connects by itself, such as a browser.

A SOCKS server on this machine: whoever connects names a host, `find` gives
its addresses or refuses, and the connection goes to just these. So one check
covers every request of the program, what pages load and where they redirect
too, and a name server that changes its mind changes nothing.
Source: RFC 1928.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from claw.core.errors import ClawError, DeniedError

Find: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
CONNECT_S = 10.0
_CHUNK = 64 * 1024
_MOST_REFUSED = 1_000
_VERSION, _CONNECT, _NO_LOGIN = 5, 1, 0
_V4, _NAME, _V6 = 1, 3, 4
_DONE, _NOT_ALLOWED, _UNREACHABLE, _NO_SUCH_COMMAND = 0, 2, 4, 7


class Tunnel:
    """`refused` are the sentences of what was not allowed."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.refused: list[str] = []

    async def start(self) -> int:
        """Listen on 127.0.0.1; the port."""
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def note_refusal(self, sentence: str) -> None:
        """A page can ask without end."""
        if len(self.refused) < _MOST_REFUSED:
            self.refused.append(sentence)

    async def close(self) -> None:
        """Hang up on everyone."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader,
                writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(CONNECT_S):
                there = await self._connect(reader, writer)
            if there is not None:
                await _join((reader, writer), there)
        except (OSError, EOFError, TimeoutError):
            pass  # one end is gone
        finally:
            writer.close()

    async def _connect(self, reader: asyncio.StreamReader,
                       writer: asyncio.StreamWriter
                       ) -> tuple[asyncio.StreamReader,
                                  asyncio.StreamWriter] | None:
        """The connection that was asked for; None where it is refused."""
        version, methods = await reader.readexactly(2)
        if version != _VERSION:
            return None
        await reader.readexactly(methods)
        writer.write(bytes((_VERSION, _NO_LOGIN)))
        _, command, _, kind = await reader.readexactly(4)
        host = await _read_host(reader, kind)
        port = int.from_bytes(await reader.readexactly(2))
        there, answer = None, _NO_SUCH_COMMAND
        if command == _CONNECT and host:
            there, answer = await self._reach(host, port)
        writer.write(bytes((_VERSION, answer, 0, _V4, 0, 0, 0, 0, 0, 0)))
        await writer.drain()
        return there

    async def _reach(self, host: str, port: int
                     ) -> tuple[tuple[asyncio.StreamReader,
                                      asyncio.StreamWriter] | None, int]:
        try:
            addresses = await self._find(host, port)
        except DeniedError as error:
            self.note_refusal(error.message)
            return None, _NOT_ALLOWED
        except (ClawError, OSError, UnicodeError):
            return None, _UNREACHABLE
        for address in addresses:
            with suppress(OSError):
                return await asyncio.open_connection(address, port), _DONE
        return None, _UNREACHABLE


async def _read_host(reader: asyncio.StreamReader, kind: int) -> str:
    """A name or an address; "" for what is neither."""
    if kind == _V4:
        return socket.inet_ntop(socket.AF_INET, await reader.readexactly(4))
    if kind == _V6:
        return socket.inet_ntop(socket.AF_INET6,
                                await reader.readexactly(16))
    if kind == _NAME:
        length = (await reader.readexactly(1))[0]
        return (await reader.readexactly(length)).decode("ascii", "replace")
    return ""


async def _join(here: tuple[asyncio.StreamReader, asyncio.StreamWriter],
                there: tuple[asyncio.StreamReader, asyncio.StreamWriter]
                ) -> None:
    """Carry bytes both ways until both ends have said all."""
    try:
        await asyncio.gather(_carry(here[0], there[1]),
                             _carry(there[0], here[1]))
    finally:
        there[1].close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter
                 ) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
