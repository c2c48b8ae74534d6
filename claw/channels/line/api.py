"""Calls of the Messaging API, and what they refuse.

    {"message": "...", "details": [{"message": "...", "property": "..."}]}

A push bears a retry key: LINE takes it once within 24 hours and says 409 to
the same key again, with the ids of what it took. A reply bears a token that
is good once, for a minute.
Source: developers.line.biz/en/reference/messaging-api and
/docs/messaging-api/retrying-api-request, read 2026-11.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from claw.channels.client import check_address, check_token
from claw.channels.gate import RateGate, wait_turn
from claw.channels.line.settings import TABLE, LineSettings
from claw.core.errors import (
    AuthError,
    ClawError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.net.errors import Peer, status_error, summarise
from claw.net.http import Answer, HttpClient
from claw.net.lean import httpx

Json = dict[str, Any]

CALL_S = 15.0
FILE_S = 60.0
SIGN_S = 5.0
NAME_S = 1.0  # LINE waits two seconds for the answer to a webhook
PATIENCE_S = 10.0  # for a closed gate; longer waits are the caller's
FILE_BYTES = 100 * 1024 * 1024
QUOTA_S = 900.0  # until LINE is asked whether the month is still used up
RECHECK_S = 30.0  # until it is seen that the person has written
TOKEN_HINT = f"set it with: claw config set {TABLE}.channel_access_token"
URL_HINT = (f"check the network and {TABLE}.api_base_url; see: "
            "claw channel doctor line")
QUOTA = "the account's messages of this month are used up"
_LOADING_S = 20
_TRIES = 3


class TokenGoneError(RequestRefusedError):
    """A reply token was used, or is too old."""


class Api:
    """Calls of one account. Raises AuthError, ConfigError, QuotaError,
    RateLimitedError, RequestRefusedError and UnavailableError; none holds
    the token."""

    def __init__(self, settings: LineSettings, log: Log, *,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._token = settings.channel_access_token.strip()
        self.url = settings.api_base_url.strip().rstrip("/")
        self._data_url = settings.data_base_url.strip().rstrip("/")
        self.sleep = sleep or asyncio.sleep
        self._log = log
        self._clock = clock
        self._gate = RateGate(clock)
        self._used_up = float("-inf")  # when the month was
        self._complained = ""
        self.peer = Peer("LINE", secrets=tuple(filter(None, (
            self._token, settings.channel_secret.strip()))),
            key_hint=TOKEN_HINT)
        self._http = HttpClient(
            self.peer, timeout_s=FILE_S, proxy_url=settings.proxy_url,
            transport=transport, max_bytes=FILE_BYTES + 1024 * 1024)

    async def aclose(self) -> None:
        await self._http.aclose()

    # -- messages

    @property
    def is_used_up(self) -> bool:
        """Whether LINE has said lately that the month's messages are."""
        return self._clock() < self._used_up + QUOTA_S

    async def push(self, to: str, messages: Sequence[Json],
                   key: str) -> list[str]:
        """Send up to five messages; their ids. A key that was there sends
        nothing."""
        if self.is_used_up:
            raise _wait_for_quota()
        try:
            return await self._post("push", {"to": to, "messages": messages},
                                    {"X-Line-Retry-Key": key})
        except QuotaError:
            self._used_up = self._clock()
            raise

    async def reply(self, token: str, messages: Sequence[Json]) -> list[str]:
        """Send up to five messages in answer to an event; their ids.
        Raises TokenGoneError too."""
        return await self._post("reply", {"replyToken": token,
                                          "messages": messages}, {})

    async def _post(self, name: str, body: Json,
                    headers: Mapping[str, str]) -> list[str]:
        """A short limit is waited out."""
        for left in reversed(range(_TRIES)):
            await wait_turn("LINE", self._gate.wait_s(None), PATIENCE_S,
                            self.sleep)
            try:
                answer = await self._ask("POST", f"/v2/bot/message/{name}",
                                         json=body, headers=headers)
                break
            except QuotaError:
                raise
            except RateLimitedError as error:
                waits = self._gate.close(None, error.retry_after_s)
                if waits > PATIENCE_S or not left:
                    raise
        sent = read_body(answer).get("sentMessages")
        ids = [str(row["id"]) for row in sent if isinstance(row, dict)
               and row.get("id")] if isinstance(sent, list) else []
        if not ids and answer.status != 409:
            raise UnavailableError("LINE took a message and gave no id",
                                   hint=URL_HINT)
        return ids

    async def load(self, user: str) -> None:
        """Show that an answer is coming, for 20 s at most. Nobody waits for
        it: what goes wrong is logged once."""
        if self._gate.wait_s(None):
            return
        try:
            await self._ask("POST", "/v2/bot/chat/loading/start", json={
                "chatId": user, "loadingSeconds": _LOADING_S},
                timeout_s=SIGN_S)
        except ClawError as error:
            if self._complained != error.message:
                self._complained = error.message
                self._log("line_call_failed", error=error.message,
                          hint=error.hint)

    # -- what LINE knows

    async def get(self, path: str, *, timeout_s: float = CALL_S) -> Json:
        """A JSON object of LINE's."""
        return read_body(await self._ask("GET", f"/v2/bot/{path}",
                                         timeout_s=timeout_s))

    async def test_webhook(self, *, timeout_s: float) -> Json:
        """Have LINE post to the webhook URL."""
        return read_body(await self._ask(
            "POST", "/v2/bot/channel/webhook/test", json={},
            timeout_s=timeout_s))

    async def name(self, member: str) -> Any:
        """The name of "CHAT USER"; None where it can't be had."""
        chat, _, user = member.partition(" ")
        kind = {"C": "group", "R": "room"}.get(chat[:1])
        path = f"{kind}/{chat}/member/{user}" if kind else f"profile/{user}"
        try:
            return (await self.get(path, timeout_s=NAME_S)).get(
                "displayName")
        except ClawError:
            return None

    async def download(self, message_id: str) -> bytes:
        """A file that somebody sent, at most FILE_BYTES. LINE prepares
        videos and recordings: until then it is asked again."""
        while True:
            answer = await self._ask(
                "GET", f"/v2/bot/message/{quote(message_id, safe='')}"
                "/content", base=self._data_url, timeout_s=FILE_S)
            if answer.status != 202:
                return answer.content
            await self.sleep(1.0)

    # -- the wire

    async def _ask(self, method: str, path: str, *, json: Any = None,
                   headers: Mapping[str, str] | None = None,
                   base: str | None = None,
                   timeout_s: float = CALL_S) -> Answer:
        """An answer of 2xx, or of 409, which says that it is done."""
        check_token("line", self._token, TOKEN_HINT)
        url = self.url if base is None else base
        check_address(url, f"{TABLE}.api_base_url" if base is None
                      else f"{TABLE}.data_base_url", "https://api.line.me")
        try:
            answer = await self._http.request(
                method, url + path, json=json, check=False,
                timeout_s=timeout_s, headers={
                    "Authorization": f"Bearer {self._token}",
                    **(headers or {})})
        except UnavailableError as error:
            if error.hint is None or "proxy" not in error.hint:
                error.hint = URL_HINT
            raise
        if answer.status >= 300 and answer.status != 409:
            raise read_refusal(self.peer, path.rpartition("/")[2], answer)
        return answer


def read_refusal(peer: Peer, name: str, answer: Answer) -> ClawError:
    """The error for an answer that is none of 2xx."""
    body = read_body(answer)
    words = body.get("message")
    if not isinstance(words, str):  # a proxy's page, a wrong address
        error = status_error(peer, answer.status, answer.text,
                             headers=answer.headers)
        error.hint = TOKEN_HINT if isinstance(error, AuthError) \
            else error.hint or URL_HINT
        return error
    details = body.get("details")
    words = "; ".join([words, *(
        f"{row.get('property')}: {row.get('message')}" for row in details
        if isinstance(row, dict))] if isinstance(details, list) else [words])
    words = summarise(words, peer.secrets)
    name = name if name.isalpha() else "a call"
    message = f"LINE refused {name} ({answer.status}): {words}"
    if answer.status == 401:
        return AuthError(f"line refused the token: {words}", hint=TOKEN_HINT,
                         status=401)
    if answer.status == 429 and "monthly limit" in words.lower():
        return _wait_for_quota()
    if answer.status == 400 and "reply token" in words.lower():
        return TokenGoneError(message, status=400)
    if answer.status == 403:
        return RequestRefusedError(message, status=403, hint="does the plan "
                                   "of the account allow it? see "
                                   "manager.line.biz")
    if 400 <= answer.status < 500 and answer.status != 429:
        return RequestRefusedError(message, status=answer.status)
    return status_error(peer, answer.status, answer.text,
                        headers=answer.headers)


def _wait_for_quota() -> QuotaError:
    return QuotaError(
        f"not now: {QUOTA}; it goes out as a reply, which is free, when "
        "somebody writes in that chat, else next month", status=429,
        hint="see the plan at manager.line.biz, and: claw channel doctor "
             "line", retry_after_s=RECHECK_S)


def read_body(answer: Answer) -> Json:
    """The JSON object of an answer; {} for anything else."""
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
