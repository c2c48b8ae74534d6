"""Rows of brain.db: reading and writing them with their index.

All writing happens inside the caller's transaction. The statements are made
of schema.COLUMNS, which are the fields of MemoryEntry but for its score.
"""

import operator
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from claw.core.memory import NO_SOURCE, MemoryEntry, Source
from claw.core.value import replace
from claw.memory.search.entries import check_key, read_times
from claw.memory.sqlite import schema
from claw.text.segment import clean

FIELDS = MemoryEntry.__match_args__
SELECTED = ", ".join("NULL" if name == "score" else f"memories.{name}"
                     for name in FIELDS)
# Numbers in the text would make each statement another one, which the
# connection keeps for the next time that never comes.
IN_IDS = "IN (SELECT value FROM json_each(?))"
_BATCH = 500
_MOST_RID = 2**62  # above, row ids may run out
_KEPT = ", ".join(schema.COLUMNS)
# By number: named parameters cost a restore in bulk a tenth of its time.
_MARKS = {name: f"?{number}"
          for number, name in enumerate(schema.COLUMNS, 1)}
_ID, _KEY, _CONTENT, _CREATED, _UPDATED, _SUPERSEDED = map(
    schema.COLUMNS.index, ("id", "key", "content", "created_at", "updated_at",
                           "superseded_by"))
_TEXTS = [place for place, name in enumerate(schema.COLUMNS) if name not in (
    "id", "key", "created_at", "updated_at", "importance")]
_read_columns = operator.attrgetter(*schema.COLUMNS)

# What makes two states of a key the same, but for their times: all that an
# owner or a sender gave, and not where it is kept.
_NO_STATE = {"id", "key", "created_at", "updated_at", "namespace",
             "importance", "superseded_by", "kept_by"}
STATE = tuple(name for name in schema.COLUMNS if name not in _NO_STATE)
_STATE = ", ".join(STATE)

# How states ended of which a key has only so many.
THINNED = "('updated', 'undone', 'thinned')"

# A text stored again keeps when it was first, its namespace, importance and
# what keeps it from hygiene.
_STORED = [*(name for name in schema.COLUMNS if name != "importance"),
           "arrived_at"]
_UPSERT = (
    f"INSERT INTO memories ({', '.join(_STORED)})"
    f" VALUES ({', '.join(f':{name}' for name in _STORED)})"
    " ON CONFLICT (key) DO UPDATE SET embedding = NULL, superseded_at = NULL, "
    + ", ".join(f"{name} = excluded.{name}" for name in _STORED
                if name not in ("key", "created_at", "namespace",
                                "kept_by")))
_ARRIVED = f"?{len(_MARKS) + 1}"  # behind the values of the columns
_INSERT = (f"INSERT INTO memories ({_KEPT}, arrived_at, rid)"
           f" VALUES ({', '.join(_MARKS.values())}, {_ARRIVED},"
           f" ?{len(_MARKS) + 2}) ON CONFLICT DO NOTHING")
_REPLACE = ("UPDATE memories SET embedding = NULL, "
            + ", ".join(f"{name} = {mark}" for name, mark in _MARKS.items()
                        if name != "kept_by")
            + f", kept_by = coalesce({_MARKS['kept_by']}, kept_by)"
            + f", arrived_at = {_ARRIVED}, superseded_at = CASE"
            f" WHEN superseded_by IS {_MARKS['superseded_by']}"
            " THEN superseded_at END"
            f" WHERE key = {_MARKS['key']}")


# An entry does not say when it was superseded: when what took its place
# came is as near as can be known.
_SUPERSEDED_THEN = """
SELECT CASE WHEN new.created_at > old.updated_at
       THEN new.created_at ELSE new.updated_at END AS ended, old.rid
FROM memories AS old JOIN memories AS new ON new.id = old.superseded_by
WHERE old.superseded_by IS NOT NULL AND old.superseded_at IS NULL
AND ended >= old.updated_at"""


def read_entry(row: tuple[Any, ...]) -> MemoryEntry:
    """A row of SELECTED as a memory."""
    found = MemoryEntry(*row)
    return found if found.namespace else replace(found, namespace="default")


def upsert(connection: sqlite3.Connection, key: str, content: str,
           category: str, session_id: str | None, *, namespace: str,
           now: str, source: Source = NO_SOURCE,
           most_versions: int = 0) -> int:
    """Write the memory under `key` with a new id; references to the old
    id follow, and what it was before is kept as a version, of which there
    are so many at most. Its row id."""
    old = connection.execute("SELECT rid, id FROM memories WHERE key = ?",
                             (key,)).fetchone()
    if old is not None:
        _keep_overwritten(connection, old[0], now)
        thin(connection, key, most_versions)
    values = vars(MemoryEntry(
        str(uuid.uuid4()), key, content, category, now, now, session_id,
        sender=source.sender, namespace=namespace, source=source.message,
        origin=source.origin)) | {"arrived_at": now}
    inserted = connection.execute(_UPSERT, values).lastrowid
    rid = int(old[0] if old is not None else inserted or 0)
    if old is not None:
        connection.execute("UPDATE memories SET superseded_by = ?"
                           " WHERE superseded_by = ?", (values["id"], old[1]))
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
            *, overwrite: bool, now: str, most_versions: int = 0) -> int:
    """Write entries as they are, by key; how many were written. A missing
    id or time is made, an id that another memory has is replaced."""
    last = schema.read_number(connection, "SELECT max(rid) FROM memories")
    # New rows are numbered above all others: what another program left
    # there of rows that it removed must not become theirs.
    unindex(connection, "> ?", (last,))
    written = 0
    with schema.bulk(connection):
        for batch in batches(entries):
            written += _restore_batch(connection, last, [
                [*_write_values(given, now), now, last + place]
                for place, given in enumerate(batch, 1)], overwrite,
                most_versions)
            last += len(batch)
    connection.executemany(
        "UPDATE memories SET superseded_at = ? WHERE rid = ?",
        connection.execute(_SUPERSEDED_THEN).fetchall())
    return written


def _restore_batch(connection: sqlite3.Connection, last: int,
                   batch: list[list[Any]], overwrite: bool,
                   most_versions: int) -> int:
    """Write rows (values, arrival, row id) above the row id `last`: the new
    ones together, then those whose key or id there is already."""
    if last > _MOST_RID:  # another program's row: SQLite finds a number
        made, new = 0, []
        others = [[*row[:-1], None] for row in batch]
    elif (made := connection.executemany(_INSERT, batch).rowcount
          ) == len(batch):
        new, others = batch, []
    else:
        there = {rid for rid, in connection.execute(
            "SELECT rid FROM memories WHERE rid > ?", (last,))}
        new = [row for row in batch if row[-1] in there]
        others = [row for row in batch if row[-1] not in there]
    schema.index(connection, [
        (row[-1], row[_KEY], row[_CONTENT]) for row in new
        if row[_SUPERSEDED] is None])
    return made + sum(_put(connection, row, overwrite, most_versions)
                      for row in others)


def all_entries(connection: sqlite3.Connection, after: tuple[str, int]
                ) -> tuple[list[MemoryEntry], tuple[str, int]]:
    """The next batch of all memories, oldest first, and where it ended;
    begin with ("", 0). An empty batch ends it."""
    rows = connection.execute(
        f"SELECT memories.rid, {SELECTED} FROM memories"
        " WHERE (created_at, rid) > (?, ?)"
        " ORDER BY created_at, rid LIMIT ?", (*after, _BATCH)).fetchall()
    found = [read_entry(row[1:]) for row in rows]
    return found, (found[-1].created_at, rows[-1][0]) if rows else after


def by_rid(connection: sqlite3.Connection, rids: list[int]
           ) -> dict[int, MemoryEntry]:
    """The memories with these row ids."""
    return {row[0]: read_entry(row[1:]) for row in connection.execute(
        f"SELECT memories.rid, {SELECTED} FROM memories"
        f" WHERE memories.rid {IN_IDS}", (write_ids(rids),))}


def write_ids(rids: Iterable[int]) -> str:
    """Row ids as the value of `IN_IDS`."""
    return f"[{','.join(map(str, rids))}]"


def delete(connection: sqlite3.Connection, condition: str,
           values: Iterable[Any], *, now: str | None,
           ended_by: str = "forgotten") -> int:
    """Remove the rows that a condition names; how many. With `now` they
    are kept as versions that were forgotten (or purged) then; without it,
    what they were before goes with them."""
    values = tuple(values)
    if now is not None:
        keep_versions(connection, condition, values, ended_by, now)
    else:
        connection.execute(
            "DELETE FROM memory_versions WHERE key IN"
            f" (SELECT key FROM memories WHERE {condition})", values)
    unindex(connection, f"IN (SELECT rid FROM memories WHERE {condition})",
            values)
    return connection.execute(f"DELETE FROM memories WHERE {condition}",
                              values).rowcount


def thin(connection: sqlite3.Connection, key: str, most: int) -> int:
    """Let a key have so many overwritten states at most (0: all); how many
    went. The oldest go, but for the first: it says whose the memory was and
    since when, and as "thinned" that states after it are not known."""
    if most <= 0:
        return 0
    numbers = [vid for vid, in connection.execute(
        "SELECT vid FROM memory_versions WHERE key = ? AND ended_by IN"
        f" {THINNED} ORDER BY vid", (key,))]
    first = min(most - 1, 1)
    dropped = numbers[first:max(first, len(numbers) - most + first)]
    if dropped:
        connection.executemany("DELETE FROM memory_versions WHERE vid = ?",
                               ((vid,) for vid in dropped))
        connection.executemany(
            "UPDATE memory_versions SET ended_by = 'thinned' WHERE vid = ?",
            ((vid,) for vid in numbers[:first]))
    return len(dropped)


def pin(connection: sqlite3.Connection, keys: Sequence[str] | None,
        category: str | None, *, on: bool) -> list[str]:
    """Keep memories from hygiene, or no longer; the keys that there were,
    in the order given. What was imported and pinned is simply pinned."""
    value = "pin" if on else None
    if keys is None:
        return [key for key, in connection.execute(
            "UPDATE memories SET kept_by = ? WHERE category = ?"
            " RETURNING key", (value, category)).fetchall()]
    return [key for key in keys if connection.execute(
        "UPDATE memories SET kept_by = ? WHERE key = ?",
        (value, clean(key))).rowcount]


def batches(items: Iterable[Any], size: int = _BATCH
            ) -> Iterator[list[Any]]:
    """Items in lists of at most `size`."""
    left = iter(items)
    while batch := list(islice(left, size)):
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


def _put(connection: sqlite3.Connection, row: list[Any],
         overwrite: bool, most_versions: int) -> bool:
    """Write one row whose key or id there was; False where an existing key
    was left alone."""
    *values, now, rid = row
    key = values[_KEY]
    compared = (*STATE, "updated_at", "superseded_by")
    found = connection.execute(
        f"SELECT rid, id, {', '.join(compared)} FROM memories"
        " WHERE key = ?", (key,)).fetchone()
    if found is None:
        made = connection.execute(_INSERT, row)
        if not made.rowcount:  # the id belongs to another key
            made = connection.execute(
                _INSERT, [str(uuid.uuid4()), *row[_ID + 1:]])
        rid = made.lastrowid
    elif not overwrite:
        return False
    else:
        rid, id_, *held = found
        given = dict(zip(schema.COLUMNS, values, strict=True))
        if held != [given[name] for name in compared]:
            _keep_overwritten(connection, rid, now)
            thin(connection, key, most_versions)
        _replace(connection, row)
        connection.execute(
            "UPDATE memories SET superseded_by = (SELECT id FROM memories"
            " WHERE rid = ?) WHERE superseded_by = ?", (rid, id_))
        unindex(connection, "= ?", (rid,))
    if values[_SUPERSEDED] is None:
        schema.index(connection, [(rid, key, values[_CONTENT])])
    return True


def _replace(connection: sqlite3.Connection, row: list[Any]) -> None:
    try:
        connection.execute(_REPLACE, row[:-1])
    except sqlite3.IntegrityError:  # the id belongs to another key
        connection.execute(_REPLACE, [str(uuid.uuid4()), *row[_ID + 1:-1]])


def _write_values(given: MemoryEntry, now: str) -> list[Any]:
    """An entry as a row holds it, in the order of the columns."""
    values = list(_read_columns(given))
    values[_ID] = given.id or str(uuid.uuid4())
    values[_KEY] = check_key(given.key)
    values[_CREATED], values[_UPDATED] = read_times(given, now)
    for place in _TEXTS:
        if values[place] is not None:
            values[place] = clean(values[place])
    return values
