"""The ASGI application: a table of endpoints, and what stands before them.

In this order: the path, Host and Origin, the key, the sliding window, the
size of the body, a repeated Idempotency-Key; then the endpoint. Each call
ends in one line of the log, without query and without headers: a token is
never in it.
"""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route

from claw.core.errors import (
    AuthError,
    BudgetError,
    ClawError,
    DeniedError,
    NotFoundError,
    RateLimitedError,
    UnavailableError,
    UsageError,
    describe,
)
from claw.core.log import Log, silent
from claw.gateway.endpoint import (
    DEFAULT_BODY_BYTES,
    Call,
    Endpoint,
    Key,
    Refused,
    RenderError,
    render_plain,
    reply,
)
from claw.gateway.guard import HostGuard, find_peer, is_direct
from claw.gateway.idempotency import AnswerStore, Kept
from claw.gateway.limits import SlidingWindow
from claw.gateway.room import find_network
from claw.gateway.settings import GatewaySettings

# Errors of claw -> the status that says the same.
_STATUSES: tuple[tuple[type[ClawError], int], ...] = (
    (NotFoundError, 404), (UsageError, 400), (AuthError, 502),
    (BudgetError, 402), (DeniedError, 403), (RateLimitedError, 429),
    (UnavailableError, 503))
_KEY_HEADERS = ("idempotency-key", "x-idempotency-key")
_KEY_CHARS = 255
LINES_PER_MINUTE = 120
LOOK_AGAIN_S = 5.0  # whether the key of a stream still holds
_KEPT_BYTES = 256 * 1024
# Of all bodies together; small ones always find room.
MOST_HELD_BYTES = 256 << 20
_HOW_TO_GET_KEY = "claw gateway token add NAME prints one"

Scope = Any
Receive = Any
Send = Any


class FindsKeys(Protocol):
    """Knows the bearer tokens."""

    def find(self, token: str) -> Key | None: ...


class App:
    """Answers the calls of one gateway. `identify` are the ways to show a
    key; others than the bearer token can be added. `counts` are the calls
    so far, by method, path of the table ("" for none) and status."""

    def __init__(self, settings: GatewaySettings, keys: FindsKeys,
                 log: Log = silent) -> None:
        self.settings = settings
        self.closing = asyncio.Event()
        self.counts: Counter[tuple[str, str, int]] = Counter()
        self.identify: list[Callable[[Request], Key | None]] = [
            lambda request: _find_bearer(request, keys)]
        self._log = log
        self._prefix = (settings.path_prefix or "").rstrip("/")
        self._rows: list[tuple[Route, Endpoint]] = []
        self._hosts = HostGuard([settings.host, *settings.allowed_hosts],
                                settings.public_url)
        most = settings.rate_limit_max_keys or 10_000
        self._windows = {name: SlidingWindow(limit, most=most)
                         for name, limit in (
            ("call", settings.rate_limit_per_minute),
            ("pair", settings.pair_rate_limit_per_minute),
            ("webhook", settings.webhook_rate_limit_per_minute))}
        self._lines = SlidingWindow(LINES_PER_MINUTE, most=most)
        self._unlogged = 0
        self._held = 0
        self._answers = AnswerStore(settings.idempotency_ttl_secs,
                                    settings.idempotency_max_keys)

    def mount(self, endpoints: Iterable[Endpoint]) -> None:
        """Add rows to the table; the first that fits answers."""
        self._rows += [(Route(one.path, _unused, methods=list(one.methods)),
                        one) for one in endpoints]

    def unmount(self, endpoint: Endpoint) -> None:
        """Take a row out again."""
        self._rows = [row for row in self._rows if row[1] is not endpoint]

    @property
    def endpoints(self) -> list[Endpoint]:
        """The table, for an OpenAPI description of it."""
        return [endpoint for _, endpoint in self._rows]

    async def __call__(self, scope: Scope, receive: Receive, send: Send
                       ) -> None:
        if scope["type"] != "http":
            return
        talk = _Talk(scope, receive, send, self._hold)
        began = time.monotonic()
        try:
            await self._serve(talk)
        except ClientDisconnect:  # or one that took too long
            talk.status = talk.status or scope.get("state", {}).get(
                "refused", 499)
        except asyncio.CancelledError:  # the gateway ends
            if not talk.status:
                await talk.refuse(503, "claw is ending; call again",
                                  headers={"Retry-After": "5"})
            raise
        # One call's fault ends no other; what is under way is cut off.
        except Exception as error:
            self._log("gateway.fault", path=talk.shown,
                      error=f"{type(error).__name__}: {describe(error)}")
            if talk.status:
                raise
            await talk.refuse(500, "a fault of claw; its log says more")
        finally:
            self._held -= talk.read
            self.counts[scope["method"][:10] if talk.endpoint else "",
                        talk.endpoint.path if talk.endpoint else "",
                        talk.status] += 1
            self._log_call(talk, time.monotonic() - began)

    def _hold(self, talk: "_Talk", size: int) -> None:
        """Bytes of a body are there. Raises Refused where too many are."""
        talk.read += size
        self._held += size
        if self._held > MOST_HELD_BYTES and talk.read > DEFAULT_BODY_BYTES:
            raise Refused(503, "too many large bodies at once",
                          {"Retry-After": "5"})

    def _log_call(self, talk: "_Talk", took_s: float) -> None:
        """Its line. Calls that are refused to strangers have so many a
        minute, and the next line says how many had none."""
        if talk.key is None and talk.status >= 400 and self._lines.take(
                find_network(talk.peer)) is not None:
            self._unlogged += 1
            return
        self._log("gateway.request", method=talk.scope["method"],
                  path=talk.shown, status=talk.status, peer=talk.peer,
                  key=talk.key.name if talk.key else None,
                  ms=round(took_s * 1000), bytes=talk.sent,
                  unlogged=self._unlogged or None)
        self._unlogged = 0

    async def _serve(self, talk: "_Talk") -> None:
        try:
            talk.peer = find_peer(talk.address, talk.request.headers,
                                  self.settings.trust_forwarded_headers)
            endpoint = self._route(talk)
            self._check_caller(talk, endpoint)
            self._admit(talk, endpoint)
            response = await self._answer(talk, endpoint)
        except Refused as refused:
            await talk.refuse(refused.status, refused.message, refused.hint,
                              refused.headers)
        except ClawError as error:
            wait_s = getattr(error, "retry_after_s", None)
            await talk.refuse(
                next((status for kind, status in _STATUSES
                      if isinstance(error, kind)), 500), error.message,
                error.hint, {"Retry-After": str(round(wait_s))}
                if wait_s else None)
        else:
            await response(talk.scope, talk.receive, talk.send)

    # -- which endpoint

    def _route(self, talk: "_Talk") -> Endpoint:
        path = talk.scope["path"]
        if "\0" in path or "\\" in path:
            raise Refused(400, "the path holds a character that none may")
        if self._prefix:
            if not path.startswith(self._prefix + "/"):
                raise Refused(404, "nothing is at this path")
            path = path[len(self._prefix):]
        allowed: list[str] = []
        for route, endpoint in self._rows:
            if _find_area(endpoint.path) == _find_area(path):
                talk.render = endpoint.render_error  # also where none fits
            match, child = route.matches({**talk.scope, "path": path,
                                          "root_path": ""})
            if match is Match.FULL:
                talk.scope["path_params"] = child["path_params"]
                talk.endpoint, talk.render = endpoint, endpoint.render_error
                return endpoint
            if match is Match.PARTIAL:
                allowed += endpoint.methods
        if allowed:
            methods = ", ".join(dict.fromkeys(allowed))
            raise Refused(405, f"this path takes {methods}",
                          {"Allow": methods})
        raise Refused(404, "nothing is at this path")

    # -- who calls

    def _check_caller(self, talk: "_Talk", endpoint: Endpoint) -> None:
        headers = talk.request.headers
        if endpoint.access == "signed":
            return
        if len(headers.getlist("host")) != 1 \
                or self._hosts.refuses_host(headers.get("host")):
            raise Refused(421, "claw is not called by this name",
                          hint="claw config set gateway.allowed_hosts "
                               "'[\"NAME\"]', or gateway.public_url")
        if self._hosts.refuses_origin(headers):
            raise Refused(403, "another page made this call")
        # A proxy before us may call as a program here does; nginx as it comes
        # says nothing of who calls, and speaks HTTP/1.0.
        talk.is_local = not self.settings.public_url \
            and talk.scope["http_version"] != "1.0" \
            and is_direct(talk.address, headers)
        talk.find_key = lambda: next(filter(None, (
            identify(talk.request) for identify in self.identify)), None)
        talk.key = talk.find_key()

    def _admit(self, talk: "_Talk", endpoint: Endpoint) -> None:
        """Count the call, and refuse it for want of a key."""
        window = self._windows[endpoint.window]
        talk.counted = (f"key:{talk.key.id}" if talk.key
                        else ("local:" if talk.is_local else "")
                        + find_network(talk.peer))
        wait_s = window.take(talk.counted)
        if wait_s is not None:
            seconds = max(1, round(wait_s + 0.5))
            talk.too_many = Refused(429, "too many calls",
                                    {"Retry-After": str(seconds)})
            # Who signs is let in among forgers behind the same proxy.
            if endpoint.access != "signed":
                raise talk.too_many
        shown = "authorization" in talk.request.headers
        if endpoint.access in ("open", "signed") or talk.key is not None:
            return
        if talk.is_local and not shown and (
                endpoint.access == "local"
                or not self.settings.require_pairing):
            return
        raise Refused(401, "the key is not known" if shown
                      else "a key is required: Authorization: Bearer KEY",
                      {"WWW-Authenticate": "Bearer"}, _HOW_TO_GET_KEY)

    # -- the answer

    async def _answer(self, talk: "_Talk", endpoint: Endpoint) -> Response:
        talk.bound_body(endpoint.body_bytes)
        key = _read_idempotency_key(talk) if endpoint.keeps_answers else None
        try:
            if key is None:
                response = await self._make(talk, endpoint)
            else:
                response = await self._make_once(talk, endpoint, key)
        except Refused as refused:
            raise talk.too_many or refused from None
        if endpoint.access == "signed" and not talk.too_many \
                and response.status_code < 300:
            self._windows[endpoint.window].give_back(talk.counted)
        return response

    async def _make_once(self, talk: "_Talk", endpoint: Endpoint, key: str
                         ) -> Response:
        body = await talk.request.body()
        fingerprint = hashlib.sha256(body).hexdigest()
        scope = talk.scope
        name = f"{talk.counted} {scope['method']} {scope['path']}?" \
            f"{scope['query_string'].decode('latin-1')} {key}"
        found = self._answers.begin(name, fingerprint)
        if found == "running":
            raise Refused(409, "the call with this Idempotency-Key is still "
                               "under way", {"Retry-After": "1"})
        if found == "other":
            raise Refused(422, "this Idempotency-Key belongs to a call with "
                               "another body")
        if isinstance(found, Kept):
            again = Response(found.body, found.status)
            again.raw_headers = [*found.headers,
                                 (b"idempotent-replayed", b"true")]
            return again
        kept = None
        try:
            response = await self._make(talk, endpoint)
            if not isinstance(response, StreamingResponse) \
                    and 200 <= response.status_code < 300 \
                    and len(response.body) <= _KEPT_BYTES:
                kept = Kept(fingerprint, response.status_code,
                            tuple(response.raw_headers),
                            bytes(response.body))
            return response
        finally:
            self._answers.end(name, kept)

    async def _make(self, talk: "_Talk", endpoint: Endpoint) -> Response:
        limit_s = endpoint.timeout_s
        if limit_s == 0:
            limit_s = self.settings.request_timeout_secs
        try:
            async with asyncio.timeout(limit_s):
                return await endpoint.handle(Call(
                    talk.request, talk.peer, talk.key, talk.is_local,
                    self.closing))
        except TimeoutError:
            raise Refused(504, f"no answer within {limit_s:g} s") from None


class _Talk:
    """One call on its way: what was asked, by whom, and what was said."""

    def __init__(self, scope: Scope, receive: Receive, send: Send,
                 hold: Callable[["_Talk", int], None]) -> None:
        self.scope = scope
        self.request = Request(scope, self.receive)
        self.address = scope["client"][0] if scope.get("client") else None
        self.peer = self.address or "unknown"
        self.endpoint: Endpoint | None = None
        self.render: RenderError = render_plain
        self.key: Key | None = None
        self.find_key: Callable[[], Key | None] = lambda: None
        self.is_local = False
        self.counted = ""
        self.too_many: Refused | None = None
        self.status = 0
        self.sent = 0
        self._most: int | None = None
        self.read = 0
        self._hold = hold
        self._receive = receive
        self._send = send
        self._looked_at = time.monotonic()

    @property
    def shown(self) -> str:
        """The path for the log: the row's, where there is one."""
        path: str = self.endpoint.path if self.endpoint \
            else self.scope["path"][:100]
        return path

    def bound_body(self, most: int) -> None:
        """Raises Refused where the body is declared to be larger."""
        self._most = most
        declared = self.request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise self._too_large()

    async def receive(self) -> Any:
        message = await self._receive()
        self._hold(self, len(message.get("body", b"")))
        if self._most is not None and self.read > self._most:
            raise self._too_large()
        return message

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        if self.key is not None and message.get("more_body") \
                and time.monotonic() - self._looked_at >= LOOK_AGAIN_S:
            self._looked_at = time.monotonic()
            if self.find_key() != self.key:
                raise ClientDisconnect  # revoked or rotated: cut off
        self.sent += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, status: int, message: str,
                     hint: str | None = None,
                     headers: dict[str, str] | None = None) -> None:
        await reply(self.render(status, message, hint), status, headers)(
            self.scope, self.receive, self.send)

    def _too_large(self) -> Refused:
        return Refused(413, f"the body is larger than {self._most} bytes")


def _find_area(path: str) -> list[str]:
    """The first part of a path: rows that share it refuse alike."""
    return path.split("/", 2)[:2]


def _find_bearer(request: Request, keys: FindsKeys) -> Key | None:
    """The key of the one Authorization header."""
    found = request.headers.getlist("authorization")
    scheme, _, token = found[0].partition(" ") if len(found) == 1 \
        else ("", "", "")
    return keys.find(token.strip()) if scheme.lower() == "bearer" else None


def _read_idempotency_key(talk: _Talk) -> str | None:
    for name in _KEY_HEADERS:
        found = talk.request.headers.get(name)
        if found:
            if len(found) > _KEY_CHARS:
                raise Refused(400, f"{name} is longer than {_KEY_CHARS}")
            return found
    return None


def _unused(request: Request) -> Response:  # starlette wants a function
    raise NotImplementedError
