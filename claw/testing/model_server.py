"""What the doubles of model servers share: a real HTTP server that runs
inside a `with` block, replies played in order, and faults at the wire.

A double is a dataclass with `replies` and `port` that says which handler
speaks its API; the handler reads a request, asks the double for a reply and
writes it. Standard library only.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from socketserver import BaseServer
from typing import Any, ClassVar, Self


class ModelServer:
    """A server at `port` (0: any that is free), while inside `with`."""

    handler: ClassVar[type["ModelHandler"]]
    replies: Any
    port: int

    def __enter__(self) -> Self:
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._played = 0
        self._server = _Server(self, self.port)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def _next(self, body: Any) -> Any:
        """The next of the replies, the last one again and again; None
        where there are none."""
        if not self.replies:
            return None
        index = min(self._played, len(self.replies) - 1)
        self._played += 1
        playable = self.replies[index]
        return playable(body) if callable(playable) else playable


class _Server(ThreadingHTTPServer):
    """Remembers open connections, to hang up on them at the end."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, fake: ModelServer, port: int) -> None:
        self.fake = fake
        self._open: set[socket] = set()
        super().__init__(("127.0.0.1", port), fake.handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news."""

    def hang_up(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(SHUT_RDWR)
            except OSError:
                continue


class ModelHandler(BaseHTTPRequestHandler):
    """One request. Subclasses give `serve`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, request: Any, address: Any, server: BaseServer) -> None:
        assert isinstance(server, _Server)
        self.fake: Any = server.fake
        super().__init__(request, address, server)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests keep their stderr."""

    def do_GET(self) -> None:
        self.serve()

    def do_POST(self) -> None:
        self.serve()

    def serve(self) -> None:
        raise NotImplementedError

    def read(self) -> tuple[dict[str, str], bytes, Any]:
        """Header names in lower case, the body, and the body as JSON (None
        where it is none)."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        return {k.lower(): v for k, v in self.headers.items()}, raw, body

    def send(self, reply: Any, text: str) -> None:
        """A whole answer with the reply's status and headers."""
        data = text.encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in reply.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def plain(self, reply: Any, text: str) -> None:
        """An answer in one piece, or what its fault leaves of it."""
        if reply.fault == "malformed":
            text = "{" + text
        elif reply.fault in ("disconnect", "stall"):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode()[:20])
            self.break_off(reply)
            return
        self.send(reply, text)

    def begin_stream(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def break_off(self, reply: Any) -> bool:
        """Let a "stall" or "disconnect" happen; False for other faults."""
        self.close_connection = True
        if reply.fault == "stall":
            self.fake.closing.wait()
        elif reply.fault == "disconnect":
            self.connection.shutdown(SHUT_RDWR)
        return reply.fault in ("stall", "disconnect")

    def chunk(self, data: str | bytes) -> None:
        """A piece of a chunked body; an empty one ends it."""
        raw = data.encode() if isinstance(data, str) else data
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
