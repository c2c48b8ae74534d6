"""The receiving half: a server, signatures, and what its senders hear.

A message is answered 200 only after it is committed; a sender that hears
anything else sends it again, and its `id` makes that a no-op.
"""

import asyncio
import time
from collections.abc import Callable

from claw.channels.webhook.incoming import (
    HOW_TO_SIGN,
    MAX_SKEW_S,
    SIGNATURE_HEADER,
    TIME_HEADER,
    BadBody,
    is_signed,
    read_message,
)
from claw.channels.webhook.server import (
    SERVER_NAME,
    Limits,
    Refused,
    Reply,
    Request,
    Server,
    bind_error,
    refusal,
)
from claw.channels.webhook.settings import WebhookSettings
from claw.core.abilities import Finding, HearsReceives, HearsServing
from claw.core.channel import Inbox
from claw.core.errors import describe
from claw.core.log import Log

_COMPLAIN_EVERY_S = 10.0
_UNSIGNED = ("the signature is missing or is not that of this time and "
             f"body: {HOW_TO_SIGN}")
_STALE = (f"{TIME_HEADER} is {{:.0f}} s from this machine's clock, more than "
          f"{MAX_SKEW_S}: sign anew with the present time, keep the id")


class Receiver:
    """What listens. `port` is the bound one, None while nothing does;
    `clock` is Unix seconds."""

    def __init__(self, settings: WebhookSettings, log: Log,
                 limits: Limits | None, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._secret = settings.secret or ""
        self._path = "/" + settings.listen_path.strip().lstrip("/")
        self._log = log
        self._limits = limits
        self._clock = clock
        self._refused = 0
        self._complained_at = float("-inf")
        self.port: int | None = None

    async def listen(self, inbox: Inbox) -> None:
        async def handle(request: Request) -> Reply:
            return await self._take(request, inbox)

        server = Server(self._check, handle, self._limits)
        self.port = await server.start(self._settings.host,
                                       self._settings.port)
        self._log("webhook_listening", host=self._settings.host,
                  port=self.port, path=self._path)
        hears = inbox if isinstance(inbox, HearsServing) else None
        if hears is not None:
            hears.serving(self._settings.host, self.port)
        try:
            await asyncio.Event().wait()
        finally:
            self.port = None
            await server.close()
            if hears is not None:
                hears.stopped_serving()

    def _check(self, request: Request) -> None:
        """What can be refused before a body is read."""
        if request.path != self._path:
            raise Refused(refusal(404, "nothing is at this path"))
        if request.method != "POST":
            raise Refused(refusal(405, "messages are posted", Allow="POST"))
        if None in _signature(request):
            raise Refused(self._refuse(request, _UNSIGNED))

    async def _take(self, request: Request, inbox: Inbox) -> Reply:
        seconds, given = _signature(request)
        if not is_signed(self._secret, request.body, seconds, given):
            return self._refuse(request, _UNSIGNED)
        now = self._clock()
        skew_s = abs(now - int(seconds or 0))
        if skew_s > MAX_SKEW_S:
            return self._refuse(request, _STALE.format(skew_s))
        try:
            message = read_message(request.body, now)
        except BadBody as error:
            return refusal(400, str(error))
        try:
            await inbox.put(message)
        # Whatever kept it from the disk: the sender has to hear of it.
        except Exception as error:
            self._log("webhook_not_accepted", id=message.id,
                      error=describe(error))
            return refusal(503, "the message could not be kept; send it "
                                "again", Retry_After="5")
        if isinstance(inbox, HearsReceives):
            inbox.received()
        return Reply(200, {"status": "accepted", "id": message.id})

    def _refuse(self, request: Request, why: str) -> Reply:
        """401, with a line in the log at most every ten seconds."""
        self._refused += 1
        now = time.monotonic()
        if now - self._complained_at >= _COMPLAIN_EVERY_S:
            self._log("webhook_signature_refused", peer=request.peer,
                      times=self._refused, why=why)
            self._complained_at, self._refused = now, 0
        return refusal(401, why, WWW_Authenticate=SIGNATURE_HEADER)

    async def find_port(self) -> Finding:
        host, port = self._settings.host, self._settings.port
        if self.port is not None:
            return Finding("port", "ok", f"listening on {host}:{self.port}")
        try:
            server = await asyncio.start_server(
                lambda reader, writer: writer.close(), host, port)
        except OSError as error:
            if await _is_claw(host, port):
                return Finding("port", "ok",
                               f"a running claw listens on {host}:{port}")
            problem = bind_error(host, port, error)
            return Finding("port", "fail", problem.message, problem.hint)
        server.close()
        await server.wait_closed()
        return Finding("port", "ok", f"{host}:{port} is free")


def _signature(request: Request) -> tuple[bytes | None, bytes | None]:
    """What was signed when, and how."""
    return (request.header(TIME_HEADER.lower()),
            request.header(SIGNATURE_HEADER.lower()))


async def _is_claw(host: str, port: int) -> bool:
    """Whether the program on this port is one of us."""
    near = "127.0.0.1" if host in ("0.0.0.0", "") else host
    try:
        async with asyncio.timeout(1.0):
            reader, writer = await asyncio.open_connection(near, port)
            try:
                writer.write(b"HEAD / HTTP/1.1\r\nHost: claw\r\n\r\n")
                head = await reader.read(1024)
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    return f"server: {SERVER_NAME}\r\n" in head.decode("latin-1").lower()
