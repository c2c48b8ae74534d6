"""The tables of log.db, and the index of its words.

`entries` is the log. `entry_words` is an index without texts of its own: the
words of an entry are made of its row again when they are to go, so both are
written in one transaction, by `index` and `unindex` alone. They are those of
memory's search (text/segment.py); another segmentation has the index made
anew. `user_version` is 1000 * VERSION + INDEX_VERSION.
"""

import sqlite3
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError
from claw.storage.sqlite import translated, write
from claw.text.segment import INDEX_VERSION, index_text

VERSION = 1
FILE_VERSION = 1000 * VERSION + INDEX_VERSION

# What may be long stands last: what is behind it is slow to read.
COLUMNS = (
    "seq", "id", "parent", "root", "at", "origin", "session", "sender",
    "provider", "model", "owner", "outcome", "input_tokens", "output_tokens",
    "cost", "duration_ms", "labels", "passages", "error", "system",
    "before", "prompt", "under", "rounds", "answer")
NUMBERS = ("seq", "input_tokens", "output_tokens", "cost", "duration_ms")
TEXTS = ("passages", "error", "system", "before", "prompt",
         "under", "rounds", "answer")

_TABLES = (
    """
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    parent TEXT,
    root TEXT NOT NULL,
    at TEXT NOT NULL,
    origin TEXT NOT NULL,
    session TEXT,
    sender TEXT,
    provider TEXT,
    model TEXT,
    owner TEXT,
    outcome TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost REAL,
    duration_ms INTEGER,
    labels TEXT,
    passages TEXT,
    error TEXT,
    system TEXT,
    before TEXT,
    prompt TEXT NOT NULL,
    under TEXT,
    rounds TEXT,
    answer TEXT
)""",
    "CREATE INDEX entries_at ON entries (at)",
    "CREATE INDEX entries_root ON entries (root, seq)",
    "CREATE INDEX entries_session ON entries (session, seq)"
    " WHERE session IS NOT NULL",
    "CREATE INDEX entries_sender ON entries (sender)"
    " WHERE sender IS NOT NULL",
)
_WORDS = ("CREATE VIRTUAL TABLE entry_words USING fts5("
          "words, content='', columnsize=0, detail=none,"
          " tokenize=\"ascii tokenchars '_'\")")

# So much of each text can be found.
_INDEXED_CHARS = 20_000


def ensure(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file, and the index of one that was written
    with other words. Raises StorageError for a newer file."""
    if check_version(connection, path) == FILE_VERSION:
        return
    with write(connection, path):
        found = check_version(connection, path)
        if found == FILE_VERSION:
            return  # another process was faster
        if found == 0:
            for statement in _TABLES:
                connection.execute(statement)
        connection.execute("DROP TABLE IF EXISTS entry_words")
        connection.execute(_WORDS)
        for row in connection.execute(
                "SELECT seq, prompt, under, answer FROM entries"):
            index(connection, row[0], dict(zip(
                ("prompt", "under", "answer"), row[1:], strict=True)))
        connection.execute(f"PRAGMA user_version={FILE_VERSION}")


def is_log(connection: sqlite3.Connection) -> bool:
    """Whether a file is a log of this version, words and all."""
    tables = connection.execute(
        "SELECT count(*) FROM sqlite_schema"
        " WHERE name IN ('entries', 'entry_words')").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    return (tables, version) == (2, FILE_VERSION)


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file, 0 for an empty one. Raises StorageError for
    one of a newer claw."""
    with translated(path):
        found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if found // 1000 > VERSION:
        from claw.core.installed import install_command
        raise StorageError(
            f"{path} was written by a newer version of claw "
            f"(format {found // 1000}, this one knows {VERSION})",
            hint=install_command())
    return found


def index(connection: sqlite3.Connection, seq: int,
          row: Mapping[str, Any]) -> None:
    """Put the words of an entry into the index."""
    if words := _list_words(row):
        connection.execute(
            "INSERT INTO entry_words(rowid, words) VALUES (?, ?)",
            (seq, words))


def unindex(connection: sqlite3.Connection, seq: int,
            row: Mapping[str, Any]) -> None:
    """Take the words of an entry, as its row stands, out of the index."""
    if words := _list_words(row):
        connection.execute(
            "INSERT INTO entry_words(entry_words, rowid, words)"
            " VALUES ('delete', ?, ?)", (seq, words))


def _list_words(row: Mapping[str, Any]) -> str:
    texts = ((row.get(name) or "")[:_INDEXED_CHARS]
             for name in ("prompt", "under", "answer"))
    return _index_once("\n".join(filter(None, texts)))


# A question is put in, and taken out again when its answer comes.
_index_once = lru_cache(maxsize=4)(index_text)
