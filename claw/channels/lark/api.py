"""The Open API over HTTP: calls, downloads, uploads, and the address of a
long connection.

    found = await api.call("POST", "im/v1/messages", {...}, query={...})

The token of every call is the tenant's; it is asked for with the app's id
and secret, lasts two hours, and is asked for anew a while before. One gate
for each chat: five messages a second go there, of all bots together.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from claw.channels.client import check_address, check_token
from claw.channels.gate import RateGate, wait_turn
from claw.channels.lark.answers import (
    STALE,
    read_body,
    read_code,
    read_refusal,
)
from claw.channels.lark.settings import Brand, LarkSettings
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.core.value import Value, hidden
from claw.net.addresses import is_loopback
from claw.net.errors import Peer
from claw.net.http import Answer, HttpClient
from claw.net.lean import httpx

CALL_S = 30.0
FILE_S = 120.0
SIGN_S = 10.0
FILE_BYTES = 50 * 1024 * 1024  # what is fetched; the platform gives 100 MB
PATIENCE_S = 3.0
_TRIES = 3
_EARLY_S, _LEAST_S, _USUAL_S = 120.0, 1.0, 7200.0


class Bot(Value):
    """Who we are there."""

    open_id: str = ""
    name: str = ""
    active: bool = True


class Endpoint(Value):
    """Where to connect to, and how: seconds, and how many tries after one
    that failed (negative: any number)."""

    url: str = hidden()
    service: int = 0
    ping_s: float = 120.0
    reconnects: int = -1
    interval_s: float = 120.0
    nonce_s: float = 30.0


class LarkApi:
    """Calls of one app. Raises AuthError, ConfigError, RateLimitedError,
    RequestRefusedError and UnavailableError; none holds a secret."""

    def __init__(self, settings: LarkSettings, brand: Brand, *, log: Log,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.app_id = settings.app_id.strip()
        self._secret = settings.app_secret.strip()
        self.brand = brand
        self.base_url = (settings.api_base_url or brand.base_url).strip() \
            .rstrip("/").removesuffix("/open-apis")
        self.proxy_url = settings.proxy_url
        self.sleep = sleep or asyncio.sleep
        self._log = log
        self._clock = clock
        self._gate = RateGate(clock)
        self._complained: dict[str, str] = {}
        self._token = ""
        self._until = 0.0
        self._asking = asyncio.Lock()
        self._bot: Bot | None = None
        self.peer = Peer(brand.title, secrets=tuple(filter(None, (
            self._secret, settings.encrypt_key.strip(),
            settings.verification_token.strip()))), key_hint=self.key_hint)
        self._http = HttpClient(
            self.peer, timeout_s=FILE_S, proxy_url=settings.proxy_url,
            transport=transport, max_bytes=FILE_BYTES + 1024 * 1024)

    @property
    def key_hint(self) -> str:
        return ("set it with: claw config set "
                f"{self.brand.table}.app_secret, as app_id")

    async def aclose(self) -> None:
        await self._http.aclose()

    # -- calls

    async def call(self, method: str, path: str, body: Any = None, *,
                   query: Mapping[str, Any] | None = None,
                   chat: str | None = None, timeout_s: float = CALL_S,
                   patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """The `data` of an answer. Waits up to `patience_s` for a limit to
        end, else raises RateLimitedError; `chat` is where it goes."""
        answer = await self._ask(
            method, path, query, timeout_s=timeout_s, patience_s=patience_s,
            chat=chat, json=body)
        data = read_body(answer).get("data")
        return data if isinstance(data, dict) else {}

    async def cosmetic(self, method: str, path: str, body: Any = None, *,
                       query: Mapping[str, Any] | None = None
                       ) -> dict[str, Any] | None:
        """A call that nobody should wait for, dropped while it is limited;
        None where it failed, which is logged once."""
        name = _name(path)
        try:
            found = await self.call(method, path, body, query=query,
                                    timeout_s=SIGN_S, patience_s=0.0)
        except RateLimitedError:
            return None
        except ClawError as error:
            if self._complained.get(name) != error.message:
                self._complained[name] = error.message
                self._log("lark_call_failed", call=name, error=error.message,
                          hint=error.hint)
            return None
        self._complained.pop(name, None)
        return found

    async def me(self, *, timeout_s: float = CALL_S,
                 fresh: bool = False) -> Bot:
        """Who we are; asked once unless `fresh`."""
        if self._bot is None or fresh:
            answer = await self._ask("GET", "bot/v3/info", None,
                                     timeout_s=timeout_s)
            found = read_body(answer).get("bot")
            if not isinstance(found, dict) \
                    or not isinstance(found.get("open_id"), str):
                raise UnavailableError(
                    f"{self.brand.title} answered bot/v3/info without a bot",
                    hint="switch the bot on: Features, Bot, and publish a "
                         "version")
            self._bot = Bot(found["open_id"],
                            str(found.get("app_name") or ""),
                            found.get("activate_status") in (None, 2))
        return self._bot

    async def open_endpoint(self, *, timeout_s: float = CALL_S) -> Endpoint:
        """The address of a new long connection."""
        answer = await self._http.request(
            "POST", f"{self._checked()}/callback/ws/endpoint",
            headers={"locale": "zh" if self.brand.name == "feishu"
                     else "en"}, check=False, timeout_s=timeout_s,
            json={"AppID": self.app_id, "AppSecret": self._secret})
        body = read_body(answer)
        data = body.get("data")
        if answer.status >= 300 or read_code(body) != 0 \
                or not isinstance(data, dict):
            raise read_refusal(self._http.peer, "callback/ws/endpoint", answer,
                               body, self.brand.table)
        return self._read_endpoint(data)

    def _read_endpoint(self, data: Mapping[str, Any]) -> Endpoint:
        url = data.get("URL")
        plain = is_loopback(self.base_url) or self.base_url.startswith(
            "http:")
        if not isinstance(url, str) or not url.startswith(
                ("ws://", "wss://") if plain else "wss://"):
            raise UnavailableError(f"{self.brand.title} answered "
                                   "callback/ws/endpoint without an address")
        try:
            query = parse_qs(urlsplit(url).query)
        except ValueError as error:
            raise UnavailableError(f"{self.brand.title} gave an address "
                                   "that is none") from error
        number = query.get("service_id", ["0"])[0]
        return configure(Endpoint(url, int(number) if number.isascii()
                                  and number.isdigit() and len(number) < 10
                                  else 0), data.get("ClientConfig"))

    # -- files

    async def download(self, message_id: str, key: str, kind: str) -> bytes:
        """A file of a message ("image" or "file"), at most FILE_BYTES."""
        answer = await self._ask(
            "GET", f"im/v1/messages/{quote(message_id, safe='')}/resources/"
            f"{quote(key, safe='')}", {"type": kind}, timeout_s=FILE_S,
            is_json=False)
        if len(answer.content) > FILE_BYTES:
            raise RequestRefusedError("the file is larger than 50 MiB")
        return answer.content

    async def upload(self, path: str, fields: Mapping[str, str], name: str,
                     field: str, content: bytes) -> str:
        """Bring a file; its key."""
        request = httpx.Request("POST", "http://form/", data=dict(fields),
                                files={field: (name, content)})
        answer = await self._ask(
            "POST", path, None, timeout_s=FILE_S, content=request.read(),
            headers={"content-type": request.headers["content-type"]})
        data = read_body(answer).get("data")
        key = data.get(f"{field}_key") if isinstance(data, dict) else None
        if not isinstance(key, str) or not key:
            raise UnavailableError(f"{self.brand.title} took a file and "
                                   "gave no key")
        return key

    # -- the wire

    async def _ask(self, method: str, path: str,
                   query: Mapping[str, Any] | None, *, timeout_s: float,
                   patience_s: float = PATIENCE_S, chat: str | None = None,
                   json: Any = None, content: bytes | None = None,
                   headers: Mapping[str, str] | None = None,
                   is_json: bool = True) -> Answer:
        """An answer that is no refusal. A token that is over is asked for
        anew, once; a short limit is waited out."""
        url = f"{self._checked()}/open-apis/{path}"
        if query:
            url += "?" + urlencode(query, errors="replace")
        renewed = False
        for left in reversed(range(_TRIES)):
            await wait_turn(self.brand.title, self._gate.wait_s(chat),
                            patience_s, self.sleep)
            token = await self._bearer(timeout_s)
            answer = await self._http.request(
                method, url, json=json, content=content, check=False,
                timeout_s=timeout_s,
                headers={"authorization": f"Bearer {token}",
                         **({"content-type": "application/json; "
                             "charset=utf-8"} if json is not None else {}),
                         **(headers or {})})
            if answer.status < 300 and not is_json:
                return answer
            body = read_body(answer)
            code = read_code(body)
            if answer.status < 300 and code == 0:
                return answer
            if (code in STALE or (answer.status == 401 and code is not None)
                    ) and not renewed:
                renewed, self._until = True, 0.0
                continue
            error = read_refusal(self._http.peer, _name(path), answer, body,
                                 self.brand.table)
            if not isinstance(error, RateLimitedError):
                raise error
            if self._gate.close(chat, error.retry_after_s) > patience_s \
                    or not left:
                raise error
        raise UnavailableError(f"{self.brand.title} gave {_name(path)} no "
                               "answer")

    async def _bearer(self, timeout_s: float) -> str:
        """The tenant's token."""
        async with self._asking:
            if self._clock() >= self._until:
                await self._renew(timeout_s)
            return self._token

    async def _renew(self, timeout_s: float) -> None:
        answer = await self._http.request(
            "POST", f"{self._checked()}/open-apis/auth/v3/"
            "tenant_access_token/internal", check=False, timeout_s=timeout_s,
            json={"app_id": self.app_id, "app_secret": self._secret})
        body = read_body(answer)
        token = body.get("tenant_access_token")
        if answer.status >= 300 or read_code(body) != 0 \
                or not isinstance(token, str) or not token:
            raise read_refusal(self._http.peer, "auth/v3/tenant_access_token",
                               answer, body, self.brand.table)
        check_token(self.brand.title, token, self.key_hint)
        lasts = _read_seconds(body.get("expire", body.get("expires_in")),
                              _USUAL_S)
        self._token = token
        self._until = self._clock() + max(_LEAST_S, lasts - _EARLY_S)

    def _checked(self) -> str:
        """The address, with settings that can be asked with."""
        table = self.brand.table
        check_token(self.brand.name, self.app_id,
                    f"set it with: claw config set {table}.app_id cli_...",
                    what="app_id")
        check_token(self.brand.name, self._secret,
                    f"set it with: claw config set {table}.app_secret",
                    what="app_secret")
        check_address(self.base_url, f"{table}.api_base_url",
                      self.brand.base_url)
        return self.base_url


def configure(endpoint: Endpoint, given: Any) -> Endpoint:
    """An endpoint with what a ClientConfig says, in sensible bounds."""
    if not isinstance(given, dict):
        return endpoint
    count = given.get("ReconnectCount")
    return Endpoint(
        endpoint.url, endpoint.service,
        max(10.0, min(_read_seconds(given.get("PingInterval"),
                                    endpoint.ping_s), 600.0)),
        count if isinstance(count, int) else endpoint.reconnects,
        min(_read_seconds(given.get("ReconnectInterval"),
                          endpoint.interval_s), 300.0),
        min(_read_seconds(given.get("ReconnectNonce"), endpoint.nonce_s),
            60.0))


def _read_seconds(given: Any, default: float) -> float:
    return float(given) if isinstance(given, int | float) \
        and not isinstance(given, bool) and 0 <= given < 1e7 else default


def _name(path: str) -> str:
    """A call in an error: its words without ids."""
    return "/".join(word for word in path.split("/") if len(word) < 24
                    and not word.startswith(("om_", "oc_", "ou_", "file_",
                                             "img_")))


async def ask_quietly(work: Awaitable[dict[str, Any]]
                      ) -> dict[str, Any] | None:
    """What a call gave; None where it can't be had."""
    try:
        return await work
    except (UnavailableError, AuthError):
        return None
