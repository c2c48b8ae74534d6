"""Calls of the Graph API, and its files.

A file is asked for by its id, which gives an address that is good for five
minutes and wants the token too: it goes to Meta's hosts alone.
Source: developers.facebook.com/documentation/business-messaging/whatsapp.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from claw.channels.client import check_address, check_token
from claw.channels.gate import RateGate, wait_turn
from claw.channels.whatsapp.errors import (
    PAIR_LIMIT,
    TOKEN_HINT,
    URL_HINT,
    read_body,
    read_refusal,
)
from claw.channels.whatsapp.settings import TABLE, WhatsappSettings
from claw.channels.whatsapp.wire import is_id
from claw.core.errors import (
    ClawError,
    ConfigError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.net.errors import Peer, status_error
from claw.net.http import Answer, HttpClient
from claw.net.lean import httpx

CALL_S = 30.0
FILE_S = 120.0
SIGN_S = 10.0
PATIENCE_S = 10.0  # for a closed gate; longer waits are the caller's
FILE_BYTES = 100 * 1024 * 1024
_HOSTS = ("facebook.com", "fbsbx.com", "whatsapp.net")
_TRIES = 3
_PAIR = str(PAIR_LIMIT)


class Api:
    """Calls of one number. Raises AuthError, ConfigError, RateLimitedError,
    RequestRefusedError and UnavailableError; none holds the token."""

    def __init__(self, settings: WhatsappSettings, log: Log, *,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._token = settings.access_token.strip()
        self.number_id = settings.phone_number_id.strip()
        self.url = settings.api_base_url.strip().rstrip("/")
        self._version = settings.api_version
        self.sleep = sleep or asyncio.sleep
        self._log = log
        self._gate = RateGate(clock)
        self._complained = ""
        self.peer = Peer("WhatsApp", secrets=tuple(filter(None, (
            self._token, settings.app_secret, settings.verify_token))),
            key_hint=TOKEN_HINT)
        self._http = HttpClient(
            self.peer, timeout_s=FILE_S, proxy_url=settings.proxy_url,
            transport=transport, max_bytes=FILE_BYTES + 1024 * 1024)

    async def aclose(self) -> None:
        await self._http.aclose()

    # -- calls

    async def send(self, body: Mapping[str, Any], *,
                   patience_s: float = PATIENCE_S,
                   timeout_s: float = CALL_S) -> str:
        """A message; its id. A short limit is waited out."""
        chat = str(body.get("to") or body.get("recipient") or "")
        for left in reversed(range(_TRIES)):
            await wait_turn("WhatsApp", self._gate.wait_s(chat), patience_s,
                            self.sleep)
            try:
                found = await self._ask("POST", f"{self._number()}/messages",
                                        json=body, timeout_s=timeout_s)
                break
            except RateLimitedError as error:
                own = f"(error {_PAIR})" in error.message
                waits = self._gate.close(chat if own else None,
                                         error.retry_after_s)
                if waits > patience_s or not left:
                    raise
        messages = found.get("messages")
        first = messages[0] if isinstance(messages, list) and messages \
            else None
        sent = first.get("id") if isinstance(first, dict) else None
        if not is_id(sent):
            raise UnavailableError("WhatsApp took a message and gave no id",
                                   hint=URL_HINT)
        return str(sent)

    async def cosmetic(self, body: Mapping[str, Any]) -> None:
        """A call that nobody should wait for (typing, reactions): dropped
        while it is limited. What went wrong is logged once."""
        chat = str(body.get("to") or body.get("recipient") or "")
        if self._gate.wait_s(chat):
            return
        try:
            await self._ask("POST", f"{self._number()}/messages", json={
                "messaging_product": "whatsapp", **body}, timeout_s=SIGN_S)
        except RateLimitedError as error:
            self._gate.close(chat, error.retry_after_s)
        except ClawError as error:
            if self._complained != error.message:
                self._complained = error.message
                self._log("whatsapp_call_failed", error=error.message,
                          hint=error.hint)

    async def number(self, *, timeout_s: float = CALL_S) -> dict[str, Any]:
        """What Meta says of our number."""
        found = await self._ask(
            "GET", f"{self._number()}?fields=display_phone_number,"
            "verified_name,quality_rating,webhook_configuration",
            timeout_s=timeout_s)
        if not isinstance(found.get("id"), str):
            raise UnavailableError("WhatsApp answered without a number",
                                   hint=URL_HINT)
        return found

    # -- files

    async def download(self, media_id: str) -> bytes:
        """A file that somebody sent, at most FILE_BYTES."""
        found = await self._ask(
            "GET", f"{quote(media_id, safe='')}?phone_number_id="
            f"{self._number()}")
        url, size = found.get("url"), found.get("file_size")
        if not isinstance(url, str):
            raise UnavailableError("WhatsApp gave no address for a file",
                                   hint=URL_HINT)
        if not self._is_ours(url):
            raise RequestRefusedError("the file is not at WhatsApp")
        if isinstance(size, int) and size > FILE_BYTES:
            raise RequestRefusedError("the file is larger than "
                                      f"{FILE_BYTES // 2**20} MiB")
        answer = await self._http.request(
            "GET", url, headers=self._headers(), check=False,
            timeout_s=FILE_S)
        if answer.status >= 300:
            raise status_error(self.peer, answer.status, answer.text,
                               headers=answer.headers)
        return answer.content

    async def upload(self, name: str, mime: str, content: bytes) -> str:
        """A file to send; its id, good for 30 days."""
        form = httpx.Request(
            "POST", "http://form/",
            data={"messaging_product": "whatsapp", "type": mime},
            files={"file": (name, content, mime)})
        found = await self._ask(
            "POST", f"{self._number()}/media", content=form.read(),
            headers={"content-type": form.headers["content-type"]},
            timeout_s=FILE_S)
        if not is_id(found.get("id")):
            raise UnavailableError("WhatsApp took a file and gave no id",
                                   hint=URL_HINT)
        return str(found["id"])

    def _is_ours(self, url: str) -> bool:
        """Whether the token may go there."""
        try:
            parts, base = urlsplit(url), urlsplit(self.url)
            host = parts.hostname or ""
            meta = parts.scheme == "https" and parts.port in (None, 443) \
                and any(host == own or host.endswith("." + own)
                        for own in _HOSTS)
            return meta or (parts.scheme, host, parts.port) == (
                base.scheme, base.hostname, base.port)
        except ValueError:
            return False

    # -- the wire

    async def _ask(self, method: str, path: str, *,
                   json: Any = None, content: bytes | None = None,
                   headers: Mapping[str, str] | None = None,
                   timeout_s: float = CALL_S) -> dict[str, Any]:
        """The JSON object of an answer."""
        try:
            answer = await self._http.request(
                method, f"{self.url}/{self._version}/{path}", json=json,
                content=content, check=False, timeout_s=timeout_s,
                headers={**self._headers(), **(headers or {})})
        except UnavailableError as error:
            if error.hint is None or "proxy" not in error.hint:
                error.hint = URL_HINT
            raise
        name = path.partition("?")[0].rpartition("/")[2]
        name = name if name.isalpha() else "a call"
        if answer.status >= 300:
            raise read_refusal(self.peer, name, answer)
        return self._read(name, answer)

    def _read(self, name: str, answer: Answer) -> dict[str, Any]:
        found = read_body(answer)
        if not found:
            raise UnavailableError(
                f"WhatsApp answered {name} with something else than JSON",
                hint=URL_HINT)
        return found

    def _headers(self) -> dict[str, str]:
        check_token("whatsapp", self._token, TOKEN_HINT)
        check_address(self.url, f"{TABLE}.api_base_url",
                      "https://graph.facebook.com")
        return {"Authorization": f"Bearer {self._token}"}

    def _number(self) -> str:
        if not re.fullmatch(r"[0-9]{3,30}", self.number_id, re.ASCII):
            raise ConfigError(
                f"{TABLE}.phone_number_id is not set, or no number",
                hint="it stands under WhatsApp > API setup of the app; "
                     f"claw config set {TABLE}.phone_number_id ID")
        return self.number_id
