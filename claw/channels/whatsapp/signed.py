"""Whether Meta sent it: the handshake and the signature of a webhook. Pure.

    GET  ?hub.mode=subscribe&hub.verify_token=...&hub.challenge=...
    POST X-Hub-Signature-256: sha256=<hex of the HMAC-SHA256 of the raw body>

Source: developers.facebook.com/docs/graph-api/webhooks/getting-started.
"""

import hmac
from urllib.parse import parse_qs

from claw.channels.whatsapp.settings import TABLE
from claw.core.abilities import WebhookCall, WebhookRefused

SIGNATURE_HEADER = "X-Hub-Signature-256"
_PREFIX = b"sha256="
_CHALLENGE_CHARS = 500
_FIELDS = 20
SECRET_HINT = f"claw config set {TABLE}.app_secret"


def sign(secret: str, body: bytes) -> str:
    """What the header says of a body."""
    return _PREFIX.decode() + hmac.digest(secret.encode(), body,
                                          "sha256").hex()


def check_signature(secret: str, call: WebhookCall) -> None:
    """Raises WebhookRefused for what is not signed with the secret."""
    if not secret:
        raise WebhookRefused(401, "no app_secret is set, so nobody can be "
                                  f"believed: {SECRET_HINT}")
    given = call.header(SIGNATURE_HEADER.lower()) or b""
    if not hmac.compare_digest(given, sign(secret, call.body).encode()):
        raise WebhookRefused(
            401, f"{SIGNATURE_HEADER} is missing or is not that of this body "
                 "and the app secret", {"WWW-Authenticate": SIGNATURE_HEADER})


def check_handshake(verify_token: str, call: WebhookCall) -> None:
    """Raises WebhookRefused for who does not know the verify token."""
    if not verify_token:
        raise WebhookRefused(404, "no verify_token is set: claw config set "
                                  f"{TABLE}.verify_token")
    given = _read_query(call, "hub.verify_token") or ""
    if _read_query(call, "hub.mode") != "subscribe" \
            or not hmac.compare_digest(
                given.encode("utf-8", "replace"), verify_token.encode()):
        raise WebhookRefused(403, "the verify token is another one")


def read_challenge(call: WebhookCall) -> bytes:
    """What the handshake wants to read again. Raises WebhookRefused."""
    challenge = _read_query(call, "hub.challenge") or ""
    if not 0 < len(challenge) <= _CHALLENGE_CHARS or not challenge.isascii() \
            or not challenge.isprintable():
        raise WebhookRefused(400, "there is no hub.challenge")
    return challenge.encode()


def _read_query(call: WebhookCall, name: str) -> str | None:
    """The one parameter of this name; None for none and for several."""
    try:
        found = parse_qs(call.query, max_num_fields=_FIELDS).get(name, [])
    except ValueError:
        return None
    return found[0] if len(found) == 1 else None
