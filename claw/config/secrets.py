"""Secrets at rest, in the reference's format.

`enc2:` + hex(nonce 12 bytes, ciphertext, tag 16 bytes): ChaCha20-Poly1305
without associated data, a fresh nonce each time. The key is 32 random
bytes as 64 hex digits in <home>/.secret_key, mode 0600. The older `enc:`
is hex(text XOR the key, repeated) and is only read. Everything else is
plain text.

Imported only when an encrypted value is met or written.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from claw.core.errors import ConfigError, StorageError

ENC2 = "enc2:"
ENC = "enc:"
_NONCE_BYTES = 12
_KEY_BYTES = 32
_CORRUPT_HEX = "Failed to decode encrypted secret (corrupt hex)"


class SecretError(ValueError):
    """Why one value could not be decrypted."""


def seal(plain: str, key: bytes,
         random: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """The enc2: form of a text; the empty text stays empty."""
    if not plain:
        return ""
    nonce = random(_NONCE_BYTES)
    data = plain.encode("utf-8", "surrogatepass")
    return ENC2 + (nonce + ChaCha20Poly1305(key).encrypt(
        nonce, data, None)).hex()


def unseal(stored: str, key: bytes) -> str:
    """The text of an enc2: or enc: value. Raises SecretError."""
    if not stored.startswith(ENC2):
        data = _from_hex(stored[len(ENC):])
        return _decode(bytes(a ^ b for a, b in zip(data, cycle(key),
                                                   strict=False)))
    data = _from_hex(stored[len(ENC2):])
    if len(data) <= _NONCE_BYTES:
        raise SecretError("Encrypted value too short (missing nonce)")
    try:
        return _decode(ChaCha20Poly1305(key).decrypt(
            data[:_NONCE_BYTES], data[_NONCE_BYTES:], None))
    except InvalidTag as error:
        raise SecretError(
            "Decryption failed — wrong key or tampered data") from error


def read_key(path: Path) -> bytes:
    """The key in this file. ConfigError when it is missing or odd."""
    try:
        text = _first_bytes(path).strip().decode("ascii")
        key = bytes.fromhex(text)
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path} is missing, and it is the key to the encrypted "
            "settings",
            hint="put the key file back, or remove what it encrypted with "
                 "claw config unset and set it again") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}",
                          hint=f"look at: ls -l '{path}'") from error
    except ValueError as error:
        raise _odd_key(path) from error
    if len(key) != _KEY_BYTES:
        raise _odd_key(path)
    return key


def _first_bytes(path: Path) -> bytes:
    """More than a key is long; of a pipe or a device nothing."""
    # O_NONBLOCK: opening a named pipe must not wait for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISDIR(mode := os.fstat(handle).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return os.read(handle, 1024) if stat.S_ISREG(mode) else b""
    finally:
        os.close(handle)


def create_key(path: Path) -> bytes:
    """A new key in a new file, 0600 from the start, durable.

    Where another process was faster, its key is the one.
    """
    key = secrets.token_bytes(_KEY_BYTES)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with open(os.open(draft, flags, 0o600), "wb") as file:
            file.write(key.hex().encode())
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # whole or not at all, never over another
        except FileExistsError:
            return read_key(path)
        finally:
            draft.unlink()
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}",
                           hint=f"look at: ls -ld '{path.parent}'"
                           ) from error
    return key


def _from_hex(text: str) -> bytes:
    # bytes.fromhex alone would let blanks through
    if not text.isascii() or any(c.isspace() for c in text):
        raise SecretError(_CORRUPT_HEX)
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise SecretError(_CORRUPT_HEX) from error


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise SecretError("Decrypted secret is not UTF-8 — wrong key or "
                          "tampered data") from error


def _odd_key(path: Path) -> ConfigError:
    return ConfigError(
        f"{path} does not hold a key (64 hex digits)",
        hint="put back the original key file, or move it away, remove what "
             "it encrypted with claw config unset and set it again")
