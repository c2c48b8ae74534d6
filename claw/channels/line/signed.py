"""Whether LINE sent it. Pure.

    x-line-signature: base64 of the HMAC-SHA256 of the raw body

Source: developers.line.biz/en/docs/messaging-api/verify-webhook-signature.
"""

import hmac
from base64 import b64encode

from claw.channels.line.settings import TABLE
from claw.core.abilities import WebhookCall, WebhookRefused

HEADER = "X-Line-Signature"
SECRET_HINT = f"claw config set {TABLE}.channel_secret"


def sign(secret: str, body: bytes) -> str:
    """What the header says of a body."""
    return b64encode(hmac.digest(secret.encode(), body, "sha256")).decode()


def check_signature(secret: str, call: WebhookCall) -> None:
    """Raises WebhookRefused for what is not signed with the secret."""
    if not secret:
        raise WebhookRefused(401, "no channel_secret is set, so nobody can "
                                  f"be believed: {SECRET_HINT}")
    given = call.header(HEADER.lower()) or b""
    if not hmac.compare_digest(given, sign(secret, call.body).encode()):
        raise WebhookRefused(
            401, f"{HEADER} is missing or is not that of this body and the "
                 "channel secret", {"WWW-Authenticate": HEADER})
