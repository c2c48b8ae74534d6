"""An answer as a signed request to send_url.

    {"content": "...", "recipient": "mina", "thread_id": "t1"}

Every status below 300 means delivered; the body of the answer is not read.
"""

import asyncio
from typing import Any

from claw.channels.webhook.incoming import signature
from claw.channels.webhook.settings import WebhookSettings
from claw.core.channel import SendMessage
from claw.core.errors import ClawError, UnavailableError
from claw.net.errors import Peer
from claw.net.http import HttpClient, to_bytes
from claw.net.lean import httpx

TIMEOUT_S = 30.0
SEND_URL = "channels_config.webhook.send_url"
# Nothing has left this machine when one of these is raised.
_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout,
                   httpx.PoolTimeout, httpx.ProxyError,
                   httpx.UnsupportedProtocol, httpx.LocalProtocolError,
                   httpx.InvalidURL, ValueError)
# A server that says one of these has not taken the message.
_NOT_TAKEN = (408, 429, 503)


def peer_of(settings: WebhookSettings) -> Peer:
    """The receiver, for the sentences of errors."""
    header = settings.auth_header or ""
    secrets = (settings.secret or "", header, header.partition(" ")[2])
    return Peer("the webhook receiver",
                secrets=tuple(s for s in secrets if s),
                key_hint="claw config set "
                         "channels_config.webhook.auth_header")


def payload(message: SendMessage) -> dict[str, Any]:
    """What is sent. Files can't go along: their names do."""
    found: dict[str, Any] = {"content": message.content}
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


async def deliver(http: HttpClient, settings: WebhookSettings, url: str,
                  message: SendMessage, key: str) -> None:
    """Make the request. An error's `maybe_sent` tells whether the message
    may have arrived all the same."""
    body = to_bytes(payload(message))
    headers = {"Content-Type": "application/json", "Idempotency-Key": key,
               "X-Webhook-Signature": signature(settings.secret or "", body)}
    if settings.auth_header:
        headers["Authorization"] = settings.auth_header
    try:
        async with (asyncio.timeout(TIMEOUT_S),
                    http.open(settings.send_method.upper(), url,
                              headers=headers, content=body)):
            return
    except TimeoutError as error:
        late = http.broken(url, error)
        raise _told(late, error) from error
    except ClawError as error:
        _told(error, error.__cause__)
        raise


def _told(error: ClawError, cause: BaseException | None) -> ClawError:
    """The error with `maybe_sent`, and with hints that name our keys."""
    error.__dict__["maybe_sent"] = maybe_sent(error, cause)
    hint = error.hint or ""
    if "--timeout" in hint:
        hint = "the receiver should answer first and work afterwards"
    for base in ("the base URL", "base URL"):
        hint = hint.replace(base, SEND_URL)
    error.hint = hint or None
    return error


def maybe_sent(error: ClawError, cause: BaseException | None) -> bool:
    """Whether the message of a failed call may have arrived. A status of
    400 to 499 and 503 say no; so does a call that found no connection. A
    broken gateway (502, 504) or a silence say nothing."""
    if isinstance(cause, _BEFORE_SENDING):
        return False
    if not isinstance(error, UnavailableError):
        return False  # refused (401, 403), or never built
    if error.status is None:
        return True
    return error.status >= 500 and error.status not in _NOT_TAKEN
