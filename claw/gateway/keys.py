"""Bearer keys and pairing codes: <home>/gateway.db.

A key is shown once and kept as its SHA-256; it has 256 random bits, so that
its hash needs no salt. A code has five bits a character and is good once.
What another process changes here counts from the next call on: a key that
was rotated or revoked is refused at once.
"""

import hashlib
import hmac
import re
import secrets
import shlex
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from claw.core.errors import ClawError, NotFoundError, UsageError
from claw.core.value import Value
from claw.storage import sqlite

VERSION = 1
OWNER = "owner"
_PREFIX = "zc_"  # the redaction of logs knows it
_ALPHABET = "ABCDEFGHJKMNPQRSTVWXYZ0123456789"  # no I, L, O, U
_NAME = re.compile(r"[^\s:\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")
_NOTE_EVERY_S = 60.0

_TABLES = (
    """
CREATE TABLE keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL UNIQUE,
    sees TEXT,
    created_at REAL NOT NULL,
    rotated_at REAL,
    used_at REAL
)""",
    """
CREATE TABLE codes (
    hash TEXT PRIMARY KEY,
    name TEXT,
    sees TEXT,
    until REAL NOT NULL
)""",
    """
CREATE TABLE nonces (
    id TEXT PRIMARY KEY,
    answer TEXT NOT NULL,
    until REAL NOT NULL
)""")


class Key(Value):
    """Who calls. `sees` is whose memory: "owner", a sender's id, or None
    for nobody's."""

    id: str
    name: str
    sees: str | None = None


class KeyRow(Value):
    """A key as it is listed; times are Unix seconds."""

    name: str
    sees: str | None
    created_at: float
    rotated_at: float | None
    used_at: float | None


class KeyStore:
    """The keys of one home. `given` are keys of config.toml, plain or as
    their hash; they see nobody's memory."""

    def __init__(self, path: Path, given: Iterable[str] = (),
                 clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._version: tuple[int, int] | None = None
        self._known: dict[str, Key] = {}
        self._noted: dict[str, float] = {}
        self.give(given)

    def give(self, given: Iterable[str]) -> None:
        """Take these keys of config.toml in place of those before."""
        digests = [one if _HASH.fullmatch(one) else hash_token(one)
                   for one in given]
        self._given = {digest: Key(f"given:{digest[:16]}", f"paired {number}")
                       for number, digest in enumerate(digests, 1)}

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- what the gateway asks

    def find(self, token: str) -> Key | None:
        """The key of a token, None for one that is not known."""
        digest = hash_token(token)
        self._refresh()
        for known in (self._known, self._given):
            for kept, key in known.items():
                if hmac.compare_digest(kept, digest):
                    self._note_use(key)
                    return key
        return None

    def has_any(self) -> bool:
        """Whether anybody holds a key."""
        self._refresh()
        return bool(self._known or self._given)

    # -- what the owner does

    def add(self, name: str, sees: str | None = None) -> str:
        """Make a key; its token, which nothing can show again. Raises
        UsageError for a name that is taken or can't be one."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r:.80} can't be the name of a key",
                             hint="up to 64 characters, such as laptop")
        token = _PREFIX + secrets.token_hex(32)
        with sqlite.write(self._open(), self._path) as connection:
            if not connection.execute(
                    "INSERT OR IGNORE INTO keys (name, hash, sees, "
                    "created_at) VALUES (?, ?, ?, ?)",
                    (name, hash_token(token), sees, self._clock())).rowcount:
                raise UsageError(
                    f"there is a key {name!r} already",
                    hint=f"claw gateway token rotate {shlex.quote(name)}")
        return token

    def rotate(self, name: str) -> str:
        """Another token for a key; the old one is refused at once. Raises
        NotFoundError."""
        token = _PREFIX + secrets.token_hex(32)
        with sqlite.write(self._open(), self._path) as connection:
            changed = connection.execute(
                "UPDATE keys SET hash = ?, rotated_at = ? WHERE name = ?",
                (hash_token(token), self._clock(), name)).rowcount
        if not changed:
            raise NotFoundError(f"no such key: {name}",
                                hint="claw gateway token list")
        return token

    def revoke(self, name: str) -> bool:
        """Whether there was such a key."""
        if not self._path.exists():
            return False
        with sqlite.write(self._open(), self._path) as connection:
            return bool(connection.execute(
                "DELETE FROM keys WHERE name = ?", (name,)).rowcount)

    def list(self) -> list[KeyRow]:
        """All keys, the oldest first."""
        if not self._path.exists():
            return []
        with sqlite.translated(self._path):
            return [KeyRow(*row) for row in self._open().execute(
                "SELECT name, sees, created_at, rotated_at, used_at "
                "FROM keys ORDER BY id")]

    # -- pairing

    def add_code(self, length: int, ttl_s: float, most: int,
                 name: str | None = None, sees: str | None = None) -> str:
        """A code that gives its first user a key."""
        code = "".join(secrets.choice(_ALPHABET) for _ in range(length))
        with sqlite.write(self._open(), self._path) as connection:
            connection.execute("INSERT INTO codes VALUES (?, ?, ?, ?)",
                               (_hash_code(code), name, sees,
                                self._clock() + ttl_s))
            connection.execute(
                "DELETE FROM codes WHERE until <= ? OR rowid NOT IN (SELECT "
                "rowid FROM codes ORDER BY rowid DESC LIMIT ?)",
                (self._clock(), most))
        return code

    def use_code(self, code: str, device: str) -> tuple[str, str] | None:
        """The name and token of a new key for a code that is good; it is
        used up by it. None for any other."""
        if not self._path.exists():
            return None
        with sqlite.translated(self._path):  # a guess costs no write
            if self._open().execute("SELECT 1 FROM codes WHERE hash = ?",
                                    (_hash_code(code),)).fetchone() is None:
                return None
        with sqlite.write(self._open(), self._path) as connection:
            row = connection.execute(
                "DELETE FROM codes WHERE hash = ? AND until > ? "
                "RETURNING name, sees",
                (_hash_code(code), self._clock())).fetchone()
            if row is None:
                return None
            taken = {name for name, in connection.execute(
                "SELECT name FROM keys")}
            name = row[0] or (device if _NAME.fullmatch(device)
                              and device.isprintable() else "device")
            name = next(one for one in (name, *(
                f"{name} {n}" for n in range(2, len(taken) + 3)))
                if one not in taken)
            token = _PREFIX + secrets.token_hex(32)
            connection.execute(
                "INSERT INTO keys (name, hash, sees, created_at) "
                "VALUES (?, ?, ?, ?)",
                (name, hash_token(token), row[1], self._clock()))
        return name, token

    # -- the doctor's question: does an address lead to this home?

    def add_nonce(self, ttl_s: float = 60.0) -> tuple[str, str]:
        """An id to ask the gateway for, and what it will answer, once."""
        number, answer = secrets.token_hex(16), secrets.token_hex(16)
        with sqlite.write(self._open(), self._path) as connection:
            connection.execute("DELETE FROM nonces WHERE until <= ?",
                               (self._clock(),))
            connection.execute("INSERT INTO nonces VALUES (?, ?, ?)",
                               (number, answer, self._clock() + ttl_s))
        return number, answer

    def use_nonce(self, number: str) -> str | None:
        """The answer, None for an id that is not known (any more)."""
        if not self._path.exists():
            return None
        with sqlite.translated(self._path):  # a guess costs no write
            if self._open().execute("SELECT 1 FROM nonces WHERE id = ?",
                                    (number,)).fetchone() is None:
                return None
        with sqlite.write(self._open(), self._path) as connection:
            row = connection.execute(
                "DELETE FROM nonces WHERE id = ? AND until > ? "
                "RETURNING answer", (number, self._clock())).fetchone()
        return None if row is None else str(row[0])

    # -- the file

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            sqlite.make_private(self._path)
            self._connection = sqlite.connect(self._path,
                                              synchronous="FULL")
            self._file = sqlite.file_id(self._path)
            sqlite.make_tables(self._connection, self._path, _TABLES,
                               VERSION)
        return self._connection

    def _refresh(self) -> None:
        """Read the keys where somebody has changed them."""
        found = sqlite.file_id(self._path)
        if found != self._file:
            self.close()
            self._file = self._version = None
            self._known = {}
        if found is None:
            return
        with sqlite.translated(self._path):
            connection = self._open()
            version = connection.execute("PRAGMA data_version").fetchone()[0]
            total = connection.total_changes
            if (version, total) == self._version:
                return
            self._known = {digest: Key(str(number), name, sees)
                           for digest, number, name, sees in
                           connection.execute(
                               "SELECT hash, id, name, sees FROM keys")}
            self._version = (version, total)

    def _note_use(self, key: Key) -> None:
        """When it was last used, to the minute."""
        now = self._clock()
        if key.id.startswith("given:") or now - self._noted.get(
                key.id, float("-inf")) < _NOTE_EVERY_S:
            return
        self._noted[key.id] = now
        connection = self._open()
        # No call waits or fails for it: the next minute writes it.
        with suppress(ClawError), sqlite.impatient(connection), \
                sqlite.write(connection, self._path):
            connection.execute("UPDATE keys SET used_at = ? WHERE id = ?",
                               (now, key.id))


def hash_token(token: str) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _hash_code(code: str) -> str:
    """Codes are typed: case and dashes do not count."""
    return hash_token("".join(c for c in code.upper() if c.isalnum()))

