"""What the platform posts to the gateway: who signed it, what it holds.

    X-Lark-Signature: sha256(timestamp + nonce + encrypt_key + body), in hex
    X-Lark-Request-Timestamp, X-Lark-Request-Nonce

With an encrypt_key the body is {"encrypt": base64}, AES-256-CBC under
sha256(encrypt_key), the first block the IV. Without one nothing is signed,
and what proves the sender is the verification_token in the body. The check of
an address ("url_verification") is answered with its challenge; the platform
signs it not in all cases, so that without a signature it counts by its token
or by what it is encrypted with. A replay is a no-op: ids are known for longer
than a signature is of use. Pure.
Source: "Configure event subscription", "Encryption and decryption".
"""

import base64
import hashlib
import hmac
import json
from typing import Any

from claw.channels.lark.answers import mend
from claw.core.abilities import WebhookCall, WebhookRefused
from claw.core.errors import ConfigError

_BLOCK = 16


class Seal:
    """What proves that the platform posts. Raises ConfigError where nothing
    would."""

    def __init__(self, encrypt_key: str, token: str, table: str) -> None:
        self._key = encrypt_key.strip()
        self._token = token.strip()
        if not self._key and not self._token:
            raise ConfigError(
                f"{table} is a webhook without encrypt_key and "
                "verification_token: anyone could write to the agent",
                hint=f"claw config set {table}.encrypt_key, as Events & "
                     "Callbacks, Encryption Strategy, shows it")

    def verify(self, call: WebhookCall) -> None:
        """Raises WebhookRefused for what the platform did not sign."""
        if not self._key:
            self.open(call.body)
            return
        given = call.header("x-lark-signature")
        if given is None:
            if is_challenge(self.open(call.body)):
                return
            raise _refuse("the signature is missing")
        signed = b"".join((
            call.header("x-lark-request-timestamp") or b"",
            call.header("x-lark-request-nonce") or b"",
            self._key.encode(), call.body))
        ours = hashlib.sha256(signed).hexdigest().encode()
        if not hmac.compare_digest(ours, given.strip().lower()):
            raise _refuse("the signature is not that of this body")

    def open(self, body: bytes) -> dict[str, Any]:
        """The event in a body. Raises WebhookRefused."""
        event = _parse(body)
        if "encrypt" in event:
            event = _parse(self._decrypt(event["encrypt"]))
        elif self._key:
            raise _refuse("the body is not encrypted")
        if self._token:
            header = event.get("header")
            given = (header if isinstance(header, dict) else event
                     ).get("token")
            if not isinstance(given, str) or not hmac.compare_digest(
                    given.encode("utf-8", "replace"), self._token.encode()):
                raise _refuse("the token is not the verification_token")
        return event

    def _decrypt(self, given: Any) -> bytes:
        if not self._key:
            raise _refuse("the body is encrypted, and no encrypt_key is set")
        try:
            data = base64.b64decode(str(given), validate=True)
            return decrypt(self._key, data)
        except ValueError as error:
            raise _refuse("the body is not encrypted with the encrypt_key"
                          ) from error


def is_challenge(event: dict[str, Any]) -> bool:
    return event.get("type") == "url_verification"


def read_challenge(event: dict[str, Any]) -> dict[str, str]:
    challenge = event.get("challenge")
    return {"challenge": challenge if isinstance(challenge, str) else ""}


def decrypt(key: str, data: bytes) -> bytes:
    """Raises ValueError."""
    from cryptography.hazmat.primitives.ciphers import (
        Cipher,
        algorithms,
        modes,
    )
    if len(data) < 2 * _BLOCK or len(data) % _BLOCK:
        raise ValueError("no whole blocks")
    cipher = Cipher(algorithms.AES(hashlib.sha256(key.encode()).digest()),
                    modes.CBC(data[:_BLOCK])).decryptor()
    plain = cipher.update(data[_BLOCK:]) + cipher.finalize()
    pad = plain[-1]
    if not 1 <= pad <= _BLOCK or plain[-pad:] != bytes([pad]) * pad:
        raise ValueError("no padding")
    return plain[:-pad]


def _parse(body: bytes) -> dict[str, Any]:
    try:
        found = mend(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise WebhookRefused(400, "the body is not JSON") from error
    if not isinstance(found, dict):
        raise WebhookRefused(400, "the body is no object")
    return found


def _refuse(why: str) -> WebhookRefused:
    return WebhookRefused(401, why, {"WWW-Authenticate":
                                     "X-Lark-Signature"})
