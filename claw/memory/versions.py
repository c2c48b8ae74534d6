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
from typing import Any, NamedTuple

from claw.core.memory import MemoryEntry, Version
from claw.core.registry import load_dotted
from claw.core.value import replace
from claw.memory import rows, schema

# Its import of hashlib costs 4 ms; few commands need it.
_CONTENT_HASH = "claw.memory.embeddings.cache:content_hash"
_NAMES = schema.COLUMNS
_WIDTH = rows.COLUMNS.count(",") + 1


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
    states = [] if (held := _held(connection, key)) is None \
        else [_current(held)]
    for kept in _kept(connection, key):
        version = Version(kept.entry, kept.entry.updated_at,
                          kept.valid_until, _end(kept))
        newer = states[-1] if states else None
        if newer is not None and _continues(version, newer):
            states[-1] = replace(newer, valid_from=version.valid_from)
        else:
            states.append(version)
    return states


def undo(connection: sqlite3.Connection, key: str,
         now: str) -> MemoryEntry | None:
    """Take back the last change of a key; the memory as it is then, None
    where there is nothing to take back.

    Superseded: it holds again. Forgotten: it is back with its id, times,
    session, sender and source. Overwritten: what it was before holds
    again. A forgetting that was not kept can't be taken back, and nothing
    before it.
    """
    held = _held(connection, key)
    if held is not None and held.entry.superseded_by is not None:
        return _hold_again(connection, held)
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
    _put_back(connection, kept, held)
    restored = _held(connection, key)
    return None if restored is None else restored.entry


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
    before = connection.execute("PRAGMA secure_delete").fetchone()[0]
    connection.execute("PRAGMA secure_delete=ON")
    try:
        return _purge(connection, key)
    finally:
        connection.execute(f"PRAGMA secure_delete={before}")


def _purge(connection: sqlite3.Connection, key: str) -> bool:
    held = _held(connection, key)
    name_of = load_dotted(_CONTENT_HASH)
    hashes = {name_of(kept.entry.content) for kept in _kept(connection, key)}
    if held is not None:
        hashes.add(name_of(held.entry.content))
        _clear_signs(connection, held.rid)
        rows.delete(connection, "rid = ?", (held.rid,), now=None)
    connection.execute("DELETE FROM memory_versions WHERE key = ?", (key,))
    connection.executemany(
        "DELETE FROM embedding_cache WHERE content_hash = ?",
        [(name,) for name in hashes])
    return bool(hashes)


def _clear_signs(connection: sqlite3.Connection, rid: int) -> None:
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
        f"SELECT {rows.COLUMNS}, memories.rid, memories.superseded_at"
        " FROM memories WHERE memories.key = ?", (key,)).fetchone()
    return None if row is None else _Held(
        row[_WIDTH], rows.entry(row[:_WIDTH]), row[_WIDTH + 1])


def _kept(connection: sqlite3.Connection, key: str) -> Iterator[_Kept]:
    """The stack of a key, its top first, one by one: all states of a long
    text may not have room in memory."""
    found = connection.execute(
        f"SELECT {rows.COLUMNS}, memories.vid, memories.valid_until,"
        " memories.ended_by FROM memory_versions AS memories"
        " WHERE memories.key = ? ORDER BY memories.vid DESC", (key,))
    return (_Kept(row[_WIDTH], rows.entry(row[:_WIDTH]), *row[_WIDTH + 1:])
            for row in found)


def _current(held: _Held) -> Version:
    began = held.entry.updated_at
    if held.entry.superseded_by is None:
        return Version(held.entry, began)
    return Version(held.entry, began, held.superseded_at or began,
                   "superseded")


def _end(kept: _Kept) -> str:
    """How a state ended: one that was superseded and then overwritten
    ended when it was superseded."""
    if kept.ended_by == "updated" and kept.entry.superseded_by is not None:
        return "superseded"
    return kept.ended_by


def _continues(older: Version, newer: Version) -> bool:
    return (older.ended_by == "updated"
            and older.valid_until == newer.valid_from
            and _said(older.entry) == _said(newer.entry))


def _said(entry: MemoryEntry) -> tuple[Any, ...]:
    """What makes two states of a key the same."""
    return (entry.content, entry.category, entry.session_id, entry.sender,
            entry.source, entry.superseded_by is None)


def _hold_again(connection: sqlite3.Connection, held: _Held) -> MemoryEntry:
    connection.execute("UPDATE memories SET superseded_by = NULL,"
                       " superseded_at = NULL WHERE rid = ?", (held.rid,))
    schema.index(connection, [
        (held.rid, held.entry.key, held.entry.content)])
    return replace(held.entry, superseded_by=None)


def _last_change(connection: sqlite3.Connection, key: str,
                 held: _Held | None) -> _Kept | None:
    for kept in _kept(connection, key):
        if kept.ended_by == "undone":
            continue
        if held is None:
            return kept if kept.ended_by == "forgotten" else None
        if kept.ended_by == "forgotten" \
                or _said(kept.entry) != _said(held.entry):
            return kept
    return None


def _put_back(connection: sqlite3.Connection, kept: _Kept,
              held: _Held | None) -> None:
    """Write a state into the row of its key. Its id may be another's by
    now (an import); then it keeps the row's, or gets a new one."""
    entry = kept.entry
    by = _superseder(connection, entry)
    ended = kept.valid_until if by is not None else None
    if _is_anothers(connection, entry.id, held):
        entry = replace(entry, id=held.entry.id if held is not None
                        else str(uuid.uuid4()))
    values = [*(getattr(entry, name) for name in _NAMES[:10]), by,
              entry.source, ended]
    if held is None:
        rid = connection.execute(
            f"INSERT INTO memories ({', '.join(_NAMES)}, superseded_at)"
            f" VALUES ({', '.join('?' * len(values))})", values).lastrowid
    else:
        rid = held.rid
        connection.execute(
            "UPDATE memories SET embedding = NULL, "
            + ", ".join(f"{name} = ?" for name in _NAMES)
            + ", superseded_at = ? WHERE rid = ?", [*values, rid])
        connection.execute("UPDATE memories SET superseded_by = ?"
                           " WHERE superseded_by = ?",
                           (entry.id, held.entry.id))
    rows.unindex(connection, "= ?", (rid,))
    if by is None:
        schema.index(connection, [
            (int(rid or 0), entry.key, entry.content)])


def _superseder(connection: sqlite3.Connection,
                entry: MemoryEntry) -> str | None:
    """The id now of what superseded a state; None where that is gone: the
    state holds again."""
    found = connection.execute(
        "SELECT id FROM memories WHERE key <> ?2 AND (id = ?1 OR key IN"
        " (SELECT key FROM memory_versions WHERE id = ?1))",
        (entry.superseded_by, entry.key)).fetchone() \
        if entry.superseded_by is not None else None
    return None if found is None else str(found[0])


def _is_anothers(connection: sqlite3.Connection, id_: str,
                 held: _Held | None) -> bool:
    return connection.execute(
        "SELECT 1 FROM memories WHERE id = ? AND rid IS NOT ?",
        (id_, held.rid if held is not None else None)).fetchone() is not None


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
