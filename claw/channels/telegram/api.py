"""The Bot API over HTTP: calls, files, and what its refusals mean.

    result = await api.call("sendMessage", {"chat_id": 1, "text": "hi"})

POST <base>/bot<token>/<method> with JSON, or multipart when a file goes
along. The token is part of every address, so no address may reach a log or
an error: errors name the host, and httpx's own log line is cleaned.
Source: core.telegram.org/bots/api, "Making requests", version 10.1.
"""

import asyncio
import contextlib
import hashlib
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from claw.channels.client import check_address, check_token
from claw.channels.connection import ConflictError
from claw.channels.gate import RateGate, wait_turn
from claw.channels.telegram.answers import (
    find_webhook_host,
    is_ok,
    mend_characters,
    read_body,
    read_parameter,
)
from claw.channels.telegram.upload import Upload, multipart
from claw.channels.telegram.wire import Bot
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
from claw.net.remote import Redacts

CALL_S = 30.0
FILE_S = 120.0
FILE_BYTES = 20 * 1024 * 1024  # what getFile gives, by the Bot API
PATIENCE_S = 3.0  # a call waits this long for the gate, then gives up
POLL_GRACE_S = 5.0  # beyond the time that the server may take
TOKEN_HINT = "set it with: claw config set channels_config.telegram.bot_token"
_URL_HINT = ("check the network and channels_config.telegram.api_base_url; "
             "see: claw channel doctor telegram")
_TOKEN = "[A-Za-z0-9:_-]+"
_IN_URL = re.compile(r"/bot[0-9]+(?::|%3A)[^/\s\"']+", re.I)
# Of Telegram itself a 404 for these is about the token.
_ALWAYS_THERE = ("getMe", "getUpdates")
# Its servers fetch the address of a link for the preview: an answer that was
# talked into one would carry a secret there unclicked.
_SHOWS_LINKS = ("sendMessage", "editMessageText")
# Telegram counts these apart; a limit on them must not hold an answer.
_SIGNS = ("sendChatAction", "setMessageReaction", "answerCallbackQuery")
_TRIES = 3  # after a short 429, or for a group that has moved


class UnknownPathError(AuthError):
    """HTTP 404: what Telegram says to a token that can't be one, and an
    emulator to a method that it lacks."""


logging.getLogger("httpx").addFilter(Redacts(_IN_URL, "/bot[REDACTED]"))


class BotApi:
    """Calls to one bot. Raises AuthError, ConflictError, RateLimitedError,
    RequestRefusedError and UnavailableError; none of them holds the token.
    """

    def __init__(self, token: str, base_url: str, *, poll_s: float = 30.0,
                 log: Log,
                 carry_over: Callable[[str, str], None] = (
                     lambda old, new: None),
                 proxy_url: str | None = None,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        self._token = token.strip()
        self.base_url = base_url.rstrip("/")
        self.poll_s = poll_s
        self._log = log
        self._carry_over = carry_over
        self.sleep = sleep or asyncio.sleep
        self._now = now
        self.gate = RateGate(clock)
        self._sign_gate = RateGate(clock)
        self.clock_skew_s: float | None = None
        self._moved: dict[str, int] = {}
        self._complained: dict[str, str] = {}
        self._bot: Bot | None = None
        self.peer = Peer("Telegram", secrets=(
            self._token, self._token.partition(":")[2]), key_hint=TOKEN_HINT)

        def client(timeout_s: float) -> HttpClient:
            return HttpClient(self.peer, timeout_s=timeout_s,
                              proxy_url=proxy_url, transport=transport,
                              max_bytes=FILE_BYTES + 1024 * 1024)
        self._http = client(FILE_S)
        self._reads = client(poll_s + POLL_GRACE_S)

    @property
    def account(self) -> str:
        """The bot's id, which is the first half of the token; for another
        form of token a fingerprint."""
        number = self._token.partition(":")[0]
        if number.isascii() and number.isdigit():
            return number
        return hashlib.sha256(self._token.encode(
            "utf-8", "replace")).hexdigest()[:12]

    @property
    def unnamed(self) -> Bot:
        """Who we are as far as the token says: an id and no name."""
        number = self.account
        return Bot(int(number) if number.isdigit() else 0)

    @property
    def remove_webhook(self) -> str:
        """The command that does it; the token is not in it."""
        return (f'curl "{self.base_url}/bot$(claw config get --reveal '
                'channels_config.telegram.bot_token)/deleteWebhook"')

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._reads.aclose()

    # -- calls

    async def call(self, method: str,
                   params: Mapping[str, Any] | None = None, *,
                   upload: Upload | None = None, timeout_s: float = CALL_S,
                   patience_s: float = PATIENCE_S,
                   gate: RateGate | None = None) -> Any:
        """The result of a method; parameters that are None stay out.

        Waits up to `patience_s` for a closed gate, else raises
        RateLimitedError with `retry_after_s`. Its own 429 closes `gate`
        where there is one, and then not the gate that answers wait for.
        """
        sent = {k: v for k, v in (params or {}).items() if v is not None}
        if method in _SHOWS_LINKS:
            sent["link_preview_options"] = {"is_disabled": True}
        gate = gate or (self._sign_gate if method in _SIGNS else self.gate)
        tries = 0
        while True:
            tries += 1
            chat = self._follow(sent)
            await wait_turn(
                "Telegram", max(gate.wait_s(chat), self.gate.wait_s(chat)),
                patience_s, self.sleep)
            answer = await self._post(
                self._http, method, sent, upload,
                FILE_S if upload else timeout_s)
            body = read_body(answer)
            if is_ok(answer, body):
                return body.get("result")
            again = tries < _TRIES
            moved = read_parameter(body, "migrate_to_chat_id")
            if moved is not None and chat is not None and again:
                self._moved[chat] = int(moved)
                self._carry_over(chat, str(int(moved)))
                continue
            error = await self._refused(method, answer, body)
            if not isinstance(error, RateLimitedError):
                raise error
            waits = gate.close(chat, error.retry_after_s)
            if waits > patience_s or not again:
                raise error

    async def cosmetic(self, method: str, params: Mapping[str, Any],
                       gate: RateGate | None = None
                       ) -> UnavailableError | None:
        """A call that nobody should wait for (typing, reactions, drafts):
        dropped while the gate is closed. What went wrong is logged once."""
        try:
            await self.call(method, params, timeout_s=10.0, patience_s=0.0,
                            gate=gate)
        except RateLimitedError as error:
            return error
        except UnavailableError as error:
            if self._complained.get(method) != error.message:
                self._complained[method] = error.message
                self._log("telegram_call_failed", method=method,
                          error=error.message)
            return error
        self._complained.pop(method, None)
        return None

    async def poll(self, params: Mapping[str, Any]) -> list[Any]:
        """getUpdates, over connections of its own: after any error on the
        way they are thrown away, so a wedged one is never asked again."""
        sent = {k: v for k, v in params.items() if v is not None}
        try:
            answer = await self._post(self._reads, "getUpdates", sent, None,
                                      None)
        except (UnavailableError, asyncio.CancelledError):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await self._reads.aclose()
            raise
        body = read_body(answer)
        if not is_ok(answer, body):
            raise await self._refused("getUpdates", answer, body)
        result = mend_characters(body.get("result"))
        if not isinstance(result, list):
            raise UnavailableError("Telegram answered getUpdates with "
                                   "something that is no list of updates")
        return result

    async def me(self, *, timeout_s: float = CALL_S,
                 fresh: bool = False) -> Bot:
        """Who the token belongs to; asked once unless `fresh`."""
        if self._bot is None or fresh:
            result = await self.call("getMe", timeout_s=timeout_s)
            if not isinstance(result, dict) \
                    or not isinstance(result.get("id"), int):
                raise RequestRefusedError(
                    "Telegram answered getMe without an id", hint=_URL_HINT)
            self._bot = Bot(result["id"], str(result.get("username") or ""))
        return self._bot

    async def download(self, file_id: str) -> bytes:
        """The bytes of a file that somebody sent, at most 20 MiB."""
        found = await self.call("getFile", {"file_id": file_id})
        path = found.get("file_path") if isinstance(found, dict) else None
        if not isinstance(path, str) or not path:
            raise RequestRefusedError("Telegram gave no path of the file")
        answer = await self._http.request(
            "GET", f"{self.base_url}/file/bot{self._checked()}/"
                   f"{quote(path)}", check=False, timeout_s=FILE_S)
        if answer.status >= 300:
            raise status_error(self.peer, answer.status, answer.text,
                               headers=answer.headers)
        if len(answer.content) > FILE_BYTES:
            raise RequestRefusedError("the file is larger than 20 MiB")
        return answer.content

    # -- the wire

    async def _post(self, http: HttpClient, method: str,
                    params: dict[str, Any], upload: Upload | None,
                    timeout_s: float | None) -> Answer:
        url = f"{self.base_url}/bot{self._checked()}/{method}"
        headers: dict[str, str] = {}
        content: bytes | None = None
        if upload is not None:
            content, headers = multipart(params, upload)
        try:
            answer = await http.request(
                "POST", url, headers=headers, content=content, check=False,
                json=None if upload else params, timeout_s=timeout_s)
        except UnavailableError as error:
            if error.hint is None or "proxy_url" not in error.hint:
                error.hint = _URL_HINT
            raise
        with contextlib.suppress(ValueError, TypeError):  # no date
            there = parsedate_to_datetime(answer.headers.get("date", ""))
            self.clock_skew_s = self._now() - there.timestamp()
        return answer

    def _checked(self) -> str:
        check_token("telegram", self._token, TOKEN_HINT, form=_TOKEN)
        # Errors about other addresses may quote them, token and all.
        check_address(self.base_url, "channels_config.telegram.api_base_url",
                      "https://api.telegram.org")
        return self._token

    # -- limits and refusals

    def has_moved(self, chat: int) -> bool:
        """Whether a group has become a supergroup as far as we know."""
        return str(chat) in self._moved

    def _follow(self, params: dict[str, Any]) -> str | None:
        """The chat of a call, as text; a group that has become a
        supergroup is replaced by it."""
        if "chat_id" not in params:
            return None
        chat = str(params["chat_id"])
        if chat in self._moved:
            params["chat_id"] = self._moved[chat]
        return str(params["chat_id"])

    async def _refused(self, method: str, answer: Answer,
                       body: dict[str, Any]) -> ClawError:
        """The error for an answer that is not ok."""
        status = answer.status if answer.status >= 300 else 0
        if isinstance(body.get("error_code"), int):
            status = body["error_code"]
        text = summarise(str(body.get("description") or answer.text),
                    self.peer.secrets)
        if status == 401 or (status == 404 and method in _ALWAYS_THERE):
            kind = AuthError if status == 401 else UnknownPathError
            return kind(
                f"telegram refused the token (HTTP {status}: {text})",
                hint=TOKEN_HINT)
        if status == 409:
            return await self._conflict(text)
        if status == 429:
            wait_s = read_parameter(body, "retry_after")
            if wait_s is None:  # a proxy in the way says it so
                wait_s = retry_after(answer.headers)
            return RateLimitedError(
                f"Telegram: {method} (429): {text}", status=429,
                hint="it is tried again when Telegram allows",
                retry_after_s=wait_s)
        if "ok" not in body:
            return self._no_api(answer)
        message = f"Telegram refused {method} ({status}): {text}"
        if status < 300 or (status >= 500 and status != 501):
            return UnavailableError(message, hint="try again later",
                                    status=status or None)
        return RequestRefusedError(
            message, status=status, hint="is the token right? see: "
            "claw channel doctor telegram" if status == 404 else None)

    def _no_api(self, answer: Answer) -> ClawError:
        """What answered is no Bot API: a proxy's page, a wrong address."""
        if answer.status < 300:
            text = summarise(answer.text, self.peer.secrets)
            return UnavailableError(
                f"Telegram's address answered without the Bot API's JSON: "
                f"{text}", hint=_URL_HINT)
        error = status_error(self.peer, answer.status, answer.text,
                             headers=answer.headers)
        error.hint = _URL_HINT
        return error

    async def _conflict(self, text: str) -> ConflictError:
        """Why a poll was refused: the webhook by its name, or a rival."""
        if "webhook" in text.lower():
            host = None  # its path may be a secret
            with contextlib.suppress(UnavailableError):
                host = find_webhook_host(
                    await self.call("getWebhookInfo", patience_s=0.0))
            return ConflictError(
                "this bot has a webhook"
                + (f" at {host}" if host else "") +
                ", and Telegram delivers only there", status=409,
                hint="remove it with: " + self.remove_webhook)
        return ConflictError(
            f"another program receives for this bot ({text})", status=409,
            hint="stop the other claw listen or bot that uses this token, "
                 "or make a token of its own with @BotFather")
