"""One address before two servers: what asks for a WebSocket goes to one of
them, every other request to the other. A reset is passed on as a reset."""

import asyncio
import socket
import struct
from collections.abc import Callable

_ACCEPT_STEPS = 10
_RESET = struct.pack("ii", 1, 0)  # close with RST: linger on, zero seconds


class Front:
    """Runs on the loop that `start` is called on. `pick` tells the port
    for the head of a connection's first request."""

    def __init__(self, pick: Callable[[bytes], int]) -> None:
        self.port = 0
        self.connections: set[asyncio.StreamWriter] = set()
        self._pick = pick
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self, host: str) -> None:
        """Listen, at the same port as before. Not `start_server`: closing
        that loses the sockets of clients that are just being accepted."""
        self._listener = socket.create_server((host, self.port), backlog=512)
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    async def stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        while self._serving:
            self.reset_all()
            await asyncio.wait(self._serving, timeout=0.01)
        for _ in range(_ACCEPT_STEPS):  # the server behind may be accepting
            await asyncio.sleep(0)

    def reset_all(self) -> int:
        found = list(self.connections)
        for writer in found:
            _reset(writer)
        return len(found)

    def _accept(self) -> None:
        """A client knocks."""
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        client.setblocking(False)
        task = asyncio.get_running_loop().create_task(self._enter(client))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _enter(self, client: socket.socket) -> None:
        await self._serve(*await asyncio.open_connection(sock=client))

    async def _serve(self, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer)
        behind: asyncio.StreamWriter | None = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            answers, behind = await asyncio.open_connection(
                "127.0.0.1", self._pick(head))
            behind.write(head)
            pumps = {asyncio.ensure_future(_pump(reader, behind)),
                     asyncio.ensure_future(_pump(answers, writer))}
            _, left = await asyncio.wait(
                pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in left:
                pump.cancel()
            await asyncio.wait(pumps)
        except (OSError, asyncio.IncompleteReadError,
                asyncio.LimitOverrunError):
            _reset(writer)
        finally:
            if behind is not None:
                behind.transport.abort()
            writer.close()
            self.connections.discard(writer)


async def _pump(reader: asyncio.StreamReader,
                writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    if sock is not None and not writer.transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
