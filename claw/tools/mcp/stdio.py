"""A program that speaks MCP, in the sandbox, as a transport of `mcp`.

One JSON-RPC message a line, UTF-8. The package's own transport starts the
program as it is and keeps a line of any length in memory; so this one
stands in its place. What is no message is passed over, as many programs
print other things; a line past 4 MiB ends the program.
Source: modelcontextprotocol.io, specification 2026-07-28, transports.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from claw.security.sandbox import children
from claw.security.sandbox.sandbox import Launch
from claw.security.visible import visible

LINE_BYTES = 4 << 20
_RUBBISH_BYTES = 8 << 20
_CHUNK = 65_536
_KEPT_BYTES = 2_000
_GRACE_S = 0.5


class Program:
    """A server's program. `ended` is set once nothing more comes of it,
    and `fault` says why where that was its own doing."""

    def __init__(self, prepare: Callable[[int], Launch]) -> None:
        self._prepare = prepare
        self._said = bytearray()
        self.fault = ""
        self.ended = asyncio.Event()

    @property
    def last_words(self) -> str:
        """The last line on its standard error, fit to be looked at."""
        lines = self._said.decode(errors="replace").strip().splitlines()
        return visible(lines[-1])[:300] if lines else ""

    def open(self) -> Transport:
        """Start it; at the end it and all that it started is gone."""
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Any]:
        async with children.talk(self._prepare) as talk:
            incoming, received = anyio.create_memory_object_stream[
                SessionMessage | Exception](0)
            sent, outgoing = anyio.create_memory_object_stream[
                SessionMessage](0)
            tasks = [asyncio.create_task(each) for each in (
                self._read(talk.stdout, incoming),
                self._note(talk.stderr),
                self._write(talk.stdin, outgoing))]
            try:
                yield received, sent
            finally:
                talk.stdin.close()  # it is asked to end
                try:
                    await asyncio.wait(tasks[:1], timeout=_GRACE_S)
                finally:
                    for task in tasks:
                        task.cancel()
                    for stream in (incoming, received, sent, outgoing):
                        stream.close()
                    await asyncio.wait(tasks)

    async def _read(self, stdout: asyncio.StreamReader, incoming: Any
                    ) -> None:
        rubbish = 0
        async with incoming:
            try:
                async for line in _split_lines(stdout):
                    try:
                        message = jsonrpc_message_adapter.validate_json(
                            line, by_name=False)
                    except ValueError:
                        rubbish += len(line)  # it prints something else
                        if rubbish > _RUBBISH_BYTES:
                            self.fault = "it writes what is no message"
                            return
                        continue
                    await incoming.send(SessionMessage(message))
            except _LineTooLongError:
                self.fault = (f"it wrote a line of more than "
                              f"{LINE_BYTES >> 20} MiB")
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # nobody reads any more
            finally:
                self.ended.set()

    async def _note(self, stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(_CHUNK):
            self._said += chunk
            del self._said[:-_KEPT_BYTES]

    async def _write(self, stdin: asyncio.WriteTransport, outgoing: Any
                     ) -> None:
        async for each in outgoing:
            text = each.message.model_dump_json(by_alias=True,
                                                exclude_unset=True)
            stdin.write(text.encode() + b"\n")


class _LineTooLongError(Exception):
    pass


async def _split_lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    kept = bytearray()
    while chunk := await stream.read(_CHUNK):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            yield bytes(kept + part)
            kept.clear()
        kept += rest
        if len(kept) > LINE_BYTES:
            raise _LineTooLongError
