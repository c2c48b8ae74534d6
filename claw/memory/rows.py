"""Rows of brain.db: reading and writing them with their index.

All writing happens inside the caller's transaction.
"""

import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from claw.core.errors import UsageError
from claw.core.memory import NO_SOURCE, MemoryEntry, Source
from claw.core.value import replace
from claw.memory import schema, times
from claw.text.segment import clean

COLUMNS = ("memories.id, memories.key, memories.content, memories.category,"
           " memories.created_at, memories.updated_at, memories.session_id,"
           " NULL, memories.sender, memories.namespace, memories.importance,"
           " memories.superseded_by, memories.source")
_BATCH = 500

_NAMES = schema.COLUMNS
_KEPT = ", ".join(_NAMES)

# What makes two states of a key the same, but for their times.
_STATE = "content, category, session_id, sender, source"

_UPSERT = """
INSERT INTO memories (id, key, content, category, created_at, updated_at,
                      session_id, namespace, sender, source)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    id = excluded.id, content = excluded.content,
    category = excluded.category, updated_at = excluded.updated_at,
    session_id = excluded.session_id, embedding = NULL,
    sender = excluded.sender, source = excluded.source,
    superseded_by = NULL, superseded_at = NULL
"""
_INSERT = (f"INSERT INTO memories ({_KEPT})"
           f" VALUES ({', '.join('?' * len(_NAMES))})"
           " ON CONFLICT (key) DO NOTHING")
_REPLACE = ("UPDATE memories SET embedding = NULL, "
            + ", ".join(f"{name} = ?" for name in _NAMES)
            + ", superseded_at = CASE WHEN superseded_by IS ?11"
              " THEN superseded_at END WHERE rid = ?")


# An entry does not say when it was superseded: when what took its place
# came is as near as can be known.
_SUPERSEDED_THEN = """
SELECT CASE WHEN new.created_at > old.updated_at
       THEN new.created_at ELSE new.updated_at END AS ended, old.rid
FROM memories AS old JOIN memories AS new ON new.id = old.superseded_by
WHERE old.superseded_by IS NOT NULL AND old.superseded_at IS NULL
AND ended >= old.updated_at"""


def entry(row: tuple[Any, ...]) -> MemoryEntry:
    """A row of COLUMNS as a memory."""
    values = list(row)
    values[9] = values[9] or "default"
    return MemoryEntry(*values)


def scored(found: MemoryEntry, score: float) -> MemoryEntry:
    """The memory with its score."""
    return replace(found, score=score)


def checked_key(key: str) -> str:
    """A key that can be stored. Raises UsageError."""
    if not key:
        raise UsageError("a memory needs a key", hint="give it a name")
    return clean(key)


def upsert(connection: sqlite3.Connection, key: str, content: str,
           category: str, session_id: str | None, *, namespace: str,
           now: str, source: Source = NO_SOURCE) -> int:
    """Write the memory under `key` with a new id; references to the old
    id follow, and what it was before is kept as a version. Its row id."""
    old = connection.execute("SELECT rid, id FROM memories WHERE key = ?",
                             (key,)).fetchone()
    if old is not None:
        _keep_overwritten(connection, old[0], now)
    new_id = str(uuid.uuid4())
    inserted = connection.execute(_UPSERT, (
        new_id, key, content, category, now, now, session_id,
        namespace, source.sender, source.message)).lastrowid
    rid = int(old[0] if old is not None else inserted or 0)
    if old is not None:
        connection.execute("UPDATE memories SET superseded_by = ?"
                           " WHERE superseded_by = ?", (new_id, old[1]))
    # A new row too: another program may have removed the row that had
    # this number, and have left its words and its vector.
    unindex(connection, "= ?", (rid,))
    schema.index(connection, [(rid, key, content)])
    return rid


def keep_versions(connection: sqlite3.Connection, condition: str,
                  values: Iterable[Any], ended_by: str, now: str) -> None:
    """Keep what the named rows are now as versions that end now; one
    that was superseded before ended then. Retention counts from now."""
    connection.execute(
        f"INSERT INTO memory_versions ({_KEPT}, valid_until, ended_by,"
        f" kept_at) SELECT {_KEPT}, coalesce(superseded_at, ?), ?, ?"
        f" FROM memories WHERE {condition}", (now, ended_by, now, *values))


def unindex(connection: sqlite3.Connection, rids: str,
            values: Iterable[Any]) -> None:
    """Take rows out of the word index and drop their vectors; `rids` is
    the right side of a condition on the row id. A sign left in a shard
    finds no vector and so no memory."""
    values = tuple(values)
    connection.execute(f"DELETE FROM memories_fts WHERE rowid {rids}",
                       values)
    connection.execute(f"DELETE FROM vectors WHERE rid {rids}", values)


def restore(connection: sqlite3.Connection, entries: Iterable[MemoryEntry],
            *, overwrite: bool, now: str) -> int:
    """Write entries as they are, by key; how many were written. A missing
    id or time is made, an id that another memory has is replaced."""
    written = 0
    waiting: list[tuple[int, str, str]] = []
    _clear_above(connection)
    for given in entries:
        values = _values(given, now)
        rid, existed = _put(connection, values, overwrite, now)
        if rid is None:
            continue
        written += 1
        if existed:
            # Also when an earlier line of the same bulk still waits.
            schema.index(connection, waiting)
            waiting.clear()
            unindex(connection, "= ?", (rid,))
        if given.superseded_by is None:
            waiting.append((rid, values[1], values[2]))
        if len(waiting) >= _BATCH:
            schema.index(connection, waiting)
            waiting.clear()
    schema.index(connection, waiting)
    connection.executemany(
        "UPDATE memories SET superseded_at = ? WHERE rid = ?",
        connection.execute(_SUPERSEDED_THEN).fetchall())
    return written


def all_entries(connection: sqlite3.Connection, after: tuple[str, int]
                ) -> tuple[list[MemoryEntry], tuple[str, int]]:
    """The next batch of all memories, oldest first, and where it ended;
    begin with ("", 0). An empty batch ends it."""
    rows = connection.execute(
        f"SELECT memories.rid, {COLUMNS} FROM memories"
        " WHERE (created_at, rid) > (?, ?)"
        " ORDER BY created_at, rid LIMIT ?", (*after, _BATCH)).fetchall()
    if rows:
        after = (rows[-1][5], rows[-1][0])
    return [entry(row[1:]) for row in rows], after


def by_rid(connection: sqlite3.Connection, rids: list[int]
           ) -> dict[int, MemoryEntry]:
    """The memories with these row ids."""
    rows = connection.execute(
        f"SELECT memories.rid, {COLUMNS} FROM memories"
        f" WHERE memories.rid IN ({','.join(map(str, rids))})")
    return {row[0]: entry(row[1:]) for row in rows}


def delete(connection: sqlite3.Connection, condition: str,
           values: Iterable[Any], *, now: str | None) -> int:
    """Remove the rows that a condition names; how many. With `now` they
    are kept as versions that were forgotten then; without it, what they
    were before goes with them."""
    values = tuple(values)
    if now is not None:
        keep_versions(connection, condition, values, "forgotten", now)
    else:
        connection.execute(
            "DELETE FROM memory_versions WHERE key IN"
            f" (SELECT key FROM memories WHERE {condition})", values)
    unindex(connection, f"IN (SELECT rid FROM memories WHERE {condition})",
            values)
    return connection.execute(f"DELETE FROM memories WHERE {condition}",
                              values).rowcount


def batches(items: Iterable[Any], size: int = _BATCH
            ) -> Iterator[list[Any]]:
    """Items in lists of at most `size`."""
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _keep_overwritten(connection: sqlite3.Connection, rid: int,
                      now: str) -> None:
    """Keep what a row is now as a version. What was stored twice in a row
    lengthens the version that it is already: the times stay known, and
    the same words every hour take no room."""
    lengthened = connection.execute(
        "UPDATE memory_versions SET valid_until = ?1 WHERE vid = ("
        " SELECT vid FROM memory_versions WHERE key ="
        " (SELECT key FROM memories WHERE rid = ?2)"
        " ORDER BY vid DESC LIMIT 1)"
        f" AND ended_by = 'updated' AND ({_STATE}, valid_until) IS"
        f" (SELECT {_STATE}, updated_at FROM memories WHERE rid = ?2"
        "  AND superseded_by IS NULL)", (now, rid)).rowcount
    if not lengthened:
        keep_versions(connection, "rid = ?", (rid,), "updated", now)


def _clear_above(connection: sqlite3.Connection) -> None:
    """New rows are numbered above all others: what another program left
    there of rows that it removed must not become theirs."""
    top = connection.execute("SELECT max(rid) FROM memories").fetchone()[0]
    unindex(connection, "> ?", (top or 0,))


def _put(connection: sqlite3.Connection, values: list[Any],
         overwrite: bool, now: str) -> tuple[int | None, bool]:
    """(row id or None where an existing key was left alone, whether the
    key existed)."""
    made = _run(connection, _INSERT, values)
    if made.rowcount == 1:
        return made.lastrowid, False
    row = connection.execute("SELECT rid, id FROM memories WHERE key = ?",
                             (values[1],)).fetchone()
    if not overwrite:
        return None, True
    if _differs(connection, row[0], values):
        _keep_overwritten(connection, row[0], now)
    _run(connection, _REPLACE, [*values, row[0]])
    connection.execute(
        "UPDATE memories SET superseded_by = (SELECT id FROM memories"
        " WHERE rid = ?) WHERE superseded_by = ?", row)
    return row[0], True


def _differs(connection: sqlite3.Connection, rid: int,
             values: list[Any]) -> bool:
    """Whether a row says something else than values of _NAMES."""
    given = dict(zip(_NAMES, values, strict=True))
    names = [*_STATE.split(", "), "updated_at", "superseded_by"]
    found = connection.execute(
        f"SELECT {', '.join(names)} FROM memories WHERE rid = ?", (rid,))
    return tuple(found.fetchone()) != tuple(given[n] for n in names)


def _run(connection: sqlite3.Connection, statement: str,
         values: list[Any]) -> sqlite3.Cursor:
    try:
        return connection.execute(statement, values)
    except sqlite3.IntegrityError:  # the id belongs to another key
        return connection.execute(statement,
                                  [str(uuid.uuid4()), *values[1:]])


def _values(given: MemoryEntry, now: str) -> list[Any]:
    return [given.id or str(uuid.uuid4()), checked_key(given.key),
            clean(given.content), clean(given.category),
            _time(given, given.created_at or given.updated_at or now),
            _time(given, given.updated_at or given.created_at or now),
            _text(given.session_id), _text(given.sender),
            clean(given.namespace), given.importance,
            _text(given.superseded_by), _text(given.source)]


def _time(given: MemoryEntry, text: str) -> str:
    try:
        return times.to_utc(text)
    except ValueError as error:
        raise UsageError(
            f"memory {given.key!r}: {text!r} is not a time",
            hint="write it like 2026-11-20T19:00:00Z") from error


def _text(value: str | None) -> str | None:
    return None if value is None else clean(value)
