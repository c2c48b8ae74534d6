"""What the doubles of model servers share: a real HTTP server that runs
inside a `with` block, replies played in order, and faults at the wire.

A double is a dataclass that refuses or chooses (`_choose`) and says which
handler speaks its API; the handler reads a request, asks the double for a
reply and writes it, whole or in pieces. Standard library only.
"""

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from socketserver import BaseServer
from typing import Any, ClassVar, Self


@dataclass(frozen=True, kw_only=True)
class WireReply:
    """How an answer goes over the wire, whatever it says.

    With a `body` that is sent as it is, with its `status`. `fault` is
    "disconnect", "stall", "malformed" or "no_end" (a stream without its
    terminal event); it strikes after `after_chunks` pieces of a stream, at
    once in a plain answer. `chunk_size` is in characters, `delay_s` the
    wait before the first byte.
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    content_type: str = "application/json"
    fault: str | None = None
    after_chunks: int = 1
    chunk_size: int = 7
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it arrived; `body` is the parsed JSON, or None."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes = b""
    body: Any = None


def split_text(text: str, size: int) -> list[str]:
    """Pieces of `size` characters, the last one shorter."""
    return [text[i:i + size] for i in range(0, len(text), size)]


def wire_headers(headers: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Keyword arguments as headers: names with _ for -."""
    return tuple((k.replace("_", "-"), v) for k, v in headers.items())


def html_text(title: str) -> str:
    """What a reverse proxy says when nothing is behind it."""
    return (f"<html><head><title>{title}</title></head>"
            f"<body><h1>{title}</h1></body></html>")


class ModelServer:
    """A server at `host` and `port` (0: any that is free), while inside
    `with`."""

    handler: ClassVar[type["ModelHandler"]]
    reply: ClassVar[Any]  # gives an answer in words
    path: ClassVar[str] = ""  # of the base URL
    host = "127.0.0.1"
    replies: Sequence[Any]
    requests: list[Any]
    port: int

    @property
    def url(self) -> str:
        """The base URL a client is given."""
        return f"http://{self.host}:{self.port}{self.path}"

    def answer(self, request: Any) -> Any:
        """Record a request and choose its reply."""
        with self._lock:
            self.requests.append(request)
            return self._choose(request)

    def _choose(self, request: Any) -> Any:
        raise NotImplementedError

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

    def _next(self, body: Any, echo: str) -> Any:
        """The next of the replies, the last one again and again; `echo`
        where there are none."""
        playable: Any = echo
        if self.replies:
            playable = self.replies[min(self._played, len(self.replies) - 1)]
            self._played += 1
        if callable(playable):
            playable = playable(body)
        return type(self).reply(playable) if isinstance(playable, str) \
            else playable


class _Server(ThreadingHTTPServer):
    """Remembers open connections, to hang up on them at the end."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, fake: ModelServer, port: int) -> None:
        self.fake = fake
        self._open: set[socket] = set()
        super().__init__((fake.host, port), fake.handler)

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
    """One request. Subclasses say what is written: `whole`, `pieces`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stream_type = "text/event-stream"

    def __init__(self, request: Any, address: Any, server: BaseServer) -> None:
        assert isinstance(server, _Server)
        self.fake: Any = server.fake
        super().__init__(request, address, server)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests keep their stderr."""

    def do_GET(self) -> None:
        request = self.read_request()
        reply = self.fake.answer(request)
        if reply.delay_s:
            self.fake.closing.wait(reply.delay_s)
        if reply.body is not None:
            self.send(reply, reply.body)
        elif self.wants_stream(request.body):
            self._stream(reply, request.body)
        else:
            self.plain(reply, json.dumps(self.whole(reply, request.body),
                                         ensure_ascii=False))

    do_POST = do_GET

    def read_request(self) -> Any:
        """The request as the double records it."""
        headers, raw, body = self.read()
        return Recorded(self.command, self.path, headers, raw, body)

    def wants_stream(self, body: Any) -> bool:
        return isinstance(body, dict) and bool(body.get("stream"))

    def whole(self, reply: Any, body: Any) -> Any:
        """An answer in one piece, before it is JSON."""
        raise NotImplementedError

    def pieces(self, reply: Any, body: Any) -> Iterable[str]:
        """What a stream says, each with its own end."""
        raise NotImplementedError

    def garbage(self, reply: Any) -> str:
        """What stands in a stream for a fault that is said."""
        raise NotImplementedError

    def write(self, reply: Any, piece: str) -> None:
        """One piece of a stream."""
        self.chunk(piece)

    def _stream(self, reply: Any, body: Any) -> None:
        self.begin_stream()
        struck = reply.fault not in (None, "no_end")
        for number, piece in enumerate(self.pieces(reply, body)):
            if struck and number >= reply.after_chunks:
                if self.break_off(reply):
                    return
                self.write(reply, self.garbage(reply))
                break
            self.write(reply, piece)
        self.chunk("")

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

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", self.stream_type)
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
