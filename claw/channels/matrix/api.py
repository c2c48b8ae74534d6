"""The client-server API over HTTP: calls, media, and what refusals mean.

    body = await api.call("GET", "account", "whoami")

<homeserver>/_matrix/client/v3/<segments, each percent-encoded>, JSON both
ways, the token as a bearer. Source: spec.matrix.org, client-server API 1.16.
"""

import asyncio
import contextlib
import hashlib
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from claw.channels.client import check_token
from claw.channels.gate import RateGate, wait_turn
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.core.value import Value
from claw.net.errors import (
    Peer,
    extract_host,
    retry_after,
    summarise,
)
from claw.net.http import Answer, HttpClient, to_bytes
from claw.net.lean import httpx

CALL_S = 30.0
FILE_S = 120.0
FILE_BYTES = 50 * 1024 * 1024
PATIENCE_S = 3.0  # a call waits this long for the gate, then gives up
SYNC_GRACE_S = 10.0  # beyond the time that the server may take
TABLE = "channels_config.matrix"
TOKEN_HINT = f"set it with: claw config set {TABLE}.access_token"
URL_HINT = (f"check the network and {TABLE}.homeserver; see: "
            "claw channel doctor matrix")
LOGIN_HINT = ("the login is over: log in again for this device and "
              f"claw config set {TABLE}.access_token; see: claw channel "
              "setup matrix")
CLIENT = "/_matrix/client/v3"
MEDIA = "/_matrix/client/v1/media/download"
OLD_MEDIA = "/_matrix/media/v3/download"
CALM_S = 60.0
LONGEST_S = 3600.0  # that a server may ask to wait
_TRIES = 3
_MEDIA = re.compile(r"[\w.=~-]+", re.ASCII)
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


class MatrixRefusedError(RequestRefusedError):
    """The server said no; `errcode` is its own word for why."""

    def __init__(self, message: str, *, errcode: str, status: int,
                 hint: str | None = None) -> None:
        super().__init__(message, status=status, hint=hint)
        self.errcode = errcode


class Me(Value):
    """Who the token belongs to."""

    user_id: str
    device_id: str = ""


class MatrixApi:
    """Calls to one homeserver as one user. Raises AuthError,
    RateLimitedError, RequestRefusedError and UnavailableError; none of
    them holds the token."""

    def __init__(self, homeserver: str, token: str, *, log: Log,
                 sync_s: float = 30.0, me: Me | None = None,
                 proxy_url: str | None = None,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        self._token = token.strip()
        self.base_url = homeserver.strip().rstrip("/")
        self.sync_s = sync_s
        self.sleep = sleep or asyncio.sleep
        self.now = now
        self._log = log
        self._given = me
        self._me: Me | None = None
        self.gate = RateGate(clock)
        self._sign_gate = RateGate(clock)
        self._clock = clock
        self._limited = float("-inf")  # when a send was refused last
        self.clock_skew_s: float | None = None
        self._complained: dict[str, str] = {}
        self.peer = Peer("Matrix", secrets=(self._token,),
                         key_hint=TOKEN_HINT)

        def client(timeout_s: float) -> HttpClient:
            return HttpClient(self.peer, timeout_s=timeout_s,
                              proxy_url=proxy_url, transport=transport,
                              max_bytes=FILE_BYTES + 16 * 1024 * 1024)
        self._http = client(FILE_S)
        self._reads = client(sync_s + SYNC_GRACE_S)

    @property
    def account(self) -> str:
        """The server and a fingerprint of the token: two listeners with
        one token would each miss what the other is given."""
        digest = hashlib.sha256(self._token.encode("utf-8", "replace"))
        host = urlsplit(self.base_url).netloc.rpartition("@")[2] \
            if is_address(self.base_url) else ""
        return f"{host}:{digest.hexdigest()[:12]}"

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._reads.aclose()

    # -- calls

    async def call(self, method: str, *segments: str,
                   body: Any = None, query: Mapping[str, Any] | None = None,
                   room: str | None = None, timeout_s: float = CALL_S,
                   patience_s: float = PATIENCE_S, root: str = CLIENT,
                   gate: RateGate | None = None) -> dict[str, Any]:
        """The JSON object that a call answers with. Waits up to
        `patience_s` for a closed gate, else raises RateLimitedError."""
        if method in ("POST", "PUT") and body is None:
            body = {}
        return await self._gated(
            method, make_path(root, *segments, query=query), room=room,
            timeout_s=timeout_s, patience_s=patience_s, gate=gate,
            name=segments[-1] if len(segments) < 3 else segments[2],
            json=body)

    async def _gated(self, method: str, path: str, *, room: str | None,
                     timeout_s: float, patience_s: float, name: str,
                     gate: RateGate | None = None, **sent: Any
                     ) -> dict[str, Any]:
        gate = gate or self.gate
        tries = 0
        while True:
            tries += 1
            await wait_turn(
                "Matrix", max(gate.wait_s(room), self.gate.wait_s(room)),
                patience_s, self.sleep)
            answer = await self._request(self._http, method, path, timeout_s,
                                         **sent)
            body = read_body(answer)
            if answer.status < 300 and body is not None:
                return body
            error = self._refused(name, answer, body)
            if not isinstance(error, RateLimitedError):
                raise error
            self._limited = self._clock()
            waits = gate.close(room, error.retry_after_s)
            if waits > patience_s or tries >= _TRIES:
                raise error

    def is_calm(self) -> bool:
        """Whether reactions and drafts may go: servers count them as
        messages, and after a limit the answers come first."""
        return self._clock() - self._limited > CALM_S

    async def cosmetic(self, method: str, *segments: str, body: Any = None,
                       room: str | None = None,
                       gate: RateGate | None = None
                       ) -> dict[str, Any] | UnavailableError:
        """A call that nobody should wait for (typing, receipts,
        reactions): dropped while the gate is closed. What went wrong is
        logged once."""
        name = segments[2] if len(segments) > 2 else segments[-1]
        try:
            found = await self.call(
                method, *segments, body=body, room=room, timeout_s=10.0,
                patience_s=0.0, gate=gate or self._sign_gate)
        except RateLimitedError as error:
            return error
        except (UnavailableError, AuthError) as error:
            if self._complained.get(name) != error.message:
                self._complained[name] = error.message
                self._log("matrix_call_failed", call=name,
                          error=error.message)
            return error if isinstance(error, UnavailableError) \
                else UnavailableError(error.message)
        self._complained.pop(name, None)
        return found

    async def sync(self, query: Mapping[str, Any], timeout_s: float
                   ) -> dict[str, Any]:
        """/sync, over connections of its own: after any error on the way
        they are thrown away, so a wedged one is never asked again."""
        path = make_path(CLIENT, "sync", query={
            **query, "timeout": int(timeout_s * 1000)})
        try:
            answer = await self._request(self._reads, "GET", path,
                                         timeout_s + SYNC_GRACE_S)
        except (UnavailableError, asyncio.CancelledError):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await self._reads.aclose()
            raise
        body = read_body(answer)
        if answer.status >= 300 or body is None:
            raise self._refused("sync", answer, body)
        return body

    async def me(self, *, fresh: bool = False,
                 timeout_s: float = CALL_S) -> Me:
        """Who the token belongs to; asked once unless `fresh`. A server
        that can't tell leaves what the settings say."""
        if self._me is None or fresh:
            try:
                body = await self.call("GET", "account", "whoami",
                                       timeout_s=timeout_s)
            except RequestRefusedError:
                if self._given is None:
                    raise
                self._me = self._given
                return self._me
            user, device = body.get("user_id"), body.get("device_id")
            if not isinstance(user, str) or not user.startswith("@"):
                raise UnavailableError("Matrix did not say who the token "
                                       "belongs to", hint=URL_HINT)
            self._me = Me(user, device if isinstance(device, str) else
                          self._given.device_id if self._given else "")
        return self._me

    async def get_public(self, path: str, timeout_s: float) -> Answer:
        """Something that the server tells everybody; no token is shown."""
        return await self._http.request("GET", self.base_url + path,
                                        check=False, timeout_s=timeout_s)

    # -- media

    async def upload(self, content: bytes, name: str, mime_type: str) -> str:
        """Store a file; its mxc:// address."""
        path = make_path("/_matrix/media/v3", "upload",
                         query={"filename": name})
        body = await self._gated(
            "POST", path, room=None, timeout_s=FILE_S, patience_s=PATIENCE_S,
            name="upload", content=content,
            headers={"Content-Type": mime_type})
        found = body.get("content_uri")
        if not isinstance(found, str) or not found.startswith("mxc://"):
            raise UnavailableError("Matrix stored a file without saying "
                                   "where")
        return found

    async def download(self, address: str) -> bytes:
        """The bytes of an mxc:// address. Servers before 1.11 know only
        the path without authentication."""
        where = parse_mxc(address)
        for root in (MEDIA, OLD_MEDIA):
            answer = await self._request(
                self._http, "GET", make_path(root, *where), FILE_S)
            if answer.status in (307, 308):
                answer = await self._follow(answer)
            if answer.status < 300:
                if len(answer.content) > FILE_BYTES:
                    raise RequestRefusedError("the file is larger than "
                                              f"{FILE_BYTES >> 20} MiB")
                return answer.content
            body = read_body(answer)
            if answer.status not in (404, 405) or (
                    body and body.get("errcode") == "M_NOT_FOUND"):
                break
        raise self._refused("download", answer, body)

    async def _follow(self, answer: Answer) -> Answer:
        """What lies where the server keeps its media (S3, a CDN), asked
        without the token."""
        target = answer.headers.get("location", "")
        if not target.startswith("https://"):
            raise RequestRefusedError("the file lies at an address that is "
                                      "not https", status=answer.status)
        found = await self._http.request("GET", target, check=False,
                                         timeout_s=FILE_S)
        if found.status >= 300:
            raise UnavailableError(
                f"{extract_host(target)}, where the homeserver keeps its "
                f"media, answered with HTTP {found.status}",
                status=found.status, hint="try again later")
        return found

    # -- the wire

    async def _request(self, http: HttpClient, method: str, path: str,
                       timeout_s: float, *, json: Any = None,
                       content: bytes | None = None,
                       headers: Mapping[str, str] | None = None) -> Answer:
        if not is_address(self.base_url):
            raise ConfigError(
                f"{TABLE}.homeserver is no http address",
                hint=f"claw config set {TABLE}.homeserver https://HOMESERVER")
        check_token("matrix", self._token, TOKEN_HINT, what="access token")
        try:
            answer = await http.request(
                method, self.base_url + path, json=json, content=content,
                check=False, timeout_s=timeout_s, headers={
                    "Authorization": f"Bearer {self._token}",
                    **(headers or {})})
        except UnavailableError as error:
            if error.hint is None or "proxy_url" not in error.hint:
                error.hint = URL_HINT
            raise
        with contextlib.suppress(ValueError, TypeError):  # no date
            there = parsedate_to_datetime(answer.headers.get("date", ""))
            self.clock_skew_s = self.now() - there.timestamp()
        return answer

    def _refused(self, name: str, answer: Answer,
                 body: dict[str, Any] | None) -> ClawError:
        """The error for an answer that did not do its work."""
        status, code = answer.status, (body or {}).get("errcode")
        said = (body or {}).get("error")
        text = summarise(said if isinstance(said, str) and said
                         else answer.text, self.peer.secrets)
        if not isinstance(code, str):
            if 300 <= status < 400 or status in (404, 405):
                return UnavailableError(
                    f"{extract_host(self.base_url)} answered {name} with "
                    f"HTTP {status}: that is no Matrix homeserver",
                    status=status,
                    hint=URL_HINT)
            return UnavailableError(
                f"Matrix answered {name} (HTTP {status}) with something "
                f"that is not its own: {text}",
                status=status if status >= 300 else None,
                hint="a proxy in between? see: claw channel doctor matrix")
        code = summarise(code, self.peer.secrets)
        if status == 401:
            return AuthError(
                f"matrix refused the access token (HTTP 401 {code}: {text})",
                hint=LOGIN_HINT if (body or {}).get("soft_logout") is True
                else TOKEN_HINT)
        message = f"Matrix refused {name} ({status} {code}): {text}"
        if status == 429 or code == "M_LIMIT_EXCEEDED":
            return RateLimitedError(
                message, status=429, retry_after_s=read_wait_s(answer, body),
                hint="it is tried again when the server allows")
        if status >= 500 and status != 501:
            return UnavailableError(message, hint="try again later",
                                    status=status)
        return MatrixRefusedError(message, errcode=code, status=status,
                                  hint=_HINTS.get(code))


_HINTS = {
    "M_FORBIDDEN": "is the bot in that room, and may it write there?",
    "M_TOO_LARGE": "the server takes no event or file of that size",
    "M_NOT_FOUND": "is the room's id or alias right?",
    "M_USER_DEACTIVATED": "the bot's account was deactivated",
    "M_UNKNOWN_TOKEN": LOGIN_HINT,
}


def read_body(answer: Answer) -> dict[str, Any] | None:
    """The JSON object of an answer; None for anything else."""
    content = answer.content
    try:
        try:
            body = json.loads(content)
        except RecursionError:  # one event of somebody's must not stop all
            body = json.loads(cut_deep(content))
        if b"\\ud" in content.lower():  # halves of characters, perhaps
            body = json.loads(to_bytes(body))
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def cut_deep(content: bytes, most: int = 100) -> bytes:
    """JSON with null in the place of what is nested deeper than that."""
    kept: list[bytes] = []
    depth, at = 0, 0
    for sign in _NESTING.finditer(content):
        if sign[0] in b"[{":
            depth += 1
            if depth == most:
                kept += [content[at:sign.start()], b"null"]
        elif sign[0] in b"]}":
            if depth == most:
                at = sign.end()
            depth -= 1
    return b"".join([*kept, content[at:] if depth < most else b""])


def read_wait_s(answer: Answer, body: dict[str, Any] | None
                ) -> float | None:
    """How long a 429 asks to wait."""
    wait = (body or {}).get("retry_after_ms")
    if isinstance(wait, int | float) and not isinstance(wait, bool) \
            and 0 <= wait < 1e10:
        return min(wait / 1000, LONGEST_S)
    return retry_after(answer.headers)


def make_path(root: str, *segments: str,
              query: Mapping[str, Any] | None = None) -> str:
    """A path with every segment percent-encoded; None stays out of the
    query."""
    path = "/".join([root, *(
        quote(segment.encode("utf-8", "replace"), safe="")
        for segment in segments)])
    asked = {key: value for key, value in (query or {}).items()
             if value is not None}
    return path + (f"?{urlencode(asked, errors='replace')}" if asked else "")


def parse_mxc(address: str) -> tuple[str, str]:
    """Server and id of an mxc:// address. Raises RequestRefusedError."""
    server, _, media = address.removeprefix("mxc://").partition("/")
    if not address.startswith("mxc://") or not server or not media \
            or {server, media} & {".", ".."} or not _MEDIA.fullmatch(media):
        raise RequestRefusedError("the file has no address on a server")
    return server, media


def is_address(url: str) -> bool:
    """Whether an address is one that a request can go to."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) \
            and parts.port != 0 and not parts.query and not parts.fragment
    except ValueError:
        return False
