"""Rows of the table: reading and writing them with their words.

Writing happens inside the caller's transaction, and into the whole table:
`table.ensure` has been there.
"""

import itertools
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from claw.core.memory import MemoryEntry, Source
from claw.core.value import replace
from claw.memory.postgres.escape import escape, unescape
from claw.memory.postgres.filters import to_instant
from claw.memory.postgres.server import Connection
from claw.memory.postgres.table import OURS, TAKEN, Table
from claw.memory.postgres.words import vector_text
from claw.memory.search.entries import check_key, read_times

Batch = tuple[list[MemoryEntry], tuple[str, int] | None]
BATCH = 500
_TIME = ("to_char(memories.{} AT TIME ZONE 'UTC',"
         " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
_NAMES = (*TAKEN, *(name for name in OURS if name != "rid"))
CREATED = _TIME.format("created_at")  # as text
_FROM = {"score": "NULL", "created_at": CREATED,
         "updated_at": _TIME.format("updated_at")}
SELECTED = ", ".join(_FROM.get(name, f"memories.{name}")
                     for name in MemoryEntry.__match_args__
                     if name in (*_FROM, *_NAMES))
_KINDS = {"created_at": "::timestamptz", "updated_at": "::timestamptz",
          "arrived_at": "::timestamptz", "words": "::tsvector"}
_MARKS = ", ".join(f"%({name})s{_KINDS.get(name, '')}" for name in _NAMES)
_UPDATED = ", ".join(
    f"{name} = excluded.{name}" if name != "kept_by" else
    "kept_by = coalesce(excluded.kept_by, memories.kept_by)"
    for name in _NAMES if name != "key")

# In one statement: the row, and what pointed at its old id. A text stored
# again keeps when it was first, its namespace, importance and kept_by.
_STORED = [name for name in _NAMES if name != "importance"]
_UPSERT = (
    "WITH old AS (SELECT id FROM {table} WHERE key = %(key)s),"
    " led AS (UPDATE {table} SET superseded_by = %(id)s"
    " FROM old WHERE superseded_by = old.id AND {table}.key <> %(key)s)"
    f" INSERT INTO {{table}} ({', '.join(_STORED)}) VALUES ("
    + ", ".join(f"%({name})s{_KINDS.get(name, '')}" for name in _STORED)
    + ") ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _STORED
                if name not in ("key", "created_at", "namespace", "kept_by"))
    + "{more}")


def read_entry(row: Sequence[Any]) -> MemoryEntry:
    """A row of SELECTED as a memory."""
    values: list[Any] = [unescape(value) if isinstance(value, str)
                         else value for value in row]
    found = MemoryEntry(*values)
    return found if found.namespace else replace(found, namespace="default")


def upsert(connection: Connection, table: Table, key: str, content: str,
           category: str, session_id: str | None, *, namespace: str,
           now: str, source: Source, forget: str = "") -> str:
    """Write the memory under `key` with a new id, which it gives;
    references to the old id follow. `forget` names the columns that the
    new text empties."""
    values = _write_values(MemoryEntry(
        "", key, content, category, now, now, session_id,
        sender=source.sender, namespace=namespace, source=source.message,
        origin=source.origin), now)
    connection.execute(_UPSERT.format(table=table.quoted, more=forget),
                       values)
    return str(values["id"])


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
    at_conflict = f"UPDATE SET {_UPDATED}{forget}" if overwrite else "NOTHING"
    statement = (f"INSERT INTO {table.quoted} AS memories"
                 f" ({', '.join(_NAMES)})"
                 f" VALUES ({_MARKS}) ON CONFLICT (key) DO {at_conflict}")
    written = 0
    given = iter(entries)
    while batch := [_write_values(one, now)
                    for one in itertools.islice(given, BATCH)]:
        # A new id for each entry whose id another key has, in the table or
        # before it in the batch.
        owners: dict[str, str] = dict(connection.execute(
            f"SELECT id, key FROM {table.quoted} WHERE id = ANY(%s)",
            ([values["id"] for values in batch],)).fetchall())
        for values in batch:
            if owners.setdefault(values["id"], values["key"]) != values["key"]:
                values["id"] = str(uuid.uuid4())
        with connection.cursor() as cursor:
            cursor.executemany(statement, batch)
            written += cursor.rowcount
    return written


def by_rid(connection: Connection, source: str, rids: Sequence[int]
           ) -> dict[int, MemoryEntry]:
    """The memories with these row ids."""
    return {row[0]: read_entry(row[1:]) for row in connection.execute(
        f"SELECT memories.rid, {SELECTED} FROM {source}"
        " WHERE memories.rid = ANY(%s)", (list(rids),))}


def all_entries(connection: Connection, source: str,
                after: tuple[str, int] | None) -> Batch:
    """The next batch of all memories, oldest first, and where it ended;
    begin with None. An empty batch ends it."""
    further = ("" if after is None else " WHERE (memories.created_at,"
               " memories.rid) > (%s::timestamptz, %s)")
    found = connection.execute(
        f"SELECT memories.rid, {SELECTED} FROM {source}{further}"
        " ORDER BY memories.created_at, memories.rid LIMIT %s",
        (*(after or ()), BATCH)).fetchall()
    batch = [read_entry(row[1:]) for row in found]
    return batch, (batch[-1].created_at, found[-1][0]) if found else after


def _write_values(given: MemoryEntry, now: str) -> dict[str, Any]:
    """An entry as a row holds it, by the name of the column."""
    created, updated = map(to_instant, read_times(given, now))
    check_key(given.key)
    return {name: escape(value) if isinstance(value, str) else value
            for name, value in vars(given).items()} | {
        "id": escape(given.id) or str(uuid.uuid4()),
        "created_at": created, "updated_at": updated,
        "arrived_at": to_instant(now),
        "words": vector_text(given.key, given.content)}
