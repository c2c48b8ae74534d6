"""Ed25519 over what QQ posts, with a key that is made of the app's secret.

The 32 bytes of the seed are the secret, repeated. QQ signs its calls with
it (X-Signature-Ed25519: the hex of the signature of the time and the body),
and has claw sign a token with it before it posts to an address.
Source: bot.q.qq.com/wiki, API v2: interface-framework/sign, event-emit.
"""

import re
from typing import TYPE_CHECKING

from claw.core.abilities import WebhookCall, WebhookRefused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
    )

SKEW_S = 600.0  # QQ repeats a call with its first time, for a while
_HEX = re.compile(rb"[0-9a-fA-F]{128}")
_SECONDS = re.compile(rb"[0-9]{1,12}")


class Signer:
    """The key of one bot; loads `cryptography` when it is first used."""

    def __init__(self, secret: str) -> None:
        raw = secret.encode("utf-8", "replace")
        self._seed = (raw * 32)[:32]

    def sign(self, text: bytes) -> str:
        return bytes(self._key().sign(text)).hex()

    def check(self, call: WebhookCall, now: float) -> None:
        """Raises WebhookRefused for what QQ did not sign, or too long
        ago."""
        from cryptography.exceptions import InvalidSignature
        given = call.header("x-signature-ed25519") or b""
        seconds = call.header("x-signature-timestamp") or b""
        if not _HEX.fullmatch(given) or not _SECONDS.fullmatch(seconds):
            raise _refuse("X-Signature-Ed25519 or X-Signature-Timestamp is "
                          "missing or is none")
        try:
            self._key().public_key().verify(
                bytes.fromhex(given.decode()), seconds + call.body)
        except InvalidSignature:
            raise _refuse("the signature is not that of this time and body; "
                          "is app_secret the bot's own?") from None
        if abs(now - int(seconds)) > SKEW_S:
            raise _refuse(f"the call is {now - int(seconds):.0f} s old, or "
                          "this machine's clock is wrong")

    def _key(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (
            Ed25519PrivateKey,
        )
        return Ed25519PrivateKey.from_private_bytes(self._seed)


def _refuse(why: str) -> WebhookRefused:
    return WebhookRefused(401, why)
