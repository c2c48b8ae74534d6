"""A stream encrypted with a passphrase.

    b"claw-backup-1\\n"  salt (16 bytes)
    then for each mebibyte: length (4 bytes, big endian), ciphertext and tag

ChaCha20-Poly1305 (RFC 8439); the key is scrypt's of the passphrase (RFC 7914,
n = 2**17, r = 8, p = 1). The nonce counts the chunks, and its last byte is 1
for the last one: what was cut off, swapped or added is found out.
"""

import io
import os
from typing import IO, TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from claw.core.errors import StorageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

MAGIC = b"claw-backup-1\n"
_SALT = 16
_CHUNK = 1 << 20
_TAG = 16


def is_sealed(file: IO[bytes]) -> bool:
    """Whether the file, which can be wound back, begins as one of these.
    Raises OSError."""
    return _read_start(file) == MAGIC


def is_backup(file: IO[bytes]) -> bool:
    """Whether it begins as a backup, sealed or plain. Raises OSError."""
    return _read_start(file).startswith((MAGIC, b"\x1f\x8b\x08"))


def _read_start(file: IO[bytes]) -> bytes:
    start = file.read(len(MAGIC))
    file.seek(0)
    return start


class Sealer(io.RawIOBase):
    """A stream to write to; what comes out goes to `target`."""

    def __init__(self, target: IO[bytes], passphrase: str) -> None:
        salt = os.urandom(_SALT)
        target.write(MAGIC + salt)
        self._target = target
        self._cipher = _Cipher(passphrase, salt)
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        self._held += data
        while len(self._held) > _CHUNK:  # the last one is for `close`
            self._put(self._held[:_CHUNK], last=False)
            del self._held[:_CHUNK]
        return memoryview(data).nbytes

    def close(self) -> None:
        if not self.closed:
            self._put(self._held, last=True)
        super().close()

    def _put(self, plain: bytearray, *, last: bool) -> None:
        sealed = self._cipher.encrypt(bytes(plain), last=last)
        self._target.write(len(sealed).to_bytes(4, "big") + sealed)


class Unsealer(io.RawIOBase):
    """A stream to read from. Raises StorageError for a wrong passphrase,
    and for what is damaged."""

    def __init__(self, source: IO[bytes], passphrase: str) -> None:
        if source.read(len(MAGIC)) != MAGIC:
            raise StorageError("this is no encrypted backup")
        self._source = source
        self._cipher = _Cipher(passphrase, source.read(_SALT))
        self._held = b""
        self._next = self._read_chunk()

    def readable(self) -> bool:
        return True

    def readinto(self, target: "WriteableBuffer", /) -> int:
        view = memoryview(target).cast("B")
        while not self._held and self._next is not None:
            chunk, self._next = self._next, self._read_chunk()
            self._held = self._cipher.decrypt(chunk, last=self._next is None)
        count = min(len(view), len(self._held))
        view[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def _read_chunk(self) -> bytes | None:
        """The next one, sealed; None at the end."""
        head = self._source.read(4)
        if not head:
            return None
        size = int.from_bytes(head, "big")
        chunk = self._source.read(size) if size <= _CHUNK + _TAG else b""
        if len(head) < 4 or len(chunk) != size or size < _TAG:
            raise StorageError("the backup is cut off or damaged")
        return chunk


class _Cipher:
    def __init__(self, passphrase: str, salt: bytes) -> None:
        key = Scrypt(salt=salt, length=32, n=2**17, r=8, p=1).derive(
            passphrase.encode("utf-8", "surrogateescape"))
        self._cipher = ChaCha20Poly1305(key)
        self._count = 0

    def _draw_nonce(self, *, last: bool) -> bytes:
        self._count += 1
        return self._count.to_bytes(11, "big") + bytes([last])

    def encrypt(self, plain: bytes, *, last: bool) -> bytes:
        return self._cipher.encrypt(self._draw_nonce(last=last), plain, MAGIC)

    def decrypt(self, sealed: bytes, *, last: bool) -> bytes:
        try:
            return self._cipher.decrypt(self._draw_nonce(last=last), sealed,
                                        MAGIC)
        except InvalidTag as error:
            raise StorageError(
                "wrong passphrase" if self._count == 1
                else "the backup is cut off or damaged",
                hint="or the beginning of the backup is damaged"
                if self._count == 1 else None) from error
