"""The Web API over HTTP: calls, downloads and uploads.

    found = await api.call("chat.postMessage", {"channel": "C1", ...})

POST <base>/<method> with the token as a bearer; what holds lists goes as
JSON, the rest as a form, which is all that many methods read. Slack limits
each method for itself, and posting for each channel.
Source: docs.slack.dev/apis/web-api and /apis/web-api/rate-limits.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from claw.channels.client import check_address, check_token
from claw.channels.gate import RateGate, wait_turn
from claw.channels.slack.answers import read_body, read_refusal
from claw.channels.slack.settings import SlackSettings
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.core.value import Value
from claw.net.addresses import is_loopback
from claw.net.errors import Peer, status_error
from claw.net.http import Answer, HttpClient
from claw.net.lean import httpx

CALL_S = 30.0
FILE_S = 120.0
SIGN_S = 10.0
FILE_BYTES = 20 * 1024 * 1024  # what is fetched; Slack itself takes 1 GB
PATIENCE_S = 3.0  # a call waits this long for the gate, then gives up
_TRIES = 3
_SKEW_S = 2.0  # less may be the way there
_HOPS = 5
_TABLE = "channels_config.slack"
TOKEN_HINT = f"set it with: claw config set {_TABLE}.bot_token"
APP_TOKEN_HINT = (f"set it with: claw config set {_TABLE}.app_token, "
                  "an app-level token with connections:write")
# Slack's own hosts: elsewhere no file is fetched from.
_HOSTS = ("slack.com", "slack-edge.com", "slack-files.com")
_AS_JSON = frozenset(("chat.postMessage", "chat.update",
                      "chat.postEphemeral", "assistant.threads.setStatus"))


class Bot(Value):
    """Who we are there; `scopes` are None where the server tells none."""

    user_id: str = ""
    bot_id: str = ""
    name: str = ""
    team: str = ""
    scopes: frozenset[str] | None = None


class SlackApi:
    """Calls of one bot. Raises AuthError, RateLimitedError,
    RequestRefusedError and UnavailableError; none holds a token."""

    def __init__(self, settings: SlackSettings, *, log: Log,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        self._token = settings.bot_token.strip()
        self.app_token = settings.app_token.strip()
        self.proxy_url = settings.proxy_url
        self.base_url = _with_path(settings.api_base_url.strip())
        self.sleep = sleep or asyncio.sleep
        self.clock_skew_s = 0.0
        self._log = log
        self._clock = clock
        self._now = now
        self._gates: dict[str, RateGate] = {}
        self._complained: dict[str, str] = {}
        self._bot: Bot | None = None
        self.peer = Peer("Slack", secrets=tuple(filter(None, (
            self._token, self.app_token))), key_hint=TOKEN_HINT)
        self._http = HttpClient(
            self.peer, timeout_s=FILE_S, proxy_url=settings.proxy_url,
            transport=transport, max_bytes=FILE_BYTES + 1024 * 1024)

    async def aclose(self) -> None:
        await self._http.aclose()

    def server_time(self) -> float:
        """Unix seconds by Slack's clock, as far as it has told it."""
        return self._now() - self.clock_skew_s

    # -- calls

    async def call(self, method: str,
                   params: Mapping[str, Any] | None = None, *,
                   timeout_s: float = CALL_S,
                   patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """The answer of a method; parameters that are None stay out.

        Waits up to `patience_s` for a limit to end, else raises
        RateLimitedError with `retry_after_s`.
        """
        sent = {k: v for k, v in (params or {}).items() if v is not None}
        chat = str(sent["channel"]) if method == "chat.postMessage" else None
        gate = self._gates.setdefault(method, RateGate(self._clock))
        for left in reversed(range(_TRIES)):
            await wait_turn("Slack", gate.wait_s(chat), patience_s,
                            self.sleep)
            try:
                return (await self._ask(method, sent, self._bearer(),
                                        timeout_s))[0]
            except RateLimitedError as error:
                waits = gate.close(chat, error.retry_after_s)
                if waits > patience_s or not left:
                    raise
        raise AssertionError("unreachable")

    async def cosmetic(self, method: str, params: Mapping[str, Any], *,
                       fine: tuple[str, ...] = ()) -> ClawError | None:
        """A call that nobody should wait for (typing, reactions), dropped
        while it is limited. What went wrong is logged once; `fine` are
        refusals that say that it was so already."""
        try:
            await self.call(method, params, timeout_s=SIGN_S, patience_s=0.0)
        except RateLimitedError as error:
            return error
        except (UnavailableError, AuthError) as error:
            if not error.message.endswith(fine or ("\0",)) \
                    and self._complained.get(method) != error.message:
                self._complained[method] = error.message
                self._log("slack_call_failed", method=method,
                          error=error.message, hint=error.hint)
            return error
        self._complained.pop(method, None)
        return None

    async def me(self, *, timeout_s: float = CALL_S,
                 fresh: bool = False) -> Bot:
        """Who the bot token belongs to; asked once unless `fresh`."""
        if self._bot is None or fresh:
            found, answer = await self._ask("auth.test", {}, self._bearer(),
                                            timeout_s)
            scopes = answer.headers.get("x-oauth-scopes")
            user_id, bot_id, name, team = (
                str(found.get(key) or "") for key in (
                    "user_id", "bot_id", "user", "team"))
            self._bot = Bot(
                user_id, bot_id, name, team,
                None if scopes is None else frozenset(
                    scope.strip() for scope in scopes.split(",")))
        return self._bot

    async def open_socket(self, *, timeout_s: float = CALL_S) -> str:
        """The address of a new Socket Mode connection, good for one."""
        if not self.app_token:
            raise AuthError("slack has no app token", hint=APP_TOKEN_HINT)
        try:
            found, _ = await self._ask("apps.connections.open", {},
                                       self.app_token, timeout_s)
        except AuthError as error:
            error.hint = APP_TOKEN_HINT
            raise
        url = found.get("url")
        if not isinstance(url, str) or not url.startswith(
                ("ws://", "wss://") if is_loopback(self.base_url)
                or self.base_url.startswith("http:") else "wss://"):
            raise UnavailableError("Slack answered apps.connections.open "
                                   "without an address")
        return url

    # -- files

    async def download(self, url: str) -> bytes:
        """A file that somebody sent, at most FILE_BYTES. The token goes to
        the first host alone."""
        headers = {"authorization": f"Bearer {self._bearer()}"}
        for _ in range(_HOPS):
            if not self._is_ours(url):
                raise RequestRefusedError("the file is not at Slack")
            answer = await self._http.request(
                "GET", url, headers=headers, check=False, timeout_s=FILE_S)
            target = answer.headers.get("location")
            if not 300 <= answer.status < 400 or not target:
                break
            url, headers = urljoin(url, target), {}
        if answer.status >= 300:
            raise status_error(self.peer, answer.status, answer.text,
                               headers=answer.headers)
        if len(answer.content) > FILE_BYTES:
            raise RequestRefusedError("the file is larger than 20 MiB")
        if answer.headers.get("content-type", "").startswith("text/html") \
                and not urlsplit(url).path.endswith((".html", ".htm")):
            raise RequestRefusedError(
                "Slack sent a login page and not the file: the bot token "
                "lacks the scope files:read, or the app was not installed "
                "again since it has it")
        return answer.content

    async def upload(self, url: str, content: bytes) -> None:
        """The bytes to the address that files.getUploadURLExternal gave."""
        if not self._is_ours(url):
            raise UnavailableError("Slack named another host for the upload")
        answer = await self._http.request(
            "POST", url, content=content, check=False, timeout_s=FILE_S,
            headers={"content-type": "application/octet-stream"})
        if answer.status >= 300:
            raise status_error(self.peer, answer.status, answer.text,
                               headers=answer.headers)

    def _is_ours(self, url: str) -> bool:
        """Whether files may be fetched from here, or brought here."""
        try:
            parts, base = urlsplit(url), urlsplit(self.base_url)
            host = parts.hostname or ""
            slack = parts.scheme == "https" and parts.port in (None, 443) \
                and any(host == own or host.endswith("." + own)
                        for own in _HOSTS)
            near = is_loopback(url) and is_loopback(self.base_url)
            return slack or near or (parts.scheme, host, parts.port) == (
                base.scheme, base.hostname, base.port)
        except ValueError:
            return False

    # -- the wire

    async def _ask(self, method: str, params: Mapping[str, Any], token: str,
                   timeout_s: float) -> tuple[dict[str, Any], Answer]:
        headers = {"authorization": f"Bearer {token}"}
        if method in _AS_JSON:
            headers["content-type"] = "application/json; charset=utf-8"
            body: dict[str, Any] = {"json": dict(params)}
        else:
            headers["content-type"] = "application/x-www-form-urlencoded"
            body = {"content": _as_form(params)}
        answer = await self._http.request(
            "POST", f"{self._checked()}/{method}", headers=headers,
            check=False, timeout_s=timeout_s, **body)
        with contextlib.suppress(ValueError, TypeError):  # no date
            there = parsedate_to_datetime(answer.headers.get("date", ""))
            skew = self._now() - there.timestamp() - 0.5  # whole seconds
            self.clock_skew_s = skew if abs(skew) > _SKEW_S else 0.0
        found = read_body(answer)
        if found.get("ok") is True:
            return found, answer
        raise read_refusal(self.peer, method, answer, found)

    def _bearer(self) -> str:
        check_token("slack", self._token, TOKEN_HINT)
        return self._token

    def _checked(self) -> str:
        check_address(self.base_url, f"{_TABLE}.api_base_url",
                      "https://slack.com/api")
        return self.base_url


def _with_path(url: str) -> str:
    """The address of the Web API; of a bare host the usual path."""
    bare = url.rstrip("/")
    try:
        return bare if urlsplit(bare).path else bare + "/api"
    except ValueError:
        return bare


def _as_form(params: Mapping[str, Any]) -> bytes:
    return urlencode({
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in params.items()}, errors="replace").encode()
