"""Calls of the REST API v4, and what they refuse.

Errors are JSON: {"id": "api.context...", "message", "status_code"}. The
server limits calls for each account (HTTP 429 in plain text, with
X-RateLimit-Reset): one gate holds them all.
Source: api/v4/source/*.yaml of mattermost/mattermost.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from json import loads
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from claw.channels.client import check_address, check_token
from claw.channels.gate import RateGate, wait_turn
from claw.channels.mattermost.posts import Place
from claw.channels.mattermost.wire import Channel, Me, is_id, read_channel
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.net.errors import Peer, retry_after, status_error, summarise
from claw.net.http import Answer, HttpClient
from claw.net.lean import httpx
from claw.text.segment import clean

if TYPE_CHECKING:
    from claw.channels.mattermost.settings import MattermostSettings

CALL_S = 30.0
FILE_S = 120.0
PATIENCE_S = 10.0  # for a closed gate; longer waits are the caller's
FILE_BYTES = 50 * 1024 * 1024
_TABLE = "channels_config.mattermost"
TOKEN_HINT = f"set it with: claw config set {_TABLE}.bot_token"
URL_HINT = (f"check the network and {_TABLE}.url; see: "
            "claw channel doctor mattermost")
_TRIES = 3
_REMEMBERED = 1000


class RefusedCallError(RequestRefusedError):
    """The server will not do it; `error_id` is its own name for why."""

    def __init__(self, message: str, status: int, error_id: str, *,
                 hint: str | None) -> None:
        super().__init__(message, hint=hint, status=status)
        self.error_id = error_id


class Api:
    """Calls of one bot. Raises AuthError, ConfigError, RateLimitedError,
    RequestRefusedError and UnavailableError; none holds the token."""

    def __init__(self, settings: "MattermostSettings", log: Log, *,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._token = settings.bot_token.strip()
        self.url = settings.url.strip().rstrip("/").removesuffix("/api/v4")
        self.proxy_url = settings.proxy_url
        self.sleep = sleep or asyncio.sleep
        self._log = log
        self.gate = RateGate(clock)
        self._complained: dict[str, str] = {}
        self._clock = clock
        self._ahead_s: float | None = None  # the server's clock to ours
        self._me: Me | None = None
        self._direct: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.peer = Peer("Mattermost", secrets=(
            self._token,) if self._token else (), key_hint=TOKEN_HINT)
        self._http = HttpClient(self.peer, timeout_s=FILE_S,
                                proxy_url=settings.proxy_url,
                                transport=transport,
                                max_bytes=FILE_BYTES + 1024 * 1024)

    async def aclose(self) -> None:
        await self._http.aclose()

    @property
    def headers(self) -> dict[str, str]:
        """What says who asks. Raises AuthError and ConfigError for settings
        with which nobody can be asked."""
        check_token("mattermost", self._token, TOKEN_HINT)
        check_address(self.url, f"{_TABLE}.url", "https://chat.example.org")
        return {"Authorization": f"Bearer {self._token}"}

    @property
    def server_ms(self) -> int | None:
        """The server's time of day, where it has told that."""
        return None if self._ahead_s is None else int(
            1000 * (self._clock() + self._ahead_s))

    @property
    def challenge(self) -> dict[str, Any]:
        """What authenticates a WebSocket whose headers were taken away."""
        return {"token": self._token}

    @property
    def socket_url(self) -> str:
        """http becomes ws, and https wss."""
        return f"ws{self.url.removeprefix('http')}/api/v4/websocket"

    # -- calls

    async def call(self, method: str, path: str, body: Any = None, *,
                   patience_s: float = PATIENCE_S,
                   timeout_s: float = CALL_S) -> Any:
        """The JSON of an answer."""
        answer = await self._ask(method, path, patience_s=patience_s,
                                 timeout_s=timeout_s, json=body)
        try:
            return loads(answer.text)
        except (ValueError, RecursionError) as error:
            raise UnavailableError(
                f"Mattermost answered {_name(path)} with something else than "
                f"JSON: {summarise(answer.text, self.peer.secrets)}",
                hint=URL_HINT) from error

    async def cosmetic(self, method: str, path: str,
                       body: Any = None) -> None:
        """A call that nobody should wait for: dropped while the gate is
        closed. What went wrong is logged once."""
        name = _name(path)
        try:
            await self.call(method, path, body, patience_s=0.0,
                            timeout_s=10.0)
        except RateLimitedError:
            return
        except ClawError as error:
            if self._complained.get(name) != error.message:
                self._complained[name] = error.message
                self._log("mattermost_call_failed", call=name,
                          error=error.message)
            return
        self._complained.pop(name, None)

    async def me(self, *, fresh: bool = False,
                 timeout_s: float = CALL_S) -> Me:
        """Who the token belongs to; asked once unless `fresh`."""
        if self._me is None or fresh:
            found = await self.call("GET", "users/me", timeout_s=timeout_s)
            if not isinstance(found, dict) or not is_id(found.get("id")):
                raise UnavailableError(
                    "Mattermost answered users/me without an id",
                    hint=URL_HINT)
            self._me = Me(found["id"], clean(str(found.get("username")
                                                 or "")),
                          found.get("is_bot") is True)
        return self._me

    async def channels(self) -> list[Channel]:
        """All channels that we are in, of all teams; direct ones too."""
        found = await self.call("GET", "users/me/channels")
        if not isinstance(found, list):
            raise UnavailableError("Mattermost answered users/me/channels "
                                   "with no list", hint=URL_HINT)
        return [c for c in map(read_channel, found) if c is not None]

    async def post_limit(self) -> int | None:
        """The most characters of a post; None where it can't be told."""
        try:
            found = await self.call("GET", "config/client?format=old")
        except RequestRefusedError:
            return None
        given = found.get("MaxPostSize") if isinstance(found, dict) else None
        return int(given) if isinstance(given, str) and given.isascii() \
            and given.isdigit() and len(given) < 7 else None

    async def posts(self, channel: str, query: str) -> list[Any]:
        """Posts of a channel, as they came."""
        found = await self.call("GET", f"channels/{channel}/posts?{query}")
        posts = found.get("posts") if isinstance(found, dict) else None
        if posts is None and isinstance(found, dict) and "order" in found:
            return []
        if not isinstance(posts, dict):
            raise UnavailableError("Mattermost answered channels/posts "
                                   "with no posts", hint=URL_HINT)
        return list(posts.values())

    async def username(self, user: str) -> str:
        """What people call somebody; "" where it can't be told."""
        if user not in self._names:
            try:
                found = await self.call("GET", f"users/{user}")
            except UnavailableError:
                return ""
            if len(self._names) >= _REMEMBERED:
                self._names.clear()
            self._names[user] = clean(str(found.get("username") or "")) \
                if isinstance(found, dict) else ""
        return self._names[user]

    async def find_channel(self, place: Place) -> str:
        """The channel of a place: that of direct messages for a person."""
        if not place.name:
            return place.channel
        if place.name not in self._direct:
            user = await self.call(
                "GET", f"users/username/{quote(place.name)}")
            found = await self.call("POST", "channels/direct", [
                (await self.me()).id, _read_id(user, "users/username")])
            self._direct[place.name] = _read_id(found, "channels/direct")
        return self._direct[place.name]

    async def download(self, file_id: str) -> bytes:
        """The bytes of a file that somebody sent."""
        answer = await self._ask("GET", f"files/{file_id}", timeout_s=FILE_S)
        if len(answer.content) > FILE_BYTES:
            raise RequestRefusedError("the file is larger than "
                                      f"{FILE_BYTES // 2**20} MiB")
        return answer.content

    async def upload(self, channel: str, name: str, content: bytes) -> str:
        """A file for a post of this channel; its id."""
        request = httpx.Request(
            "POST", "http://form/", data={"channel_id": channel},
            files={"files": (name, content)})
        answer = await self._ask(
            "POST", "files", timeout_s=FILE_S, content=request.read(),
            headers={"content-type": request.headers["content-type"]})
        try:
            return _read_id(loads(answer.text)["file_infos"][0], "files")
        except (ValueError, RecursionError, LookupError, TypeError) as error:
            raise UnavailableError("Mattermost took a file and gave no id",
                                   hint=URL_HINT) from error

    # -- the wire

    async def _ask(self, method: str, path: str, *,
                   patience_s: float = PATIENCE_S, timeout_s: float = CALL_S,
                   json: Any = None, content: bytes | None = None,
                   headers: Mapping[str, str] | None = None) -> Answer:
        """An answer that is no refusal. A short 429 is waited out."""
        for attempt in range(1, _TRIES + 1):
            await wait_turn("Mattermost", self.gate.wait_s(None), patience_s,
                            self.sleep)
            try:
                answer = await self._http.request(
                    method, f"{self.url}/api/v4/{path}", json=json,
                    content=content, check=False, timeout_s=timeout_s,
                    headers={**self.headers, **(headers or {})})
            except UnavailableError as error:
                if error.hint is None or "proxy" not in error.hint:
                    error.hint = URL_HINT
                raise
            with suppress(ValueError, TypeError):  # no date
                self._ahead_s = parsedate_to_datetime(answer.headers.get(
                    "date", "")).timestamp() - self._clock()
            if answer.status < 300:
                return answer
            refusal = self._refuse(_name(path), answer)
            if not isinstance(refusal, RateLimitedError):
                raise refusal
            waits = self.gate.close(None, refusal.retry_after_s)
            if waits > patience_s or attempt == _TRIES:
                raise refusal
        raise AssertionError("the last try returns or raises")

    def _refuse(self, name: str, answer: Answer) -> ClawError:
        """The error for a status of 300 or more."""
        status, body = answer.status, _read_error(answer)
        text = summarise(str(body.get("message") or answer.text),
                         self.peer.secrets)
        if status == 429:
            return RateLimitedError(
                f"Mattermost: {name} (429): {text}", status=429,
                hint="it is tried again when Mattermost allows",
                retry_after_s=_read_reset(answer))
        if not body:  # a proxy's page, a wrong address
            error = status_error(self.peer, status, answer.text,
                                 headers=answer.headers)
            error.hint = TOKEN_HINT if status == 401 else URL_HINT
            return error
        if status == 401:
            return AuthError(f"mattermost refused the token (HTTP 401: "
                             f"{text})", hint=TOKEN_HINT, status=401)
        message = f"Mattermost refused {name} ({status}): {text}"
        if status >= 500 and status != 501:
            return UnavailableError(message, hint="try again later",
                                    status=status)
        return RefusedCallError(
            message, status, str(body.get("id")),
            hint="is the bot a member of that channel? see: "
            "claw channel doctor mattermost" if status in (403, 404)
            else None)


def _name(path: str) -> str:
    """A call in an error: its words without ids."""
    return "/".join(word for word in path.partition("?")[0].split("/")
                    if len(word) < 20)


def _read_id(found: Any, name: str) -> str:
    value = found.get("id") if isinstance(found, dict) else None
    if not is_id(value):
        raise UnavailableError(f"Mattermost answered {name} without an id",
                               hint=URL_HINT)
    return str(value)


def _read_error(answer: Answer) -> dict[str, Any]:
    """The server's own error; {} for anything else."""
    try:
        body = loads(answer.text)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) and "id" in body else {}


def _read_reset(answer: Answer) -> float | None:
    """Seconds until the limit is lifted; the documentation has it as a
    time of the epoch, the server sends seconds."""
    wait = retry_after(answer.headers)
    if wait is not None:
        return wait
    try:
        reset = float(answer.headers.get("x-ratelimit-reset", ""))
    except ValueError:
        return None
    return max(0.0, reset - time.time()) if reset > 1e9 else max(0.0, reset)
