"""A post to a webhook, as the platform signs and encrypts one."""

import base64
import hashlib
import json
import os
import time

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def encrypt(key: str, plain: bytes) -> bytes:
    """The body that holds an encrypted event."""
    pad = 16 - len(plain) % 16
    iv = os.urandom(16)
    cipher = Cipher(algorithms.AES(hashlib.sha256(key.encode()).digest()),
                    modes.CBC(iv)).encryptor()
    data = iv + cipher.update(plain + bytes([pad]) * pad) + cipher.finalize()
    return json.dumps({"encrypt": base64.b64encode(data).decode()}).encode()


def sign(key: str, body: bytes) -> dict[str, str]:
    """The headers of a body."""
    seconds, nonce = str(int(time.time())), "n0nce"
    signed = (seconds + nonce + key).encode() + body
    return {"X-Lark-Request-Timestamp": seconds,
            "X-Lark-Request-Nonce": nonce,
            "X-Lark-Signature": hashlib.sha256(signed).hexdigest()}
