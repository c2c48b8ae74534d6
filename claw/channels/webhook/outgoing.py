"""An answer as a signed request to send_url.

    {"id": "...", "content": "...", "recipient": "mina", "thread_id": "t1"}

It is signed as what comes in is (incoming.py); `id` is also the
Idempotency-Key. Every status below 300 means delivered; the body of the
answer is not read.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from claw.channels.webhook.incoming import sign
from claw.channels.webhook.settings import SEND_URL, WebhookSettings
from claw.core.channel import SendMessage
from claw.core.errors import ClawError, UnavailableError
from claw.net.errors import Peer, was_unsent
from claw.net.http import HttpClient, to_bytes

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 30.0
# A server that says one of these has not taken the message.
_NOT_TAKEN = (408, 429, 503)


def payload(message: SendMessage, key: str) -> dict[str, Any]:
    """What is sent. Files can't go along: their names do."""
    found: dict[str, Any] = {"id": key, "content": message.content}
    if message.thread_ts:
        found["thread_id"] = message.thread_ts
    if message.recipient:
        found["recipient"] = message.recipient
    if message.subject:
        found["subject"] = message.subject
    if message.attachments:
        found["attachments"] = [
            {"file_name": a.file_name, "mime_type": a.mime_type,
             "size_bytes": a.size_bytes} for a in message.attachments]
    return found


class Courier:
    """Makes the requests."""

    def __init__(self, settings: WebhookSettings,
                 transport: "httpx.AsyncBaseTransport | None",
                 clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        header = settings.auth_header or ""
        secrets = (settings.secret or "", header, header.partition(" ")[2])
        receiver = Peer("the webhook receiver",  # for the words of errors
                        secrets=tuple(s for s in secrets if s),
                        key_hint="claw config set "
                                 "channels_config.webhook.auth_header",
                        slow_hint="the receiver should answer first and "
                                  "work afterwards")
        self._http = HttpClient(receiver, timeout_s=TIMEOUT_S,
                                transport=transport)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def deliver(self, url: str, message: SendMessage, key: str
                      ) -> None:
        """Make one request. An error's `maybe_sent` tells whether the
        message may have arrived all the same."""
        body = to_bytes(payload(message, key))
        headers = {"Content-Type": "application/json",
                   "Idempotency-Key": key,
                   **sign(self._settings.secret or "", body, self._clock())}
        if self._settings.auth_header:
            headers["Authorization"] = self._settings.auth_header
        try:
            async with (asyncio.timeout(TIMEOUT_S), self._http.open(
                    self._settings.send_method.upper(), url,
                    headers=headers, content=body)):
                return
        except TimeoutError as error:
            late = self._http.broken(url, error)
            raise _explain(late, error) from error
        except ClawError as error:
            _explain(error, error.__cause__)
            raise


def _explain(error: ClawError, cause: BaseException | None) -> ClawError:
    """The error with `maybe_sent`, and with hints that name our keys."""
    error.__dict__["maybe_sent"] = _may_be_sent(error, cause)
    hint = error.hint or ""
    for base in ("the base URL", "base URL"):
        hint = hint.replace(base, SEND_URL)
    error.hint = hint or None
    return error


def _may_be_sent(error: ClawError, cause: BaseException | None) -> bool:
    """Whether the message of a failed call may have arrived. A status of
    400 to 499 and 503 say no; so does a call that found no connection. A
    broken gateway (502, 504) or a silence say nothing."""
    if cause is not None and was_unsent(cause):
        return False
    if not isinstance(error, UnavailableError):
        return False  # refused (401, 403), or never built
    return error.status is None \
        or (error.status >= 500 and error.status not in _NOT_TAKEN)
