"""What memories were before: history, undo, superseding, removal for good.

`memory_versions` is a stack for each key: every state that ended, in the
order in which it ended (`vid`). `updated_at` of a state is when it began to
hold. Plain functions over a connection; those that write do so inside the
caller's transaction.

Undo takes the top of the stack away and makes it the memory again. What it
replaces stays in the history as "undone" and is no step of undo any more:
undo twice goes back two changes and never swings between two states; what
was undone can be read in the history and stored again.
"""

import sqlite3
import uuid
from collections.abc import Iterator
from typing import NamedTuple

from claw.core.memory import MemoryEntry, Purge, Version
from claw.core.value import replace
from claw.memory.sqlite import rows, schema

_GONE = ("forgotten", "purged")
_PURGED_AT = "coalesce(kept_at, valid_until)"


class _Held(NamedTuple):
    """The row of a key."""

    rid: int
    entry: MemoryEntry
    superseded_at: str | None


class _Kept(NamedTuple):
    """A row of memory_versions."""

    vid: int
    entry: MemoryEntry
    valid_until: str
    ended_by: str


def history(connection: sqlite3.Connection, key: str) -> list[Version]:
    """Every state known of a key, the latest first. The same words stored
    again are one state."""
    states: list[Version] = []
    if (held := _held(connection, key)) is not None:
        began = held.entry.updated_at
        states.append(Version(held.entry, began)
                      if held.entry.superseded_by is None else Version(
            held.entry, began, held.superseded_at or began, "superseded"))
    for kept in _kept(connection, key):
        # One that was superseded and then overwritten ended when it was
        # superseded.
        ended_by = kept.ended_by if kept.ended_by != "updated" \
            or kept.entry.superseded_by is None else "superseded"
        if states and ended_by == "updated" \
                and kept.valid_until == states[-1].valid_from \
                and _is_same(kept.entry, states[-1].entry):
            states[-1] = replace(states[-1],
                                 valid_from=kept.entry.updated_at)
        else:
            states.append(Version(kept.entry, kept.entry.updated_at,
                                  kept.valid_until, ended_by))
    return states


def undo(connection: sqlite3.Connection, key: str,
         now: str) -> MemoryEntry | None:
    """Take back the last change of a key; the memory as it is then, None
    where there is nothing to take back.

    Superseded: it holds again. Forgotten, or removed by hygiene: it is
    back with its id, times, session, sender and source. Overwritten: what
    it was before holds again. A forgetting that was not kept can't be
    taken back, and nothing before it.
    """
    held = _held(connection, key)
    if held is not None and held.entry.superseded_by is not None:
        connection.execute("UPDATE memories SET superseded_by = NULL,"
                           " superseded_at = NULL WHERE rid = ?", (held.rid,))
        schema.index(connection, [(held.rid, key, held.entry.content)])
        return replace(held.entry, superseded_by=None)
    kept = _last_change(connection, key, held)
    if kept is None:
        return None
    if held is not None:
        rows.keep_versions(connection, "rid = ?", (held.rid,), "undone", now)
    connection.execute("DELETE FROM memory_versions WHERE vid = ?",
                       (kept.vid,))
    connection.execute(
        "UPDATE memory_versions SET ended_by = 'undone'"
        " WHERE key = ? AND vid > ?", (key, kept.vid))
    _put_back(connection, kept, held, now)
    restored = _held(connection, key)
    return None if restored is None else restored.entry


def purges(connection: sqlite3.Connection) -> list[Purge]:
    """What hygiene removed and is kept, by run, the latest first."""
    found: dict[str, dict[str, int]] = {}
    for at, category, number in connection.execute(
            f"SELECT {_PURGED_AT} AS at, category, count(*)"
            " FROM memory_versions WHERE ended_by = 'purged'"
            " GROUP BY at, category ORDER BY at DESC, category"):
        found.setdefault(at, {})[category] = number
    return [Purge(at, categories) for at, categories in found.items()]


def undo_purge(connection: sqlite3.Connection, at: str, now: str) -> int:
    """Bring back what a run of hygiene removed; how many memories. Where
    a key holds a memory again, what was removed stays in its history."""
    found = connection.execute(
        "SELECT vid, key FROM memory_versions AS kept WHERE"
        f" ended_by = 'purged' AND {_PURGED_AT} = ? AND NOT EXISTS"
        " (SELECT 1 FROM memories WHERE memories.key = kept.key)"
        " ORDER BY vid", (at,)).fetchall()
    for vid, key in found:
        kept = next(one for one in _kept(connection, key) if one.vid == vid)
        connection.execute("DELETE FROM memory_versions WHERE vid = ?",
                           (vid,))
        _put_back(connection, kept, None, now)
    return len(found)


def supersede(connection: sqlite3.Connection, key: str, by: str,
              now: str) -> bool:
    """Let the memory `by` take the place of `key`: that one is kept, and
    found no longer. False, and nothing changed, where one of them is not
    there, where both are one, or where `by` itself was superseded by
    `key` (also through others)."""
    old, new = _held(connection, key), _held(connection, by)
    if old is None or new is None or old.rid == new.rid \
            or _leads_to(connection, new.entry, old.entry.id):
        return False
    connection.execute(
        "UPDATE memories SET superseded_by = ?,"
        " superseded_at = coalesce(superseded_at, ?) WHERE rid = ?",
        (new.entry.id, now, old.rid))
    rows.unindex(connection, "= ?", (old.rid,))
    return True


def purge(connection: sqlite3.Connection, key: str) -> bool:
    """Remove a memory, every earlier state, its vectors and what the
    embedding cache holds of its words; whether there was anything.

    The rows are overwritten with zeros in the file (secure_delete). Not
    promised: the write-ahead log keeps old pages until a checkpoint, pages
    that earlier changes left free keep what they held until they are used
    again or VACUUM runs, single words stay in the word index until it is
    merged or made anew, and copies outside brain.db (snapshot, exports,
    backups, sessions) are not touched.
    """
    from claw.memory.embeddings.cache import content_hash
    before = connection.execute("PRAGMA secure_delete").fetchone()[0]
    connection.execute("PRAGMA secure_delete=ON")
    try:
        held = _held(connection, key)
        hashes = {content_hash(kept.entry.content)
                  for kept in _kept(connection, key)}
        if held is not None:
            hashes.add(content_hash(held.entry.content))
            clear_signs(connection, held.rid)
            rows.delete(connection, "rid = ?", (held.rid,), now=None)
        connection.execute("DELETE FROM memory_versions WHERE key = ?",
                           (key,))
        connection.executemany(
            "DELETE FROM embedding_cache WHERE content_hash = ?",
            [(name,) for name in hashes])
        return bool(hashes)
    finally:
        connection.execute(f"PRAGMA secure_delete={before}")


def clear_signs(connection: sqlite3.Connection, rid: int) -> None:
    """Zero the sign bits of a row in the shards of every model."""
    shards = connection.execute(
        "SELECT id, bits FROM vector_shards WHERE shard = ?"
        " AND typeof(bits) = 'blob'",
        (rid // schema.SHARD,)).fetchall()
    for shard, bits in shards:
        width = len(bits) // schema.SHARD
        start = rid % schema.SHARD * width
        cleared = bits[:start] + bytes(width) + bits[start + width:]
        connection.execute("UPDATE vector_shards SET bits = ? WHERE id = ?",
                           (cleared, shard))


def _held(connection: sqlite3.Connection, key: str) -> _Held | None:
    row = connection.execute(
        f"SELECT rid, superseded_at, {rows.SELECTED} FROM memories"
        " WHERE key = ?", (key,)).fetchone()
    return None if row is None else _Held(
        row[0], rows.read_entry(row[2:]), row[1])


def _kept(connection: sqlite3.Connection, key: str) -> Iterator[_Kept]:
    """The stack of a key, its top first, one by one: all states of a long
    text may not have room in memory."""
    return (_Kept(row[0], rows.read_entry(row[3:]), *row[1:3])
            for row in connection.execute(
                f"SELECT vid, valid_until, ended_by, {rows.SELECTED}"
                " FROM memory_versions AS memories WHERE key = ?"
                " ORDER BY vid DESC", (key,)))


def _is_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether two states of a key say the same."""
    return (one.superseded_by is None) == (other.superseded_by is None) \
        and all(getattr(one, name) == getattr(other, name)
                for name in rows.STATE)


def _last_change(connection: sqlite3.Connection, key: str,
                 held: _Held | None) -> _Kept | None:
    for kept in _kept(connection, key):
        if kept.ended_by == "undone":
            continue
        if kept.ended_by == "thinned":
            return None  # what came after it can't be brought back
        if held is None:
            return kept if kept.ended_by in _GONE else None
        if kept.ended_by in _GONE \
                or not _is_same(kept.entry, held.entry):
            return kept
    return None


def _put_back(connection: sqlite3.Connection, kept: _Kept,
              held: _Held | None, now: str) -> None:
    """Write a state into the row of its key, which arrives now. Its id may
    be another's by now (an import); then it keeps the row's, or gets a new
    one. What keeps the key from hygiene goes on to."""
    entry = kept.entry
    # The id now of what superseded it; where that is gone it holds again.
    row = connection.execute(
        "SELECT id FROM memories WHERE key <> ?2 AND (id = ?1 OR key IN"
        " (SELECT key FROM memory_versions WHERE id = ?1))",
        (entry.superseded_by, entry.key)).fetchone() \
        if entry.superseded_by is not None else None
    by, ended = (row[0], kept.valid_until) if row else (None, None)
    if connection.execute(
            "SELECT 1 FROM memories WHERE id = ? AND rid IS NOT ?",
            (entry.id, held and held.rid)).fetchone() is not None:
        entry = replace(entry, id=str(uuid.uuid4()) if held is None
                        else held.entry.id)
    values = {**vars(entry), "superseded_by": by, "superseded_at": ended,
              "arrived_at": now,
              "kept_by": entry.kept_by or (held and held.entry.kept_by)}
    names = (*schema.COLUMNS, "superseded_at", "arrived_at")
    if held is None:
        rid = connection.execute(
            f"INSERT INTO memories ({', '.join(names)})"
            f" VALUES ({', '.join(f':{name}' for name in names)})",
            values).lastrowid
    else:
        rid = held.rid
        connection.execute(
            "UPDATE memories SET embedding = NULL, "
            + ", ".join(f"{name} = :{name}" for name in names)
            + " WHERE rid = :rid", {**values, "rid": rid})
        connection.execute("UPDATE memories SET superseded_by = ?"
                           " WHERE superseded_by = ?",
                           (entry.id, held.entry.id))
    rows.unindex(connection, "= ?", (rid,))
    if by is None:
        schema.index(connection, [
            (int(rid or 0), entry.key, entry.content)])


def _leads_to(connection: sqlite3.Connection, entry: MemoryEntry,
              id_: str) -> bool:
    """Whether following what superseded a memory arrives at an id."""
    seen = set()
    by = entry.superseded_by
    while by is not None and by not in seen:
        if by == id_:
            return True
        seen.add(by)
        row = connection.execute(
            "SELECT superseded_by FROM memories WHERE id = ?",
            (by,)).fetchone()
        by = row[0] if row else None
    return False
