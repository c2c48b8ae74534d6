"""A signed body as a message. Pure.

    {"sender": "mina", "content": "hello", "thread_id": "t1", "id": "42"}

The signature is the HMAC-SHA256 of the raw body, so only `id` is protected
by it: a copy of a request whose id stands in a header can be sent again
under another one. Senders that can should put `id` into the body.
"""

import hmac
import json
import re
from collections.abc import Sequence
from typing import Annotated
from uuid import uuid4

import msgspec

from claw.core.channel import ChannelMessage
from claw.text.segment import clean

# A redelivery has the same one; the first that is there counts.
ID_HEADERS = ("x-webhook-id", "idempotency-key", "x-idempotency-key")
_HEX = re.compile(rb"[0-9a-f]{64}")
_NAME_CHARS = 500

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=_NAME_CHARS)]
Address = Annotated[str, msgspec.Meta(max_length=_NAME_CHARS)]


class BadBody(ValueError):
    """What is wrong with it, for the sender."""


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What a sender posts; other keys are ignored."""

    sender: Name
    content: str
    thread_id: Address | None = None
    id: Address | int | None = None


def signature(secret: str, body: bytes) -> str:
    """The value of X-Webhook-Signature."""
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


def is_signed(secret: str, body: bytes, given: bytes | None) -> bool:
    """Whether `[sha256=]hex` is this body's; in constant time."""
    plain = (given or b"").strip().lower().removeprefix(b"sha256=")
    ours = signature(secret, body).removeprefix("sha256=").encode()
    return bool(_HEX.fullmatch(plain)) and hmac.compare_digest(plain, ours)


def read_message(raw: bytes, ids: Sequence[bytes | None], now: float
               ) -> ChannelMessage:
    """The message of a body; `ids` are what the headers of ID_HEADERS say.
    Raises BadBody."""
    body = _decode_body(raw)
    if not body.content.strip():
        raise BadBody("content is empty")
    if not body.sender.strip():
        raise BadBody("sender is empty")
    thread = clean(body.thread_id or "").strip() or None
    sender = clean(body.sender)
    return ChannelMessage(
        id=f"webhook_{_choose_id(body, ids)}", sender=sender,
        reply_target=thread or sender, content=clean(body.content),
        channel="webhook", timestamp=int(now), thread_ts=thread)


def _decode_body(raw: bytes) -> Body:
    try:
        return msgspec.convert(json.loads(raw.decode("utf-8-sig")), Body)
    except UnicodeDecodeError as error:
        raise BadBody("the body is not UTF-8") from error
    except msgspec.ValidationError as error:
        raise BadBody(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise BadBody(f"the body is not JSON: {error}") from error


def _choose_id(body: Body, ids: Sequence[bytes | None]) -> str:
    given = "" if body.id is None else clean(str(body.id)).strip()
    for header in ids:
        given = given or (header or b"").decode("utf-8", "replace").strip()
    if len(given) > _NAME_CHARS:
        raise BadBody(f"the id is longer than {_NAME_CHARS} characters")
    return given or uuid4().hex
