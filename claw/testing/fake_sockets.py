"""The WebSocket half of a fake platform, in a thread of its own.

    async def serve(connection): ...   # websockets' ServerConnection
    server = SocketServer(serve)
    server.start()
    server.url                         # ws://127.0.0.1:...

`reply` may refuse a handshake by answering an HTTP status for its path.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from claw.testing.loop_thread import LoopThread

T = TypeVar("T")


class SocketServer:
    """Calls `handle` on its loop for each connection, and closes that when
    it returns. `errors` collects what handlers raised."""

    def __init__(self, handle: Callable[[ServerConnection], Awaitable[None]],
                 *, refuse: Callable[[Request], int | None] = lambda _: None,
                 port: int = 0) -> None:
        self.port = port
        self.host = "127.0.0.1"
        self.errors: list[str] = []
        self.connections: set[ServerConnection] = set()
        self._handle = handle
        self._refuse = refuse
        self._loop = LoopThread("fake-sockets")

    @property
    def url(self) -> str:
        return f"ws://{self.host}:{self.port}"

    def start(self, host: str = "127.0.0.1") -> None:
        """Listen, at the same port as before."""
        self.host = host
        self._loop.start()
        self._server = self.run(self._listen())

    def stop(self) -> None:
        """Hang up on everyone and end the thread."""
        if self._loop.running:
            self.run(self._close())
            self._loop.stop()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the server's loop and wait for its end."""
        return self._loop.run(work)

    def call_soon(self, work: Callable[[], Any]) -> None:
        """Have something done on the server's loop, whoever asks."""
        self._loop.call_soon(work)

    def kill_connections(self) -> int:
        """Cut every connection without a goodbye; how many there were."""
        found = list(self.connections)
        for connection in found:
            self.call_soon(connection.transport.abort)
        return len(found)

    async def _listen(self) -> Any:
        server = await serve(
            self._serve, self.host, self.port, ping_interval=None,
            max_size=None, close_timeout=0.5, process_request=self._judge)
        self.port = next(iter(server.sockets)).getsockname()[1]
        return server

    async def _close(self) -> None:
        for connection in list(self.connections):
            connection.transport.abort()
        self._server.close()
        await self._server.wait_closed()

    def _judge(self, connection: ServerConnection,
               request: Request) -> Response | None:
        status = self._refuse(request)
        return None if status is None else connection.respond(
            status, "refused\n")

    async def _serve(self, connection: ServerConnection) -> None:
        self.connections.add(connection)
        try:
            await self._handle(connection)
        except ConnectionClosed:
            pass
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            self.connections.discard(connection)
