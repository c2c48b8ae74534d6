"""Rows of the table: reading and writing them with their words.

Writing happens inside the caller's transaction, and into the whole table:
`table.ensure` has been there.
"""

import itertools
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from claw.core.errors import UsageError
from claw.core.memory import MemoryEntry, Source
from claw.memory import times
from claw.memory.postgres.escape import escaped, restored
from claw.memory.postgres.filters import instant
from claw.memory.postgres.server import Connection
from claw.memory.postgres.table import Table
from claw.memory.postgres.words import vector_text

BATCH = 500
_TIME = ("to_char(memories.{} AT TIME ZONE 'UTC',"
         " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
COLUMNS = ("memories.id, memories.key, memories.content, memories.category,"
           f" {_TIME.format('created_at')}, {_TIME.format('updated_at')},"
           " memories.session_id, NULL, memories.sender, memories.namespace,"
           " memories.importance, memories.superseded_by, memories.source")
_NAMES = ("id", "key", "content", "category", "created_at", "updated_at",
          "session_id", "sender", "namespace", "importance", "superseded_by",
          "source", "words")
_KINDS = {"created_at": "::timestamptz", "updated_at": "::timestamptz",
          "words": "::tsvector"}
_MARKS = ", ".join(f"%s{_KINDS.get(name, '')}" for name in _NAMES)
_TAKEN = ", ".join(f"{name} = excluded.{name}"
                   for name in _NAMES if name != "key")

# In one statement: the row, and what pointed at its old id.
_UPSERT = """
WITH old AS (SELECT id FROM {table} WHERE key = %(key)s),
led AS (UPDATE {table} SET superseded_by = %(id)s
        FROM old WHERE superseded_by = old.id
        AND {table}.key <> %(key)s)
INSERT INTO {table} (id, key, content, category, created_at, updated_at,
                     session_id, namespace, sender, source, words)
VALUES (%(id)s, %(key)s, %(content)s, %(category)s, %(now)s::timestamptz,
        %(now)s::timestamptz, %(session)s, %(namespace)s, %(sender)s,
        %(source)s, %(words)s::tsvector)
ON CONFLICT (key) DO UPDATE SET
    id = excluded.id, content = excluded.content,
    category = excluded.category, updated_at = excluded.updated_at,
    session_id = excluded.session_id, sender = excluded.sender,
    source = excluded.source, words = excluded.words,
    superseded_by = NULL{more}
"""


def entry(row: Sequence[Any]) -> MemoryEntry:
    """A row of COLUMNS as a memory."""
    values: list[Any] = [restored(value) if isinstance(value, str)
                         else value for value in row]
    values[9] = values[9] or "default"
    return MemoryEntry(*values)


def checked_key(key: str) -> str:
    """A key as it is stored. Raises UsageError for none."""
    if not key:
        raise UsageError("a memory needs a key", hint="give it a name")
    return escaped(key)


def upsert(connection: Connection, table: Table, key: str, content: str,
           category: str, session_id: str | None, *, namespace: str,
           now: str, source: Source, forget: str = "") -> str:
    """Write the memory under `key` with a new id, which it gives;
    references to the old id follow. `forget` names the columns that the
    new text empties."""
    new_id = str(uuid.uuid4())
    connection.execute(
        _UPSERT.format(table=table.quoted, more=forget), {
            "id": new_id, "key": checked_key(key),
            "content": escaped(content), "category": escaped(category),
            "now": now, "session": _text(session_id),
            "namespace": escaped(namespace), "sender": _text(source.sender),
            "source": _text(source.message),
            "words": vector_text(key, content)})
    return new_id


def restore(connection: Connection, table: Table,
            entries: Iterable[MemoryEntry], *, overwrite: bool, now: str,
            forget: str = "") -> int:
    """Write entries as they are, by key; how many were written. A missing
    id or time is made, an id that another memory has is replaced."""
    connection.execute("SET LOCAL statement_timeout = 0")
    # Two at once could give the same id to two keys, or wait for each other.
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtext('claw restore'),"
        " hashtext(%s))", (table.quoted,))
    at_conflict = f"UPDATE SET {_TAKEN}{forget}" if overwrite else "NOTHING"
    statement = (f"INSERT INTO {table.quoted} ({', '.join(_NAMES)})"
                 f" VALUES ({_MARKS}) ON CONFLICT (key) DO {at_conflict}")
    written = 0
    given = iter(entries)
    while batch := [_values(one, now)
                    for one in itertools.islice(given, BATCH)]:
        _part_ids(connection, table, batch)
        with connection.cursor() as cursor:
            cursor.executemany(statement, batch)
            written += cursor.rowcount
    return written


def by_rid(connection: Connection, source: str, rids: Sequence[int]
           ) -> dict[int, MemoryEntry]:
    """The memories with these row ids."""
    found = connection.execute(
        f"SELECT memories.rid, {COLUMNS} FROM {source}"
        " WHERE memories.rid = ANY(%s)", (list(rids),))
    return {row[0]: entry(row[1:]) for row in found}


def all_entries(connection: Connection, source: str,
                after: tuple[str, int] | None
                ) -> tuple[list[MemoryEntry], tuple[str, int] | None]:
    """The next batch of all memories, oldest first, and where it ended;
    begin with None. An empty batch ends it."""
    further = ("" if after is None else " WHERE (memories.created_at,"
               " memories.rid) > (%s::timestamptz, %s)")
    found = connection.execute(
        f"SELECT memories.rid, {COLUMNS} FROM {source}{further}"
        " ORDER BY memories.created_at, memories.rid LIMIT %s",
        (*(after or ()), BATCH)).fetchall()
    if found:
        after = (found[-1][5], found[-1][0])
    return [entry(row[1:]) for row in found], after


def _part_ids(connection: Connection, table: Table,
              batch: list[list[Any]]) -> None:
    """Give a new id to each entry whose id another key has, in the table
    or before it in the batch."""
    owners: dict[str, str] = dict(connection.execute(
        f"SELECT id, key FROM {table.quoted} WHERE id = ANY(%s)",
        ([values[0] for values in batch],)).fetchall())
    for values in batch:
        if owners.setdefault(values[0], values[1]) != values[1]:
            values[0] = str(uuid.uuid4())


def _values(given: MemoryEntry, now: str) -> list[Any]:
    return [_text(given.id) or str(uuid.uuid4()), checked_key(given.key),
            escaped(given.content), escaped(given.category),
            _time(given, given.created_at or given.updated_at or now),
            _time(given, given.updated_at or given.created_at or now),
            _text(given.session_id), _text(given.sender),
            escaped(given.namespace), given.importance,
            _text(given.superseded_by), _text(given.source),
            vector_text(given.key, given.content)]


def _time(given: MemoryEntry, text: str) -> str:
    try:
        return instant(times.to_utc(text))
    except ValueError as error:
        raise UsageError(
            f"memory {given.key!r}: {text!r} is not a time",
            hint="write it like 2026-11-20T19:00:00Z") from error


def _text(value: str | None) -> str | None:
    return None if value is None else escaped(value)
