"""A small real HTTP server that speaks the Messages API on 127.0.0.1.

    with FakeAnthropic(["Hello.", tool_use("shell", command="ls")]) as server:
        ...                           # point a client at server.url
        server.requests[0].body       # what it was asked

Replies are played in order, the last one repeats; without replies the last
user message is echoed. Requests that the API would refuse are refused, in
its words. Faults happen at the wire: a status, an error event in
mid-stream, an HTML page, a dropped connection, silence, garbage. Standard
library only.
Source: the anthropic SDK's types and stream fixtures (2.12).
"""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from socketserver import BaseServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from claw.testing.fake_anthropic_answers import (
    Json,
    Reply,
    error_body,
    events,
    failure,
    last_user_text,
    message,
    refused,
)
from claw.testing.fake_anthropic_rules import complaint
from claw.testing.fake_openai import Recorded

Playable: TypeAlias = str | Reply | Callable[[Json], "str | Reply"]


@dataclass
class FakeAnthropic:
    """The server, running inside a `with` block.

    With `api_key` set, any other x-api-key or bearer gets 401. `refuse`
    gives, for a body, the sentence of a refusal or None: what a model does
    not take. `rules` off lets requests through that the API would refuse.
    `models` come `page` at a time.
    """

    replies: Sequence[Playable] = ()
    models: Sequence[str] = ("fake-model",)
    api_key: str | None = None
    refuse: Callable[[Json], str | None] | None = None
    rules: bool = True
    page: int = 20
    requests: list[Recorded] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> "FakeAnthropic":
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

    @property
    def url(self) -> str:
        """The base URL a client is given."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def chats(self) -> list[Recorded]:
        """The recorded requests for messages only."""
        return [r for r in self.requests
                if urlsplit(r.path).path.endswith("/messages")]

    def answer(self, request: Recorded) -> Reply:
        """Record a request and choose its reply."""
        with self._lock:
            self.requests.append(request)
            return self._refusal(request) or self._choose(request)

    def _refusal(self, request: Recorded) -> Reply | None:
        sent = request.headers.get("x-api-key") or request.headers.get(
            "authorization", "").removeprefix("Bearer ")
        if self.api_key is not None and sent != self.api_key:
            return failure(401, "authentication_error", "invalid x-api-key")
        if not request.headers.get("anthropic-version"):
            return refused("anthropic-version: header is required")
        if request.method != "POST":
            return None
        found = complaint(request.body) if self.rules else None
        if found is None and self.refuse is not None:
            found = self.refuse(request.body)
        return None if found is None else refused(found)

    def _choose(self, request: Recorded) -> Reply:
        address = urlsplit(request.path)
        if request.method == "GET" and address.path.endswith("/v1/models"):
            return self._model_list(parse_qs(address.query))
        if not address.path.endswith("/v1/messages"):
            return failure(404, "not_found_error", "Not found")
        if not self.replies:
            return Reply(last_user_text(request.body))
        index = min(self._played, len(self.replies) - 1)
        self._played += 1
        playable = self.replies[index]
        if callable(playable):
            playable = playable(request.body)
        return Reply(playable) if isinstance(playable, str) else playable

    def _model_list(self, query: dict[str, list[str]]) -> Reply:
        size = min(int(query.get("limit", ["20"])[0]), self.page)
        after = query.get("after_id", [""])[0]
        names = list(self.models)
        start = names.index(after) + 1 if after in names else 0
        page = names[start:start + size]
        return Reply(body=json.dumps({
            "data": [{"type": "model", "id": name, "display_name": name,
                      "created_at": "2026-01-01T00:00:00Z",
                      "lifecycle": "active"} for name in page],
            "has_more": start + size < len(names),
            "first_id": page[0] if page else None,
            "last_id": page[-1] if page else None}))


class _Server(ThreadingHTTPServer):
    """Remembers open connections, to hang up on them at the end."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, fake: FakeAnthropic, port: int) -> None:
        self.fake = fake
        self._open: set[socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, request: Any, address: Any, server: BaseServer) -> None:
        assert isinstance(server, _Server)
        self.fake = server.fake
        super().__init__(request, address, server)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests keep their stderr."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {k.lower(): v for k, v in self.headers.items()}
        reply = self.fake.answer(
            Recorded(self.command, self.path, headers, raw, body))
        if reply.body is not None:
            self._send(reply, reply.body)
        elif isinstance(body, dict) and body.get("stream"):
            self._stream(reply, body)
        else:
            self._plain(reply, body)

    def _send(self, reply: Reply, text: str) -> None:
        data = text.encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in reply.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _plain(self, reply: Reply, body: Any) -> None:
        text = json.dumps(message(reply, body), ensure_ascii=False)
        if reply.fault == "malformed":
            text = "{" + text
        elif reply.fault in ("disconnect", "stall"):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode()[:20])
            self._strike(reply)
            return
        self._send(reply, text)

    def _stream(self, reply: Reply, body: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        found = events(reply, body)
        if reply.fault == "no_end":
            found, struck = found[:-1], False
        else:
            struck = reply.fault is not None
        for number, event in enumerate(found):
            if struck and number >= reply.after_events:
                self._strike(reply)
                return
            self._event(event["type"], json.dumps(event, ensure_ascii=False))
        self._chunk("")

    def _strike(self, reply: Reply) -> None:
        """Let the fault happen and end the connection."""
        self.close_connection = True
        if reply.fault == "stall":
            self.fake.closing.wait()
        elif reply.fault == "disconnect":
            self.connection.shutdown(SHUT_RDWR)
        elif reply.fault == "malformed":
            self._event("content_block_delta", "{not json")
            self._chunk("")
        else:
            self._event("error", error_body(
                reply.error, reply.error.removesuffix("_error").replace(
                    "_", " ").capitalize()))
            self._chunk("")

    def _event(self, name: str, data: str) -> None:
        self._chunk(f"event: {name}\ndata: {data}\n\n")

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
