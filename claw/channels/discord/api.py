"""REST calls of one bot: requests, files, limits, what refusals mean.

    message = await api.call("POST", f"/channels/{chat}/messages", {...})

Source: docs.discord.com/developers, reference and topics/rate-limits, API
v10, read 2026-11.
"""

import asyncio
import base64
import contextlib
import hashlib
import logging
import re
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from claw.channels.client import check_address, check_token, read_json
from claw.channels.discord.limits import Limits
from claw.channels.discord.upload import Upload, multipart
from claw.channels.discord.wire import is_id
from claw.channels.gate import DEFAULT_WAIT_S, bound_wait, wait_turn
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.net.errors import (
    Peer,
    extract_host,
    retry_after,
    status_error,
    summarise,
)
from claw.net.http import Answer, HttpClient
from claw.net.lean import httpx
from claw.net.remote import Redacts

CALL_S = 30.0
FILE_S = 120.0
FILE_BYTES = 25 * 1024 * 1024  # of a file that somebody sent
PATIENCE_S = 3.0  # a call waits this long for a limit, then gives up
TOKEN_HINT = "set it with: claw config set channels_config.discord.bot_token"
GONE = 10008  # the code of "Unknown Message"
_TRIES = 3
_SKEW_S = 2.0  # less may be the way there
_URL_HINT = ("check the network and channels_config.discord.api_base_url; "
             "see: claw channel doctor discord")
_CDN = ("cdn.discordapp.com", "media.discordapp.net")
_TOKEN = r"[A-Za-z0-9_.~+/=-]+"
_IN_URL = re.compile(r"/(interactions|webhooks)/(\d+)/[\w.~+=-]+")
_NO_RIGHTS = (50001, 50013)


logging.getLogger("httpx").addFilter(Redacts(_IN_URL, r"/\1/\2/[REDACTED]"))


class RefusedError(RequestRefusedError):
    """Discord understood and will not; `code` is its own error code."""

    def __init__(self, message: str, code: int, *, status: int,
                 hint: str | None = None) -> None:
        super().__init__(message, hint=hint, status=status)
        self.code = code


class Api:
    """Calls of one bot. Raises AuthError, RateLimitedError, RefusedError
    and UnavailableError; none of them holds the token."""

    def __init__(self, token: str, base_url: str, *, log: Log,
                 proxy_url: str | None = None,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        self.token = token.strip().removeprefix("Bot ")
        self.base_url = base_url.rstrip("/")
        self.proxy_url = proxy_url
        self.sleep = sleep or asyncio.sleep
        self._log = log
        self._limits = Limits(clock)
        self._now = now
        self._ahead_s = 0.0  # Discord's clock to ours
        self._complained: dict[str, str] = {}
        self._me: str | None = None
        self.peer = Peer("Discord", key_hint=TOKEN_HINT, secrets=(
            (self.token, self.token.rpartition(".")[2])
            if self.token else ()))
        self._http = HttpClient(self.peer, timeout_s=FILE_S,
                                proxy_url=proxy_url, transport=transport,
                                max_bytes=FILE_BYTES + 1024 * 1024)

    @property
    def account(self) -> str:
        """The bot's id, which is the first part of the token; for another
        form of token a fingerprint."""
        return read_bot_id(self.token) or hashlib.sha256(
            self.token.encode("utf-8", "replace")).hexdigest()[:12]

    async def aclose(self) -> None:
        await self._http.aclose()

    @property
    def ahead_s(self) -> float:
        """By how much Discord's clock is ahead of ours, as far as it has
        told it."""
        return self._ahead_s

    def server_time(self) -> float:
        """Unix seconds by Discord's clock, by which ids are given out, as
        far as it has told it."""
        return self._now() + self._ahead_s

    # -- calls

    async def call(self, method: str, path: str, body: Any = None, *,
                   upload: Upload | None = None, timeout_s: float = CALL_S,
                   patience_s: float = PATIENCE_S) -> Any:
        """The JSON of the answer, None for an empty one.

        Waits up to `patience_s` for a limit, else raises RateLimitedError
        with `retry_after_s`.
        """
        tries = 0
        while True:
            tries += 1
            await wait_turn("Discord", self._limits.wait_s(method, path),
                            patience_s, self.sleep)
            self._limits.take(method, path)
            answer = await self._ask(method, path, body, upload,
                                     FILE_S if upload else timeout_s)
            self._limits.note(method, path, answer.headers)
            if answer.status < 300:
                return self._read(answer)
            error = self._refused(method, path, answer)
            if not isinstance(error, RateLimitedError) \
                    or (error.retry_after_s or 0.0) > patience_s \
                    or tries == _TRIES:
                raise error

    async def cosmetic(self, method: str, path: str, body: Any = None
                       ) -> UnavailableError | None:
        """A call that nobody should wait for (typing, reactions, drafts):
        dropped while a limit stands. What went wrong is logged once."""
        kind = f"{method} {path.split('/')[-1] or path}"
        try:
            await self.call(method, path, body, timeout_s=10.0,
                            patience_s=0.0)
        except RateLimitedError as error:
            return error
        except UnavailableError as error:
            if self._complained.get(kind) != error.message:
                if len(self._complained) > 100:
                    self._complained.clear()
                self._complained[kind] = error.message
                self._log("discord_call_failed", error=error.message)
            return error
        return None

    async def me(self, *, timeout_s: float = CALL_S) -> dict[str, Any]:
        """The user that the bot is."""
        found = await self.call("GET", "/users/@me", timeout_s=timeout_s)
        if not isinstance(found, dict) or not is_id(found.get("id")):
            raise UnavailableError("Discord answered /users/@me without an "
                                   "id", hint=_URL_HINT)
        return found

    async def bot_id(self) -> str:
        """As the token says it, else as Discord does."""
        if self._me is None:
            self._me = read_bot_id(self.token) or str((await self.me())["id"])
        return self._me

    async def download(self, url: str) -> bytes:
        """The bytes of a file that somebody sent."""
        if not self._is_file_host(url):
            raise RequestRefusedError(
                f"the file lies at {extract_host(url)}, which is not "
                "Discord's")
        answer = await self._request("GET", url, timeout_s=FILE_S)
        if answer.status >= 300:
            raise status_error(self.peer, answer.status, answer.text,
                               headers=answer.headers)
        return answer.content

    def _is_file_host(self, url: str) -> bool:
        try:
            parts, own = urlsplit(url), urlsplit(self.base_url)
            return (parts.scheme == "https" and parts.hostname in _CDN
                    and parts.port in (None, 443)) or (
                (parts.scheme, parts.netloc) == (own.scheme, own.netloc))
        except ValueError:
            return False

    # -- the wire

    async def _ask(self, method: str, path: str, body: Any,
                   upload: Upload | None, timeout_s: float) -> Answer:
        headers = {"authorization": f"Bot {self.checked_token()}"}
        content: bytes | None = None
        if upload is not None:
            content, more = multipart(body, upload)
            headers.update(more)
        try:
            answer = await self._request(
                method, f"{self.base_url}{path}", headers=headers,
                content=content, timeout_s=timeout_s,
                json=None if upload is not None else body)
        except UnavailableError as error:
            if error.hint is None or "proxy_url" not in error.hint:
                error.hint = _URL_HINT
            raise
        with contextlib.suppress(ValueError, TypeError):  # no date
            ahead = parsedate_to_datetime(answer.headers.get(
                "date", "")).timestamp() - self._now()
            self._ahead_s = ahead if abs(ahead) > _SKEW_S else 0.0
        return answer

    async def _request(self, method: str, url: str, **more: Any) -> Answer:
        try:
            return await self._http.request(method, url, check=False, **more)
        finally:
            # It keeps what stands in queries for secrets: ids, for ever.
            self._http.peer = self.peer

    def checked_token(self) -> str:
        """Raises AuthError and ConfigError for what can't be asked with."""
        check_token("discord", self.token, TOKEN_HINT, form=_TOKEN)
        check_address(self.base_url, "channels_config.discord.api_base_url",
                      "https://discord.com/api/v10")
        return self.token

    def _read(self, answer: Answer) -> Any:
        if answer.status == 204 or not answer.content:
            return None
        try:
            return read_json(answer.text)
        except ValueError as error:
            text = summarise(answer.text, self.peer.secrets)
            raise UnavailableError(
                "Discord's address answered without the API's JSON: "
                f"{text}", hint=_URL_HINT) from error

    def _refused(self, method: str, path: str, answer: Answer) -> ClawError:
        """The error for an answer that is a refusal."""
        body: Any = None
        with contextlib.suppress(ValueError):
            body = read_json(answer.text)
        if not isinstance(body, dict) or "message" not in body:
            body = None
        if answer.status == 429:
            return self._limited(method, path, answer, body)
        text = summarise(answer.text, self.peer.secrets)
        if answer.status == 401 and body is not None:
            return AuthError(f"discord refused the token (HTTP 401: {text})",
                             hint=TOKEN_HINT, status=401)
        if body is None:
            error = status_error(self.peer, answer.status, answer.text,
                                 headers=answer.headers)
            if not isinstance(error, AuthError):
                error.hint = _URL_HINT
            return error
        message = f"Discord refused {method} {_name(path)} " \
                  f"({answer.status}): {text}"
        if answer.status >= 500:
            return UnavailableError(message, status=answer.status,
                                    hint="try again later")
        code = body.get("code")
        code = code if isinstance(code, int) else 0
        return RefusedError(
            message, code, status=answer.status,
            hint="the bot may not do that there: give it the permission in "
                 "the server's or the channel's settings"
                 if code in _NO_RIGHTS else None)

    def _limited(self, method: str, path: str, answer: Answer,
                 body: dict[str, Any] | None) -> RateLimitedError:
        wait_s = body.get("retry_after") if body else None
        if isinstance(wait_s, bool) or not isinstance(wait_s, int | float):
            wait_s = retry_after(answer.headers)
        wait_s = bound_wait(DEFAULT_WAIT_S if wait_s is None else wait_s)
        # Without the API's JSON it is the network before it that closes.
        self._limits.close(method, path, wait_s, everywhere=body is None
                           or body.get("global") is True)
        return RateLimitedError(
            f"Discord: {method} {_name(path)} (429): too many calls; "
            f"{wait_s:.1f} s to wait", status=429, retry_after_s=wait_s,
            hint="it is tried again when Discord allows")


def read_bot_id(token: str) -> str | None:
    """The id in a token, base64 in front of its first dot."""
    first = token.partition(".")[0]
    try:
        found = base64.urlsafe_b64decode(first + "=" * (-len(first) % 4))
        text = found.decode("ascii")
    except ValueError:
        return None
    return text if is_id(text) else None


def _name(path: str) -> str:
    """A path as errors show it: without ids and tokens."""
    words = [word for word in path.partition("?")[0].split("/")
             if word.replace("@", "").isalpha()]
    return "/" + "/".join(words)
