"""The tables of brain.db, made, upgraded and indexed by one routine.

`memories` has the columns of the reference by name and meaning, with an
integer primary key beside the public id. `memories_fts(key, content)`
holds the segmented text of every memory that is not superseded, under the
same rowid; application code writes it in the transaction of the row, so no
other tool that writes needs a function of ours. Vectors lie in tables of
their own (a BLOB in the row would be read by every scan): `vectors` holds
them exactly, `vector_shards` their sign bits. `memory_versions` holds what
memories were before they were changed or forgotten, `memory_changes` which
rows another program wrote (triggers.py). `user_version` is
1000 * SCHEMA_VERSION + the segmentation's INDEX_VERSION.
"""

import re
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from claw.core.errors import StorageError
from claw.core.memory import MemoryEntry
from claw.memory import times
from claw.memory.sqlite import triggers
from claw.text.segment import INDEX_VERSION, clean, index_text

SCHEMA_VERSION = 4
VERSION = 1000 * SCHEMA_VERSION + INDEX_VERSION
_BULK_CACHE = -32_768  # KiB: at 2 MB every index page is written many times
SHARD = 4096  # row ids whose sign bits share one BLOB

# The table `memories`: its columns and their types. One that MemoryEntry has
# a field for is read, written, kept in versions, exported and restored by
# that alone; a new one goes to the end, with a new SCHEMA_VERSION.
_COLUMNS = {
    "rid": "INTEGER PRIMARY KEY",
    "id": "TEXT NOT NULL UNIQUE",
    "key": "TEXT NOT NULL UNIQUE",
    "content": "TEXT NOT NULL",
    "category": "TEXT NOT NULL DEFAULT 'core'",
    "embedding": "BLOB",
    "created_at": "TEXT NOT NULL",
    "updated_at": "TEXT NOT NULL",
    "session_id": "TEXT",
    "namespace": "TEXT DEFAULT 'default'",
    "importance": "REAL DEFAULT 0.5",
    "superseded_by": "TEXT",
    "sender": "TEXT",
    "source": "TEXT",
    "superseded_at": "TEXT",
    "origin": "TEXT",
    "kept_by": "TEXT",
    # When the row came into this file, whatever times it says; NULL until
    # hygiene first sees what another program or an earlier claw wrote.
    "arrived_at": "TEXT",
}
# What a memory is made of, in `memories` and `memory_versions`.
COLUMNS = tuple(name for name in MemoryEntry.__match_args__
                if name in _COLUMNS)
_IN_VERSIONS = {name: re.sub(" UNIQUE| DEFAULT .*", "", _COLUMNS[name])
                for name in COLUMNS}

_MEMORIES = "\nCREATE TABLE memories (\n" + ",\n".join(
    f"    {name} {kind}" for name, kind in _COLUMNS.items()) + "\n)"
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS idx_memories_category"
    " ON memories(category, updated_at)",
    # In the order of a conversation: the neighbours of a memory stand
    # beside it.
    "CREATE INDEX IF NOT EXISTS idx_memories_session"
    " ON memories(session_id, created_at, rid)",
    "CREATE INDEX IF NOT EXISTS idx_memories_created ON memories(created_at)",
    "CREATE INDEX IF NOT EXISTS idx_memories_updated ON memories(updated_at)",
    "CREATE INDEX IF NOT EXISTS idx_memories_superseded"
    " ON memories(superseded_by) WHERE superseded_by IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS idx_memories_unseen"
    " ON memories(rid) WHERE arrived_at IS NULL",
)
_FTS = ("CREATE VIRTUAL TABLE memories_fts USING fts5("
        "key, content, tokenize=\"ascii tokenchars '_'\", detail=none)")
# Sign bits of SHARD vectors in one BLOB, at the place of the row id:
# shard = rid / SHARD, slot = rid % SHARD.
_VECTORS = (
    "CREATE TABLE IF NOT EXISTS embedding_models ("
    "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " dimensions INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS vectors ("
    "rid INTEGER PRIMARY KEY, model INTEGER NOT NULL,"
    " embedding BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS idx_vectors_model ON vectors(model)",
    "CREATE TABLE IF NOT EXISTS vector_shards ("
    "id INTEGER PRIMARY KEY, model INTEGER NOT NULL,"
    " shard INTEGER NOT NULL, bits BLOB NOT NULL, UNIQUE (model, shard))",
    "CREATE TABLE IF NOT EXISTS embedding_cache ("
    "content_hash TEXT NOT NULL, model TEXT NOT NULL DEFAULT '',"
    " embedding BLOB NOT NULL, created_at TEXT NOT NULL,"
    " accessed_at TEXT NOT NULL, PRIMARY KEY (content_hash, model))",
    "CREATE INDEX IF NOT EXISTS idx_cache_accessed"
    " ON embedding_cache(accessed_at)",
)
_VERSIONS = (
    # The content comes last: what stands behind a long one is slow to
    # read.
    "CREATE TABLE IF NOT EXISTS memory_versions (vid INTEGER PRIMARY KEY, "
    + ", ".join(f"{name} {kind}" for name, kind in _IN_VERSIONS.items()
                if name != "content")
    + ", valid_until TEXT NOT NULL, ended_by TEXT NOT NULL, kept_at TEXT,"
    " content TEXT NOT NULL)",
    # By key alone: the last one of a key is at its end.
    "CREATE INDEX IF NOT EXISTS idx_versions_key ON memory_versions(key)",
    "CREATE INDEX IF NOT EXISTS idx_versions_ended"
    " ON memory_versions(ended_by, coalesce(kept_at, valid_until), key)",
    "CREATE INDEX IF NOT EXISTS idx_versions_until"
    " ON memory_versions(valid_until)",
)
_TEXTS = frozenset(COLUMNS) - {"importance"}
_BROKEN = "\N{REPLACEMENT CHARACTER}"
_REFERENCE_TRIGGERS = ("memories_ai", "memories_ad", "memories_au")


def state(connection: sqlite3.Connection) -> str:
    """What a file holds: "current", "empty" (no memories table),
    "reference" (the reference's tables), "older" (tables of an earlier
    claw), "index" (another segmentation, or the reference's triggers) or
    "newer"."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version // 1000 > SCHEMA_VERSION:
        return "newer"
    if not _has(connection, "memories"):
        return "empty"
    if "rid" not in column_names(connection, "memories"):
        return "reference"
    if version // 1000 < SCHEMA_VERSION:
        return "older"
    if version != VERSION or _has(connection, *_REFERENCE_TRIGGERS):
        return "index"
    return "current"


def ensure(connection: sqlite3.Connection) -> bool:
    """Bring a file to this version, inside the caller's transaction.

    Returns whether there was no memories table before. Raises StorageError
    for a file of a newer claw.
    """
    triggers.exempt(connection)
    found = state(connection)
    if found == "current":
        return False
    if found == "newer":
        raise newer()
    with lenient(connection):
        if found == "empty":
            _create(connection)
        elif found == "reference":
            _upgrade(connection)
        elif found == "older":
            _renew(connection)
        elif _has(connection, *_REFERENCE_TRIGGERS):
            _take_over_times(connection)
        if found != "empty":
            reindex(connection)
        if not triggers.is_watched(connection):
            triggers.watch(connection)
    connection.execute(f"PRAGMA user_version={VERSION}")
    return found == "empty"


@contextmanager
def lenient(connection: sqlite3.Connection) -> Iterator[None]:
    """Texts are read inside even where another program wrote bytes that
    are none."""
    with reading_as(connection, decode_lenient):
        yield


@contextmanager
def reading_as(connection: sqlite3.Connection,
               factory: Callable[[bytes], Any]) -> Iterator[None]:
    """Texts are read inside as `factory` makes them of their bytes."""
    before = connection.text_factory
    connection.text_factory = factory
    try:
        yield
    finally:
        connection.text_factory = before


def decode_lenient(data: bytes) -> str:
    """A text_factory: bytes that are no text become replacement
    characters."""
    return data.decode("utf-8", "replace")


def newer() -> StorageError:
    """The error for a file that this version can't understand."""
    from claw.core.installed import install_command
    return StorageError("brain.db was written by a newer version of claw",
                        hint=install_command())


def reindex(connection: sqlite3.Connection) -> int:
    """Write the word index anew, inside the caller's transaction; how
    many rows it holds."""
    _drop_triggers(connection)
    connection.execute("DROP TABLE IF EXISTS memories_fts")
    connection.execute(_FTS)
    with lenient(connection):
        return index(connection, connection.execute(
            "SELECT rid, CAST(key AS TEXT), CAST(content AS TEXT)"
            " FROM memories"
            " WHERE superseded_by IS NULL"))


def index(connection: sqlite3.Connection,
          rows: Iterable[tuple[int, str, str]]) -> int:
    """Put the words of memories (row id, key, content) into the index;
    how many."""
    return connection.executemany(
        "INSERT INTO memories_fts(rowid, key, content) VALUES (?, ?, ?)",
        ((rid, index_text(key), index_text(content))
         for rid, key, content in rows)).rowcount


@contextmanager
def bulk(connection: sqlite3.Connection) -> Iterator[None]:
    """Many rows are inserted inside, in the caller's transaction. In an
    empty table the indexes are made at the end, and the triggers, which do
    nothing for us, are not asked at each row."""
    cache, = connection.execute("PRAGMA cache_size").fetchone()
    connection.execute(f"PRAGMA cache_size={_BULK_CACHE}")
    try:
        if _has_rows(connection):
            yield
            return
        for statement in _INDEXES:
            connection.execute(f"DROP INDEX IF EXISTS {statement.split()[5]}")
        with triggers.silent(connection):
            yield
        for statement in _INDEXES:
            connection.execute(statement)
    finally:
        connection.execute(f"PRAGMA cache_size={cache}")


def _has_rows(connection: sqlite3.Connection) -> bool:
    return bool(read_number(
        connection, "SELECT EXISTS (SELECT 1 FROM memories)"))


def _drop_triggers(connection: sqlite3.Connection) -> None:
    for trigger in _REFERENCE_TRIGGERS:
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TABLE IF EXISTS memories_fts")
    connection.execute(_MEMORIES)
    connection.execute(_FTS)
    _make_rest(connection)


def _renew(connection: sqlite3.Connection) -> None:
    """The tables of an earlier version into these."""
    for name in ("idx_memories_session", "idx_memories_category"):
        connection.execute(f"DROP INDEX IF EXISTS {name}")
    _add_columns(connection, "memories", _COLUMNS)
    _make_rest(connection)
    _add_columns(connection, "memory_versions", _IN_VERSIONS)


def _add_columns(connection: sqlite3.Connection, table: str,
                 kinds: Mapping[Any, str]) -> None:
    known = column_names(connection, table)
    for name, kind in kinds.items():
        if name not in known:
            connection.execute(
                f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def _make_rest(connection: sqlite3.Connection) -> None:
    """Indexes, vectors and versions; a cache that does not say what made
    its vectors is carried over under the model ""."""
    had_cache = (_has(connection, "embedding_cache") and "model"
                 not in column_names(connection, "embedding_cache"))
    if had_cache:
        connection.execute("DROP INDEX IF EXISTS idx_cache_accessed")
        connection.execute("ALTER TABLE embedding_cache"
                           " RENAME TO embedding_cache_before")
    for statement in (*_INDEXES, *_VECTORS, *_VERSIONS):
        connection.execute(statement)
    if had_cache:
        accessed = ("accessed_at" if "accessed_at" in column_names(
            connection, "embedding_cache_before") else "''")
        connection.execute(
            "INSERT OR IGNORE INTO embedding_cache (content_hash, model,"
            " embedding, created_at, accessed_at) SELECT content_hash, '',"
            f" embedding, coalesce(created_at, ''), coalesce({accessed}, '')"
            " FROM embedding_cache_before WHERE embedding IS NOT NULL")
        connection.execute("DROP TABLE embedding_cache_before")


def _upgrade(connection: sqlite3.Connection) -> None:
    """The reference's tables into ours; columns that claw does not know
    are carried over."""
    _drop_triggers(connection)
    connection.execute("DROP TABLE IF EXISTS memories_fts")
    for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index'"
            " AND tbl_name = 'memories' AND sql IS NOT NULL").fetchall():
        connection.execute(f"DROP INDEX {quote(name)}")
    connection.execute("ALTER TABLE memories RENAME TO memories_reference")
    connection.execute(_MEMORIES)
    old = column_names(connection, "memories_reference")
    for name in old:
        if name not in _COLUMNS:
            connection.execute(
                f"ALTER TABLE memories ADD COLUMN {quote(name)}")
    names = ", ".join(quote(name) for name in old)
    marks = ", ".join("?" * len(old))
    connection.executemany(
        f"INSERT INTO memories ({names}) VALUES ({marks})",
        _reference_rows(connection, old, names))
    connection.execute("DROP TABLE memories_reference")
    _make_rest(connection)


def _reference_rows(connection: sqlite3.Connection, names: list[str],
                    columns: str) -> Iterator[list[Any]]:
    rows = connection.execute(
        f"SELECT rowid, {columns} FROM memories_reference ORDER BY rowid")
    for number, *row in rows:
        values = {name: convert(name, value)
                  for name, value in zip(names, row, strict=True)}
        # Bytes that were no text became U+FFFD, so that two keys may be one
        # now: take none that another row has, or is about to get.
        while _BROKEN in str(values["key"]) and connection.execute(
                "SELECT 1 FROM memories WHERE key = ?1 UNION ALL"
                " SELECT 1 FROM memories_reference WHERE key = ?1"
                " AND rowid <> ?2", (values["key"], number)).fetchone():
            values["key"] += _BROKEN
        if _BROKEN in str(values["id"]) and connection.execute(
                "SELECT 1 FROM memories WHERE id = ?",
                (values["id"],)).fetchone():
            values["id"] = str(uuid.uuid4())
        yield list(values.values())


def _take_over_times(connection: sqlite3.Connection) -> None:
    """The reference had the file open and wrote times of its own form."""
    _drop_triggers(connection)
    written = connection.execute(
        "SELECT created_at, updated_at, rid FROM memories"
        " WHERE created_at NOT GLOB '*Z' OR updated_at NOT GLOB '*Z'"
    ).fetchall()
    connection.executemany(
        "UPDATE memories SET created_at = ?, updated_at = ? WHERE rid = ?",
        [(convert("created_at", created), convert("updated_at", updated),
          rid) for created, updated, rid in written])


def convert(name: str, value: Any) -> Any:
    """A value of another program's row as ours is: text is text, times are
    UTC; an unreadable time stays as it is."""
    if name in _TEXTS and isinstance(value, bytes):
        value = decode_lenient(value)
    if name in ("created_at", "updated_at") and isinstance(value, str):
        try:
            return times.to_utc(value)
        except ValueError:
            return value
    if name == "id" and value is None:
        return str(uuid.uuid4())
    return clean(value) if isinstance(value, str) else value


def _has(connection: sqlite3.Connection, *names: str) -> bool:
    marks = ", ".join("?" * len(names))
    return connection.execute(
        f"SELECT 1 FROM sqlite_master WHERE name IN ({marks})",
        names).fetchone() is not None


def column_names(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table or view, in order."""
    return [str(row[1]) for row in
            connection.execute(f"PRAGMA table_info({quote(table)})")]


def read_number(connection: sqlite3.Connection, query: str,
                *values: Any) -> int:
    """The one number that a query gives; 0 for NULL."""
    return int(connection.execute(query, values).fetchone()[0] or 0)


def quote(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
