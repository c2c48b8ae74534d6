"""The cache of vectors in brain.db: the least lately used makes room.

A row belongs to a text and to the model that made its vector, kept as the
bytes of an array("f"). Plain functions over a connection.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from claw.memory import times
from claw.storage.sqlite import impatient

_MANY = 500  # variables in one statement
# Why a note may not be taken now: a reader, another writer, the disk.
_NOT_NOW = frozenset((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY,
                      sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL,
                      sqlite3.SQLITE_IOERR))


def content_hash(text: str) -> str:
    """The first 16 hexadecimal digits of a text's SHA-256."""
    raw = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:16]


def lookup(connection: sqlite3.Connection, model: str,
           texts: Iterable[str]) -> dict[str, bytes]:
    """The kept vectors of this model, by text. What was found counts as
    used, where the database can be written to at once."""
    by_hash: dict[str, list[str]] = {}
    for text in texts:
        by_hash.setdefault(content_hash(text), []).append(text)
    found: dict[str, bytes] = {}
    rest = iter(by_hash)
    while some := list(islice(rest, _MANY)):
        rows = connection.execute(
            "SELECT content_hash, embedding FROM embedding_cache"
            f" WHERE model = ? AND content_hash IN ({_marks(some)})",
            [model, *some]).fetchall()
        good = {digest: blob for digest, blob in rows
                if isinstance(blob, bytes) and blob and len(blob) % 4 == 0}
        _touch(connection, model, list(good))
        for digest, blob in good.items():
            found.update(dict.fromkeys(by_hash[digest], blob))
    return found


def keep(connection: sqlite3.Connection, model: str,
         items: Mapping[str, bytes], size: int, *,
         clock: Callable[[], str] = times.now) -> None:
    """Keep vectors by text, at most `size` in all (of every model); in the
    caller's transaction, or in one of its own."""
    now = clock()
    with _transaction(connection):
        connection.executemany(
            "INSERT INTO embedding_cache (content_hash, model, embedding,"
            " created_at, accessed_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (content_hash, model) DO UPDATE SET"
            " embedding = excluded.embedding,"
            " accessed_at = excluded.accessed_at",
            [(content_hash(text), model, blob, now, now)
             for text, blob in items.items()])
        connection.execute(
            "DELETE FROM embedding_cache WHERE rowid IN ("
            "SELECT rowid FROM embedding_cache"
            " ORDER BY accessed_at DESC, rowid DESC LIMIT -1 OFFSET ?)",
            [max(size, 0)])


def _touch(connection: sqlite3.Connection, model: str,
           hashes: Sequence[str]) -> None:
    """Note the use. Not worth waiting for another writer, nor possible in
    a reader's database: then the order stays as it was."""
    if not hashes:
        return
    try:
        with impatient(connection), _transaction(connection):
            connection.execute(
                "UPDATE embedding_cache SET accessed_at = ? WHERE model = ?"
                f" AND content_hash IN ({_marks(hashes)})",
                [times.now(), model, *hashes])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xff not in _NOT_NOW:
            raise


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
