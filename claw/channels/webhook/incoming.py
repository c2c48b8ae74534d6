"""A signed body as a message. Pure.

    X-Webhook-Timestamp: 1795377600
    X-Webhook-Signature: v1=<hex>

    {"sender": "mina", "content": "hello", "thread_id": "t1", "id": "42"}

The signature is the HMAC-SHA256 of "v1:", the time, ":" and the raw body.
The time bounds how long a copy of a request is good for, and `id`, which is
the sender's own and signed with the body, makes the copy a no-op.
"""

import hmac
import json
import re
from typing import Annotated

import msgspec

from claw.core.abilities import WebhookCall, WebhookRefused
from claw.core.channel import ChannelMessage
from claw.text.segment import clean

TIME_HEADER = "X-Webhook-Timestamp"
SIGNATURE_HEADER = "X-Webhook-Signature"
MAX_SKEW_S = 300
HOW_TO_SIGN = (
    f"send {TIME_HEADER}: SECONDS (as date +%s prints them) and "
    f"{SIGNATURE_HEADER}: v1=HEX, where HEX is the HMAC-SHA256 of "
    "v1:SECONDS:BODY with the secret")
_UNSIGNED = ("the signature is missing or is not that of this time and "
             f"body: {HOW_TO_SIGN}")
_STALE = (f"{TIME_HEADER} is {{:.0f}} s from this machine's clock, more than "
          f"{MAX_SKEW_S}: sign anew with the present time, keep the id")
_VERSION = "v1"
_HEX = re.compile(rb"[0-9a-f]{64}")
_SECONDS = re.compile(rb"[0-9]{1,12}")
_NAME_CHARS = 500

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=_NAME_CHARS)]
Address = Annotated[str, msgspec.Meta(max_length=_NAME_CHARS)]


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What a sender posts; other keys are ignored."""

    sender: Name
    content: str
    id: Address | int
    thread_id: Address | None = None


def sign(secret: str, body: bytes, now: float) -> dict[str, str]:
    """The headers of a body that is sent `now`."""
    seconds = str(int(now))
    return {TIME_HEADER: seconds, SIGNATURE_HEADER:
            f"{_VERSION}={_digest(secret, seconds.encode(), body).decode()}"}


def check_signature(secret: str, call: WebhookCall, now: float) -> None:
    """Raises WebhookRefused for what is not signed, or too long ago."""
    seconds = call.header(TIME_HEADER.lower())
    if not is_signed(secret, call.body, seconds,
                     call.header(SIGNATURE_HEADER.lower())):
        raise _refuse(_UNSIGNED)
    skew_s = abs(now - int(seconds or 0))
    if skew_s > MAX_SKEW_S:
        raise _refuse(_STALE.format(skew_s))


def _refuse(why: str) -> WebhookRefused:
    return WebhookRefused(401, why, {"WWW-Authenticate": SIGNATURE_HEADER})


def is_signed(secret: str, body: bytes, seconds: bytes | None,
              given: bytes | None) -> bool:
    """Whether `v1=hex` is that of this time and body; in constant time."""
    version, _, plain = (given or b"").strip().lower().partition(b"=")
    ours = _digest(secret, seconds or b"", body)
    return (version == _VERSION.encode() and bool(_HEX.fullmatch(plain))
            and bool(_SECONDS.fullmatch(seconds or b""))
            and hmac.compare_digest(plain, ours))


def _digest(secret: str, seconds: bytes, body: bytes) -> bytes:
    signed = b":".join((_VERSION.encode(), seconds, body))
    return hmac.digest(secret.encode(), signed, "sha256").hex().encode()


def read_message(raw: bytes, now: float) -> ChannelMessage:
    """The message of a body. Raises WebhookRefused."""
    body = _decode_body(raw)
    if not body.content.strip():
        raise _bad_body("content is empty")
    if not body.sender.strip():
        raise _bad_body("sender is empty")
    if not str(body.id).strip():
        raise _bad_body("id is empty")
    if clean(str(body.id) + body.sender) != str(body.id) + body.sender:
        raise _bad_body("id and sender must be text that UTF-8 can carry")
    thread = clean(body.thread_id or "").strip() or None
    sender = clean(body.sender)
    return ChannelMessage(
        id=_make_id(sender, body.id), sender=sender,
        reply_target=thread or sender, content=clean(body.content),
        channel="webhook", timestamp=int(now), thread_ts=thread)


def _make_id(sender: str, number: str | int) -> str:
    """Another one for each id: 1 and "1" are two, so are "1" and "1 "."""
    kind = "webhook" if isinstance(number, str) else "webhook-number"
    return f"{kind}_{_escape(sender)}_{number}"


def _escape(sender: str) -> str:
    """Without the sign behind it: no sender can take another's id."""
    return sender.replace("%", "%25").replace("_", "%5F")


def _decode_body(raw: bytes) -> Body:
    try:
        return msgspec.convert(json.loads(raw.decode("utf-8-sig")), Body)
    except UnicodeDecodeError as error:
        raise _bad_body("the body is not UTF-8") from error
    except msgspec.ValidationError as error:
        raise _bad_body(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _bad_body(f"the body is not JSON: {error}") from error


def _bad_body(why: str) -> WebhookRefused:
    """What is wrong with it, for the sender."""
    return WebhookRefused(400, why)
