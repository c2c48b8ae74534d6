"""Calls of the daemon: JSON-RPC 2.0 over POST /api/v1/rpc, and the stream of
GET /api/v1/events.

An error has a number: -1 somebody's mistake, -3 input and output, -4 a key
that is not trusted, -5 a rate limit; `data.response.results` tells for each
recipient. What may have reached Signal all the same is an UnavailableError
without a status, so that the outbox takes it for a doubt.
Source: SignalJsonRpcCommandHandler, SendMessageResultUtils, 0.14.6.
"""

import asyncio
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from json import loads
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from claw.channels.client import check_address
from claw.channels.gate import RateGate, wait_turn
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.net.errors import Peer, status_error, summarise
from claw.net.http import HttpClient, OpenAnswer
from claw.net.lean import httpx

if TYPE_CHECKING:
    from claw.channels.signal.settings import SignalSettings

TABLE = "channels_config.signal"
CALL_S = 30.0
# Groups and files take long, and a late answer is a message in doubt.
SEND_S = 120.0
FILE_BYTES = 40 * 1024 * 1024  # base64 makes it 53 MiB
PATIENCE_S = 10.0
# Keep-alives come every 15 s, and with 0.13 so do the headers.
SILENCE_S = 45.0
URL_HINT = (f"is signal-cli's daemon running, and {TABLE}.http_url right? "
            "see: claw channel doctor signal")
ACCOUNT_HINT = ("signal-cli listAccounts names its accounts; claw config set "
                f"{TABLE}.account +NUMBER")
_NO_ACCOUNT = ("Specified account does not exist",
               "Method requires valid account parameter")
_DOUBTFUL = ("NETWORK_FAILURE", "SUCCESS")


class SignalApi:
    """Calls for one account. Raises AuthError, ConfigError,
    RateLimitedError, RequestRefusedError and UnavailableError."""

    def __init__(self, settings: "SignalSettings", log: Log, *,
                 transport: httpx.AsyncBaseTransport | None = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 silence_s: float = SILENCE_S) -> None:
        self.url = settings.http_url.strip().rstrip("/").removesuffix(
            "/api/v1/rpc")
        self.account = settings.account.strip()
        self.proxy_url = settings.proxy_url
        self.sleep = sleep or asyncio.sleep
        self.clock = clock
        self.gate = RateGate(clock)
        self.silence_s = silence_s
        self._log = log
        self._calls = 0
        self._complained: dict[str, str] = {}
        peer = Peer("signal-cli", key_hint=URL_HINT, start_hint=URL_HINT)
        self._http = HttpClient(peer, timeout_s=SEND_S, transport=transport,
                                proxy_url=settings.proxy_url)
        # A stream has no end; its events are bounded where they are read.
        self._stream = HttpClient(peer, timeout_s=silence_s, max_bytes=2**62,
                                  proxy_url=settings.proxy_url,
                                  transport=transport)

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._stream.aclose()

    async def call(self, method: str, params: Mapping[str, Any], *,
                   timeout_s: float = CALL_S, chat: str | None = None,
                   patience_s: float = PATIENCE_S) -> Any:
        """The result of a call; None where it has none. `chat` is whom a
        rate limit would be for."""
        check_address(self.url, f"{TABLE}.http_url", "http://127.0.0.1:8080")
        await wait_turn("Signal", self.gate.wait_s(chat), patience_s,
                        self.sleep)
        self._calls += 1
        account = {"account": self.account} if self.account else {}
        try:
            answer = await self._http.request(
                "POST", f"{self.url}/api/v1/rpc", timeout_s=timeout_s, json={
                    "jsonrpc": "2.0", "id": str(self._calls),
                    "method": method, "params": {**params, **account}})
        except UnavailableError as error:
            _hint(error)
            raise
        if answer.status == 201 or not answer.content.strip():
            return None
        try:
            found = loads(answer.text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) \
                or not ("result" in found or "error" in found):
            raise UnavailableError(
                f"signal-cli answered {method} with something else than "
                f"JSON-RPC: {summarise(answer.text)}", hint=URL_HINT)
        if found.get("error") is None:
            return found.get("result")
        refusal = read_error(method, found["error"])
        if isinstance(refusal, RateLimitedError):
            self.gate.close(chat, refusal.retry_after_s)
            self._log("rate_limited", error=refusal.message,
                      hint=refusal.hint)
        raise refusal

    async def cosmetic(self, method: str, params: Mapping[str, Any],
                       chat: str) -> None:
        """A call that nobody should wait for: dropped while the gate is
        closed. What went wrong is logged once."""
        try:
            await self.call(method, params, chat=chat, patience_s=0.0,
                            timeout_s=10.0)
        except RateLimitedError:
            return
        except ClawError as error:
            if self._complained.get(method) != error.message:
                self._complained[method] = error.message
                self._log("signal_call_failed", call=method,
                          error=error.message)
            return
        self._complained.pop(method, None)

    async def version(self, *, timeout_s: float = CALL_S) -> str:
        """The daemon's, asked in the name of our account, so that one
        which is not there is an AuthError."""
        found = await self.call("version", {}, timeout_s=timeout_s)
        version = found.get("version") if isinstance(found, dict) else None
        if not isinstance(version, str):
            raise UnavailableError("signal-cli told no version",
                                   hint=URL_HINT)
        return version[:40]

    async def download(self, file_id: str) -> bytes:
        """The bytes of "<chat> <id>". They come through the daemon, not
        from its folder: it may run as another user, or elsewhere."""
        chat, _, name = file_id.partition(" ")
        found = await self.call("getAttachment", {
            "id": name, **address(chat, several=False)}, timeout_s=60.0)
        data = found.get("data") if isinstance(found, dict) else None
        try:
            content = b64decode(str(data), validate=True)
        except ValueError as error:
            raise UnavailableError("signal-cli gave a file that is no "
                                   "base64", hint=URL_HINT) from error
        if len(content) > FILE_BYTES:
            raise RequestRefusedError(
                f"the file is larger than {FILE_BYTES // 2**20} MiB")
        return content

    @asynccontextmanager
    async def events(self) -> "AsyncIterator[OpenAnswer]":
        """The stream of what comes. Silence ends it."""
        check_address(self.url, f"{TABLE}.http_url", "http://127.0.0.1:8080")
        query = f"?account={quote(self.account, safe='')}" \
            if self.account else ""
        try:
            async with self._stream.open(
                    "GET", f"{self.url}/api/v1/events{query}", check=False,
                    headers={"accept": "text/event-stream"}) as answer:
                if answer.status >= 300:
                    raise await self._refuse_stream(answer)
                if not answer.headers.get("content-type", "").startswith(
                        "text/event-stream"):
                    raise UnavailableError(
                        "what answered /api/v1/events is no signal-cli",
                        hint=URL_HINT)
                yield answer
        except UnavailableError as error:
            _hint(error)
            raise

    async def _refuse_stream(self, answer: OpenAnswer) -> ClawError:
        body = (await answer.read(4096)).decode("utf-8", "replace")
        if answer.status == 400 and not body.strip():
            return AuthError(f"signal-cli has no account {self.account!r}",
                             hint=ACCOUNT_HINT, status=400)
        return status_error(self._stream.peer, answer.status, body,
                            headers=answer.headers)


async def read_chunks(answer: OpenAnswer) -> "AsyncIterator[bytes]":
    """The bytes of a stream as they come."""
    async with aclosing(answer.chunks()) as chunks:
        async for chunk in chunks:
            yield chunk


def address(chat: str, *, several: bool = True) -> dict[str, Any]:
    """A chat as the parameters of a call: "group:<id>" or a person."""
    group = chat.removeprefix("group:")
    key, value = ("groupId", group) if group != chat else ("recipient", chat)
    return {key: [value] if several else value}


def _hint(error: UnavailableError) -> None:
    """What to do about a daemon that can't be asked."""
    if error.status == 421:
        error.hint = ("signal-cli answers only to the host name that it "
                      "listens at; write that into http_url, or let it "
                      "listen at 0.0.0.0")
    elif error.hint is None or "proxy" not in error.hint:
        error.hint = URL_HINT


# -- errors

def read_error(method: str, error: Any) -> ClawError:
    """The error of a call."""
    if not isinstance(error, dict):
        return UnavailableError(f"signal-cli failed at {method}",
                                hint=URL_HINT)
    code, text = error.get("code"), summarise(str(error.get("message")))
    message = f"signal-cli refused {method} ({code}): {text}"
    results = list_results(error.get("data"))
    if text in _NO_ACCOUNT:
        return AuthError(f"signal-cli: {text}", hint=ACCOUNT_HINT)
    if code == -5:
        return _slow_down(message, results)
    if code == -4:
        return RequestRefusedError(message, status=409, hint="their safety "
                                   "number has changed; if that is right: "
                                   "signal-cli -a +NUMBER trust -a THEIRS")
    types = {result.get("type") for result in results}
    if code == -1 and not types.intersection(_DOUBTFUL) \
            and (results or text != "Failed to send message"):
        return RequestRefusedError(
            message + _tell(types), status=400,
            hint="is the recipient on Signal, and are we in the group?")
    if code in (-32600, -32601, -32602, -32700):
        return RequestRefusedError(message, status=400, hint=(
            "is signal-cli too old? see: claw channel doctor signal"))
    return UnavailableError(message + _tell(types),
                            hint="see the log of signal-cli's daemon")


def list_results(data: Any) -> list[dict[str, Any]]:
    """What a call says of each recipient."""
    found = data.get("response", data) if isinstance(data, dict) else None
    results = found.get("results") if isinstance(found, dict) else None
    return [result for result in results if isinstance(result, dict)] \
        if isinstance(results, list) else []


def _tell(types: set[Any]) -> str:
    known = sorted(str(kind)[:40] for kind in types - {None})
    return f" [{', '.join(known)}]" if known else ""


def _slow_down(message: str, results: list[dict[str, Any]]) -> ClawError:
    waits = [wait for result in results if isinstance(
        wait := result.get("retryAfterSeconds"), int | float)
        and not isinstance(wait, bool)]
    token = next((token for result in results if isinstance(
        token := result.get("token"), str)), None)
    hint = "it is tried again when Signal allows"
    if token is not None:
        hint = ("Signal wants a proof that you are human: solve "
                "https://signalcaptchas.org/challenge/generate.html, then "
                "signal-cli -a +NUMBER submitRateLimitChallenge --challenge "
                f"{token[:200]} --captcha CAPTCHA")
    return RateLimitedError(message, hint=hint, status=429,
                            retry_after_s=max(waits, default=None))
