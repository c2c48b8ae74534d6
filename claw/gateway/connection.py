"""One connection: uvicorn's HTTP/1.1 protocol, with bounds on all that a
stranger can use up.

uvicorn waits without limit for a first request and for a body, takes
Content-Length beside Transfer-Encoding, and answers every fault of a head
with 400. Deadlines, the room and stricter heads are added here; requests
and answers stay its own.
Source: RFC 9112 (6.1 on the two lengths, 3.2.2 on whole URLs), uvicorn
0.54.
"""

import asyncio
import json
import logging
import sys
import time
from email.utils import formatdate
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.server import ServerState

from claw.gateway.room import Limits, Room, find_network
from claw.net.listening import SERVER_NAME

# Faults of endpoints are told by the application, those of strangers by
# their answer: uvicorn's own lines are for nobody.
_silent = logging.getLogger("claw.gateway.silent")
_silent.disabled = True


class StrictHttp(h11.Connection):
    """h11 without what a proxy before us may read otherwise."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(h11.SERVER, limits.head_bytes)
        self._limits = limits

    def next_event(self) -> Any:
        event = super().next_event()
        return self._check(event) if isinstance(event, h11.Request) \
            else event

    def _check(self, request: h11.Request) -> h11.Request:
        names = {name for name, _ in request.headers}
        if b"transfer-encoding" in names and (
                b"content-length" in names or request.http_version != b"1.1"):
            raise h11.RemoteProtocolError(
                "a request has one length: Content-Length or, in HTTP/1.1, "
                "Transfer-Encoding")
        if len(request.headers) > self._limits.head_fields:
            raise h11.RemoteProtocolError("too many header fields",
                                          error_status_hint=431)
        scheme, sign, rest = request.target.partition(b"://")
        if not sign or scheme.lower() not in (b"http", b"https"):
            return request
        host, slash, path = rest.partition(b"/")
        return h11.Request(
            method=request.method, target=slash + path or b"/",
            http_version=request.http_version,
            headers=[(name, host if name == b"host" else value)
                     for name, value in request.headers])


class Connection(H11Protocol):
    """A peer of one server. Its phase is "head", "body", "answer" (the
    request is whole), "rest" (answered before its body had come), "idle",
    "end" (what still comes is read away) or "closed"."""

    def __init__(self, config: Config, state: ServerState, room: Room,
                 limits: Limits) -> None:
        super().__init__(config, state, {})
        self.conn = StrictHttp(limits)
        self.logger, self.access_log = _silent, False
        self.network = "unknown"
        self._room = room
        self._limits = limits
        self._phase = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    # -- what asyncio says

    def connection_made(  # type: ignore[override]
            self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.network = find_network(self.client[0] if self.client
                                    else "unknown")
        if self._room.admit(self):
            self._enter("head", self._limits.head_s)
        else:
            self.turn_away()

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        for timer in (self._deadline, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self._phase == "end":
            return
        if self._phase == "idle":
            self._enter("head", self._limits.head_s)
        self.server_state.default_headers = _default_headers()
        super().data_received(data)
        self._follow()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self._limits.stalled_s,
                                             self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    # -- what uvicorn says

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._follow()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP; called while h11's error is being handled."""
        error = sys.exc_info()[1]
        status = error.error_status_hint \
            if isinstance(error, h11.RemoteProtocolError) else 400
        self.refuse(status, f"that is no HTTP: {error or msg}")

    def shutdown(self) -> None:
        """No further request after the one that is being answered."""
        if self._phase == "answer" and self.cycle is not None \
                and not self.cycle.response_complete:
            self.cycle.keep_alive = False
        else:
            self._close()

    # -- bounds

    def turn_away(self) -> None:
        """End it at once: what lingers would need room too. Between two
        requests it is told nothing."""
        if self._phase != "idle":
            self.refuse(503, "too many connections", (b"retry-after", b"1"))
        self._close()

    def refuse(self, status: int, message: str,
               *headers: tuple[bytes, bytes]) -> None:
        """Answer before the application does, where nothing is said yet,
        and end it."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps({"error": message}).encode() + b"\n"
            for event in (
                    h11.Response(status_code=status,
                                 reason=STATUS_PHRASES[status], headers=[
                        *_default_headers(), (b"connection", b"close"),
                        (b"content-type", b"application/json"),
                        (b"content-length", b"%d" % len(body)), *headers]),
                    h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.scope["state"]["refused"] = status  # for its log line
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.finish()

    def finish(self) -> None:
        """Close it; where bytes are still to come they are read away for a
        moment: closing with bytes unread would lose the answer."""
        if self.conn.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED) \
                or self.transport.is_closing():
            self._close()
            return
        self._enter("end", self._limits.linger_s)
        self.transport.write_eof()

    def _close(self) -> None:
        """End it; asyncio would wait without limit for a peer that leaves
        unread what it was sent."""
        self._enter("closed", self._limits.stalled_s)
        self.transport.close()

    def _follow(self) -> None:
        """Note what the connection does now, and until when it may."""
        if self.transport.is_closing() or self._phase == "end":
            return
        self._unset_keepalive_if_required()  # the deadlines here do
        if self.cycle is not None:
            self.cycle.transport = _Ending(self)  # type: ignore[assignment]
        answered = self.cycle is None or self.cycle.response_complete
        theirs = self.conn.their_state
        if theirs is h11.SEND_BODY and not answered:
            self._enter("body", self._limits.body_s)
            self._room.end_answer(self)  # of the request before
        elif theirs is h11.SEND_BODY:
            self._enter("rest", self._limits.linger_s)
        elif not answered:
            self._enter("answer", None)
            self._room.begin_answer(self)
        elif self._phase in ("answer", "body", "rest"):
            self._enter("idle", self._limits.idle_s)
            self._room.end_answer(self)

    def _enter(self, phase: str, seconds: float | None) -> None:
        if phase == self._phase:
            return
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else \
            self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        """The deadline of this phase. Who never said a word is told none."""
        if self._phase in ("rest", "idle", "end") or (
                self._phase == "head" and not self.conn.trailing_data[0]):
            self._close()
        elif self._phase == "closed":
            self.transport.abort()
        else:
            self.refuse(408, "the body took too long"
                        if self._phase == "body"
                        else "the request took too long")


class _Ending:
    """A transport for uvicorn's answers, whose end is `finish`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing

    def close(self) -> None:
        self._connection.finish()


_headers: tuple[int, list[tuple[bytes, bytes]]] = (0, [])


def _default_headers() -> list[tuple[bytes, bytes]]:
    """Those of every answer, made once a second."""
    global _headers
    now = int(time.time())
    if _headers[0] != now:
        _headers = (now, [(b"date", formatdate(now, usegmt=True).encode()),
                          (b"server", SERVER_NAME.encode())])
    return _headers[1]
