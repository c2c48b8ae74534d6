"""REST calls of one bot: its access token, requests, files, refusals.

    found = await api.call("POST", "/v2/users/OPENID/messages", {...})

A refusal is JSON: {"message", "code", "err_code", "trace_id"}. The endpoint
of the token says what is wrong with HTTP 200.
Source: bot.q.qq.com/wiki, API v2: interface-framework/api-use,
error-trace/openapi.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from claw.channels.client import check_address, check_token, read_json
from claw.channels.gate import RateGate, wait_turn
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
from claw.net.http import Answer, HttpClient, tell_leaving
from claw.net.lean import httpx

if TYPE_CHECKING:
    from claw.channels.qq.settings import QqSettings

CALL_S = 30.0
FILE_S = 120.0
FILE_BYTES = 25 * 1024 * 1024  # of a file that somebody sent
PATIENCE_S = 3.0  # a call waits this long for a limit, then gives up
EARLY_S = 60.0  # a token is renewed that much before its end
_TABLE = "channels_config.qq"
SECRET_HINT = (f"copy the AppSecret at https://q.qq.com and set it with: "
               f"claw config set {_TABLE}.app_secret")
_URL_HINT = ("check the network and, if they are set, the addresses in "
             f"[{_TABLE}]; see: claw channel doctor qq")
_TRIES = 3
_SKEW_S = 2.0  # less may be the way there
# Where QQ keeps what people send.
_FILE_HOSTS = (".qq.com", ".qq.com.cn", ".qpic.cn", ".qlogo.cn")
_BAD_SECRET = (100007, 100016, 11251, 11261, 11275)
_BAD_TOKEN = (11241, 11242, 11243, 11244)
_TOO_MANY = (100001, 20028, 1100100, 1100308)


class RefusedError(RequestRefusedError):
    """QQ understood and will not; `code` is its own error code."""

    def __init__(self, message: str, code: int, *, status: int,
                 hint: str | None = None) -> None:
        super().__init__(message, hint=hint, status=status)
        self.code = code


class Api:
    """Calls of one bot. Raises AuthError, ConfigError, RateLimitedError,
    RefusedError and UnavailableError; none of them holds a secret."""

    def __init__(self, settings: "QqSettings", log: Log, *,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        self.app_id = str(settings.app_id).strip()
        self.base_url = settings.base_url
        self.token_url = settings.token_url.strip()
        self.proxy_url = settings.proxy_url
        self.sleep = sleep or asyncio.sleep
        self._secret = settings.app_secret.strip()
        self._log = log
        self._clock = clock
        self._now = now
        self._ahead_s = 0.0  # QQ's clock to ours
        self._gate = RateGate(clock)
        self._complained: dict[str, str] = {}
        self._token, self._token_until = "", float("-inf")
        self._fetching = asyncio.Lock()
        self.peer = Peer("QQ", secrets=(
            self._secret,) if self._secret else (), key_hint=SECRET_HINT)
        self._http = HttpClient(self.peer, timeout_s=FILE_S,
                                proxy_url=settings.proxy_url,
                                transport=transport,
                                max_bytes=FILE_BYTES + 1024 * 1024)

    async def aclose(self) -> None:
        await self._http.aclose()

    def server_time(self) -> float:
        """Unix seconds by QQ's clock, by which messages grow too old to be
        answered, as far as it has told it."""
        return self._now() + self._ahead_s

    # -- the token

    def check_settings(self) -> None:
        """Raises AuthError and ConfigError where nobody can be asked."""
        check_token("qq", self.app_id,
                    f"claw config set {_TABLE}.app_id APPID", what="app_id",
                    form="[A-Za-z0-9_-]+")
        check_token("qq", self._secret, SECRET_HINT, what="app_secret")
        check_address(self.base_url, f"{_TABLE}.api_base_url",
                      "https://api.sgroup.qq.com")
        check_address(self.token_url, f"{_TABLE}.token_url",
                      "https://bots.qq.com/app/getAppAccessToken")

    async def token(self, *, timeout_s: float = CALL_S) -> str:
        """A token that is good for a while."""
        async with self._fetching:
            if self._clock() >= self._token_until:
                await self._fetch_token(timeout_s)
            return self._token

    def forget_token(self) -> None:
        """It was refused: the next call fetches another one."""
        self._token_until = float("-inf")

    async def _fetch_token(self, timeout_s: float) -> None:
        self.check_settings()
        answer = await self._request(
            "POST", self.token_url, timeout_s=timeout_s,
            json={"appId": self.app_id, "clientSecret": self._secret})
        body = self._read_object(answer)
        token, life_s = body.get("access_token"), _number(
            body.get("expires_in"))
        if answer.status >= 300 or not isinstance(token, str) or not token:
            raise self._refuse("getAppAccessToken", answer, body)
        check_token("qq", token, SECRET_HINT, what="access token")
        self._token = token
        self._token_until = self._clock() + max(
            EARLY_S, (life_s or 0) - EARLY_S)
        self.peer = self._http.peer = Peer(
            "QQ", secrets=(self._secret, token), key_hint=SECRET_HINT)

    # -- calls

    async def call(self, method: str, path: str, body: Any = None, *,
                   chat: str | None = None, timeout_s: float = CALL_S,
                   patience_s: float = PATIENCE_S,
                   leaving: Callable[[], None] | None = None) -> Any:
        """The JSON of the answer, None for an empty one. `chat` is whose
        limit it counts for; `leaving` is called before each request.

        Waits up to `patience_s` for a limit, else raises RateLimitedError
        with `retry_after_s`. A token that is refused is renewed once.
        """
        tries, renewed = 0, False
        while True:
            tries += 1
            await wait_turn("QQ", self._gate.wait_s(chat), patience_s,
                            self.sleep)
            token = await self.token(timeout_s=timeout_s)
            with tell_leaving(leaving) if leaving else nullcontext():
                answer = await self._request(
                    method, f"{self.base_url}{path}", json=body,
                    timeout_s=timeout_s, headers={
                        "Authorization": f"QQBot {token}",
                        "X-Union-Appid": self.app_id})
            if answer.status < 300:
                return self._read(answer)
            error = self._refuse(f"{method} {_name(path)}", answer,
                                 self._try_object(answer))
            if isinstance(error, AuthError) and not renewed:
                renewed = True  # it may have ended before its time
                self.forget_token()
            elif isinstance(error, RateLimitedError):
                waits = self._gate.close(chat, error.retry_after_s)
                if waits > patience_s or tries == _TRIES:
                    raise error
            else:
                raise error

    async def cosmetic(self, method: str, path: str,
                       body: Any = None) -> None:
        """A call that nobody should wait for. What went wrong is logged
        once."""
        name = f"{method} {_name(path)}"
        try:
            await self.call(method, path, body, timeout_s=10.0,
                            patience_s=0.0)
        except RateLimitedError:
            return
        except ClawError as error:
            if self._complained.get(name) != error.message:
                self._complained[name] = error.message
                self._log("qq_call_failed", error=error.message)
            return
        self._complained.pop(name, None)

    async def me(self, *, timeout_s: float = CALL_S) -> dict[str, Any]:
        """The user that the bot is."""
        found = await self.call("GET", "/users/@me", timeout_s=timeout_s)
        if not isinstance(found, dict) or not isinstance(
                found.get("id"), str):
            raise UnavailableError("QQ answered /users/@me without an id",
                                   hint=_URL_HINT)
        return found

    async def download(self, url: str) -> bytes:
        """The bytes of a file that somebody sent."""
        if not self._is_file_host(url):
            raise RequestRefusedError(
                f"the file lies at {extract_host(url)}, which is not QQ's")
        answer = await self._request("GET", url, timeout_s=FILE_S)
        if answer.status >= 300:
            raise status_error(self.peer, answer.status, answer.text,
                               headers=answer.headers)
        return answer.content

    def _is_file_host(self, url: str) -> bool:
        try:
            parts, own = urlsplit(url), urlsplit(self.base_url)
            return (parts.scheme == "https" and parts.port in (None, 443)
                    and f".{parts.hostname}".endswith(_FILE_HOSTS)) or (
                (parts.scheme, parts.netloc) == (own.scheme, own.netloc))
        except ValueError:
            return False

    # -- the wire

    async def _request(self, method: str, url: str, **more: Any) -> Answer:
        try:
            answer = await self._http.request(method, url, check=False,
                                              **more)
        except UnavailableError as error:
            if error.hint is None or "proxy_url" not in error.hint:
                error.hint = _URL_HINT
            raise
        finally:
            # It keeps what stands in queries for secrets: ids, for ever.
            self._http.peer = self.peer
        with suppress(ValueError, TypeError):  # no date
            ahead = parsedate_to_datetime(answer.headers.get(
                "date", "")).timestamp() - self._now()
            self._ahead_s = ahead if abs(ahead) > _SKEW_S else 0.0
        return answer

    def _read(self, answer: Answer) -> Any:
        if answer.status == 204 or not answer.content:
            return None
        try:
            return read_json(answer.text)
        except ValueError as error:
            text = summarise(answer.text, self.peer.secrets)
            raise UnavailableError(
                f"QQ's address answered without the API's JSON: {text}",
                hint=_URL_HINT) from error

    def _read_object(self, answer: Answer) -> dict[str, Any]:
        body = self._try_object(answer)
        if not body and answer.status < 300:
            self._read(answer)
            raise UnavailableError("QQ answered with no object",
                                   hint=_URL_HINT)
        return body

    def _try_object(self, answer: Answer) -> dict[str, Any]:
        try:
            body = read_json(answer.text)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _refuse(self, name: str, answer: Answer,
                body: dict[str, Any]) -> ClawError:
        """The error for an answer that is a refusal."""
        status, code = answer.status, _code(body)
        text = summarise(str(body.get("message") or answer.text),
                         self.peer.secrets)
        if status == 429 or code in _TOO_MANY:
            return RateLimitedError(
                f"QQ: {name} ({code or status}): {text}", status=429,
                retry_after_s=retry_after(answer.headers),
                hint="it is tried again when QQ allows")
        if code in _BAD_SECRET:
            return AuthError(f"qq refused the AppID or the AppSecret "
                             f"({code}): {text}", hint=SECRET_HINT)
        if code in _BAD_TOKEN or (status == 401 and body):
            return AuthError(f"qq refused the access token "
                             f"({code or status}): {text}",
                             hint=SECRET_HINT, status=status)
        if not body:
            error = status_error(self.peer, status, answer.text,
                                 headers=answer.headers)
            if not isinstance(error, AuthError):
                error.hint = _URL_HINT
            return error
        message = f"QQ refused {name} ({code or status}): {text}"
        # Refusals of a message come as 500 too, with a code.
        if (status >= 500 and not code) or status < 300:
            return UnavailableError(message, status=status,
                                    hint="try again later")
        return RefusedError(message, code, status=status)


def _code(body: dict[str, Any]) -> int:
    for key in ("err_code", "code"):
        found = _number(body.get(key))
        if found:
            return int(found)
    return 0


def _number(value: Any) -> float | None:
    """QQ writes some numbers as texts."""
    try:
        found = float(value) if isinstance(
            value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None
    return found if found is not None and abs(found) < 1e12 else None


def _name(path: str) -> str:
    """A path as errors show it: without ids."""
    return "/" + "/".join(word for word in path.partition("?")[0].split("/")
                          if word.replace("@", "").isalpha() or word == "v2")
