"""Answers that were given before, in <workspace>/memory/response_cache.db.

One row an answer, under the hash of what was asked. Whoever asks makes the
hash; this file only keeps: for `ttl_minutes`, at most `max_entries` (who
was asked for longest ago goes first), the last `hot_entries` in memory too.
Nothing is on the disk before the first answer.

It is a cache: a damaged file is put aside and the next one begins anew, and
every error is the caller's to pass over. No wait for another process is
longer than a quarter of a second.
Source: spec/agent.md 1.7 (table and limits are those of the reference,
whose files are read).
"""

import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from claw.core.errors import StorageError, UnavailableError
from claw.core.times import rfc3339
from claw.core.value import Value
from claw.security.files import nofollow
from claw.storage.forgotten import read_stamp
from claw.storage.sqlite import (
    CorruptError,
    connect,
    file_id,
    make_private,
    translated,
    write,
)

WAIT_S = 0.25
# Longer answers are rare, and 256 of them in memory are not.
HOT_CHARS = 64_000
_AHEAD_S = 60.0  # a clock that was set back a little

_TABLE = (
    """
CREATE TABLE IF NOT EXISTS response_cache (
    prompt_hash TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    response TEXT NOT NULL,
    token_count INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    accessed_at TEXT NOT NULL,
    hit_count INTEGER NOT NULL DEFAULT 0
)""",
    "CREATE INDEX IF NOT EXISTS idx_rc_accessed "
    "ON response_cache(accessed_at)",
    "CREATE INDEX IF NOT EXISTS idx_rc_created ON response_cache(created_at)")


class CachedAnswer(Value):
    """An answer as it was kept; `created` in Unix seconds."""

    response: str
    token_count: int
    created: float


class CacheStats(Value):
    """What the cache holds, and what it saved since the rows began."""

    entries: int
    hits: int
    tokens_saved: int


class ResponseCache:
    """The answers of one file; for several threads and processes.

    Raises StorageError (CorruptError, ReadOnlyError) and UnavailableError
    where the file can't be used; it may be asked again later.
    """

    def __init__(self, path: Path, *, ttl_minutes: float, max_entries: int,
                 hot_entries: int, now: Callable[[], float]) -> None:
        self.path = path
        self._ttl_s = ttl_minutes * 60.0
        self._most = max_entries
        self._hot_most = hot_entries
        self._now = now
        self._hot: OrderedDict[str, CachedAnswer] = OrderedDict()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._stamp = read_stamp(path.parent.parent)
        self._lock = threading.Lock()

    def get(self, key: str) -> CachedAnswer | None:
        """The answer, None where there is none that is young enough."""
        with self._hold():
            self._cool_if_forgotten()
            found = self._hot.get(key)
            if found is not None and self._is_young(found.created):
                self._hot.move_to_end(key)
                return found
            self._hot.pop(key, None)
            found = self._read(key)
            if found is not None:
                self._warm(key, found)
            return found

    def _cool_if_forgotten(self) -> None:
        """Answers in memory may say what was forgotten since."""
        stamp = read_stamp(self.path.parent.parent)
        if stamp != self._stamp:
            self._hot.clear()
        self._stamp = stamp

    def touch(self, key: str) -> None:
        """Count a hit: who was asked for lately is kept longest."""
        with self._hold(), self._writing(create=False) as connection:
            if connection is not None:
                connection.execute(
                    "UPDATE response_cache SET accessed_at=?, "
                    "hit_count=hit_count+1 WHERE prompt_hash=?",
                    (rfc3339(self._now()), key))

    def put(self, key: str, model: str, response: str,
            token_count: int) -> None:
        """Keep an answer in the place of an older one; drop what is too
        old and what is too much. Text that UTF-8 can't hold is not kept."""
        if self._most <= 0 or self._ttl_s <= 0 or not (
                _storable(response) and _storable(model)):
            return
        now = self._now()
        with self._hold(), self._writing(create=True) as connection:
            if connection is None:
                return
            connection.execute(
                "INSERT OR REPLACE INTO response_cache (prompt_hash, model, "
                "response, token_count, created_at, accessed_at, hit_count) "
                "VALUES (?, ?, ?, ?, ?, ?, 0)",
                (key, model, response, token_count, rfc3339(now),
                 rfc3339(now)))
            self._sweep(connection, now, key)
            self._warm(key, CachedAnswer(response, token_count, now))

    def stats(self) -> CacheStats:
        with self._hold(), translated(self.path):
            connection = self._open(create=False)
            if connection is None:
                return CacheStats(0, 0, 0)
            row = connection.execute(
                "SELECT COUNT(*), COALESCE(SUM(hit_count), 0), "
                "COALESCE(SUM(token_count * hit_count), 0) "
                "FROM response_cache").fetchone()
            return CacheStats(*row)

    def clear(self) -> int:
        """Forget everything; how many answers were kept."""
        with self._hold(), self._writing(create=False) as connection:
            self._hot.clear()
            if connection is None:
                return 0
            return connection.execute("DELETE FROM response_cache").rowcount

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            self._shut()

    # -- what is young, what is too much

    def _is_young(self, created: float) -> bool:
        return -_AHEAD_S <= self._now() - created < self._ttl_s

    def _sweep(self, connection: sqlite3.Connection, now: float,
               key: str) -> None:
        connection.execute(
            "DELETE FROM response_cache WHERE created_at <= ? "
            "OR created_at > ?",
            (rfc3339(now - self._ttl_s), rfc3339(now + _AHEAD_S)))
        connection.execute(
            "DELETE FROM response_cache WHERE prompt_hash IN ("
            "SELECT prompt_hash FROM response_cache WHERE prompt_hash != ? "
            "ORDER BY accessed_at DESC, rowid DESC LIMIT -1 OFFSET ?)",
            (key, self._most - 1))

    def _warm(self, key: str, answer: CachedAnswer) -> None:
        if self._hot_most > 0 and len(answer.response) <= HOT_CHARS:
            self._hot[key] = answer
            self._hot.move_to_end(key)
            while len(self._hot) > self._hot_most:
                self._hot.popitem(last=False)

    def _read(self, key: str) -> CachedAnswer | None:
        with translated(self.path):
            connection = self._open(create=False)
            row = connection and connection.execute(
                "SELECT response, token_count, created_at "
                "FROM response_cache WHERE prompt_hash=?",
                (key,)).fetchone()
        if not row or not isinstance(row[0], str):
            return None
        found = CachedAnswer(row[0], row[1], _seconds(row[2]))
        return found if self._is_young(found.created) else None

    # -- the file

    @contextmanager
    def _hold(self) -> Iterator[None]:
        """For this thread alone; a damaged file is put aside."""
        if not self._lock.acquire(timeout=4 * WAIT_S):
            raise UnavailableError(f"{self.path} is locked",
                                   hint="try again in a moment")
        try:
            yield
        except CorruptError as error:
            self._shut()
            self._hot.clear()
            aside = _put_aside(self.path)
            raise CorruptError(
                f"{self.path} was damaged and is kept aside as "
                f"{aside.name}; the next answer begins a new one",
                hint="it only held answers to give again: remove it"
            ) from error
        finally:
            self._lock.release()

    @contextmanager
    def _writing(self, *, create: bool
                 ) -> Iterator[sqlite3.Connection | None]:
        connection = self._open(create=create)
        if connection is None:
            yield None
            return
        with write(connection, self.path):
            yield connection

    def _open(self, *, create: bool) -> sqlite3.Connection | None:
        """The connection, None where there is no file; a new one where the
        file was removed or replaced."""
        there = file_id(self.path)
        if self._connection is not None:
            if there == self._file:
                return self._connection
            self._shut()
        if there is None:
            if not create:
                return None
            make_private(self.path)
        connection = self._connect()
        try:
            _ready(connection, self.path)
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, file_id(self.path)
        return connection

    def _connect(self) -> sqlite3.Connection:
        beside = self.path.parent
        readonly = self.path.exists() and not (
            os.access(self.path, os.W_OK) and os.access(beside, os.W_OK))
        return connect(self.path, readonly=readonly, busy_timeout_s=WAIT_S)

    def _shut(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()


def open_response_cache(path: Path, *, ttl_minutes: float = 60,
                        max_entries: int = 5_000, hot_entries: int = 256,
                        now: Callable[[], float] = time.time
                        ) -> ResponseCache:
    """The cache at `path`; the file is opened when it is first needed."""
    return ResponseCache(path, ttl_minutes=ttl_minutes,
                         max_entries=max_entries, hot_entries=hot_entries,
                         now=now)


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _seconds(stamp: object) -> float:
    """Unix seconds of an RFC 3339 time; long ago where it is none."""
    try:
        moment = datetime.fromisoformat(str(stamp))
    except ValueError:
        return float("-inf")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            ).timestamp()


def _ready(connection: sqlite3.Connection, path: Path) -> None:
    with translated(path):
        found = connection.execute(
            "SELECT 1 FROM sqlite_schema WHERE name='response_cache'"
        ).fetchone()
    if not found:
        with write(connection, path):
            for statement in _TABLE:
                connection.execute(statement)


def _put_aside(path: Path) -> Path:
    """Rename a damaged file with its side files; the new name."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    aside = path.with_name(f"{path.name}.corrupt-{stamp}")
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            try:
                nofollow.rename(path.parent.parent, f"{path}{suffix}",
                                f"{aside}{suffix}")
            except FileNotFoundError:
                raise
            except OSError as error:
                raise StorageError(
                    f"{path} is damaged and can't be moved away: "
                    f"{error.strerror}",
                    hint="remove it: it only holds answers to give again"
                ) from error
    return aside
