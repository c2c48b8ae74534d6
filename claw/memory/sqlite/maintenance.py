"""What hygiene does inside brain.db: retention, size, space.

`SqliteMaintenance` is what SqliteMemory gives for the protocols of
claw.memory.maintenance, loaded when it is asked for. All work goes in
batches, a transaction each, so that nobody waits long for the lock and a
kill costs one batch.
"""

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

from claw.core.failpoint import reach
from claw.core.memory import CONVERSATION
from claw.memory.sqlite import rows
from claw.memory.sqlite.schema import read_number

T = TypeVar("T")
BATCH = 500
# Above the limit it goes down to this share, so that not every run does it.
_DOWN_TO = 0.9
# What a memory costs: its text in the table, in the index twice over.
_TEXT_COPIES = 3
_ROW_BYTES = 350  # with its place in eight indexes
_MERGE_PAGES = 256
_MERGE_ROUNDS = 10_000
# A file is written anew for so much free space, and where what is in it
# takes no longer than others wait for the lock (about 100 MB/s).
_WORTH_VACUUM = 16 << 20
_MOST_VACUUM = 512 << 20

# A time of claw; what others wrote there can't be compared ("long ago").
_IS_TIME = "GLOB '[0-9][0-9][0-9][0-9]-[0-9]*'"
# Age counts from the last change, and from the day a row came here.
_EXPIRED = (f"category = ?1 AND updated_at < ?2 AND updated_at {_IS_TIME}"
            " AND kept_by IS NULL AND arrived_at < ?2")
# What a forgotten memory had said before is forgotten with it.
# From the few forgettings to the many states before them: a look from each
# state at all others of its key takes a minute for 2,000 of one key.
_BEFORE_FORGETTING = """
vid IN (
    SELECT earlier.vid FROM (
        SELECT key, max(vid) AS vid FROM memory_versions
        WHERE ended_by = 'forgotten' AND coalesce(kept_at, valid_until) < ?
        GROUP BY key) AS last
    CROSS JOIN memory_versions AS earlier
    ON earlier.key = last.key AND earlier.vid < last.vid
    WHERE earlier.ended_by <> 'forgotten')"""
_KEPT_AT = "coalesce(kept_at, valid_until)"
_FORGOTTEN = f"ended_by = 'forgotten' AND {_KEPT_AT} < ?"
# Keys with more overwritten states than they may have.
_THICK = (f"SELECT key, count(*) AS n FROM memory_versions WHERE ended_by IN"
          f" {rows.THINNED} GROUP BY key HAVING n > ?1")
_KEYS = 50  # of one transaction
_ENDED = f"ended_by <> 'forgotten' AND {_KEPT_AT} < ?"


class Writes(Protocol):
    """SqliteMemory._write: one transaction."""

    def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> T: ...


class Reads(Protocol):
    """SqliteMemory._read: alone with the connection."""

    def __call__(self, work: Callable[[], T], /) -> T: ...


class SqliteMaintenance:
    """Maintenance of a brain.db that SqliteMemory holds open."""

    def __init__(self, connection: sqlite3.Connection, read: Reads,
                 write: Writes) -> None:
        self._connection = connection
        self._read = read
        self._write = write

    def expire(self, category: str, older_than: str, *,
               kept_at: str | None, dry: bool = False) -> int:
        values = (category, older_than.removesuffix("Z"))
        if dry:
            return self._read(lambda: read_number(
                self._connection,
                f"SELECT count(*) FROM memories WHERE {_EXPIRED}", *values))
        return self._in_batches(partial(
            _drop_memories, values=values, kept_at=kept_at))

    def note_arrivals(self, at: str) -> int:
        return self._in_batches(partial(_note_arrivals, at=at))

    def prune_versions(self, forgotten_before: str, ended_before: str, *,
                       dry: bool = False) -> int:
        first = (forgotten_before.removesuffix("Z"),)
        second = (ended_before.removesuffix("Z"),)
        # The forgotten ones last: they tell which others go with them.
        steps = ((_BEFORE_FORGETTING, first), (_FORGOTTEN, first),
                 (_ENDED, second))
        if dry:
            any_of = " OR ".join(f"({condition})" for condition, _ in steps)
            return self._read(lambda: read_number(
                self._connection,
                f"SELECT count(*) FROM memory_versions WHERE {any_of}",
                *(value for _, values in steps for value in values)))
        return sum(self._in_batches(partial(
            _drop_versions, condition=condition, values=values))
            for condition, values in steps)

    def thin_versions(self, most: int, *, dry: bool = False) -> int:
        if dry:
            return self._read(lambda: read_number(
                self._connection, f"SELECT sum(n - ?1) FROM ({_THICK})",
                most))
        return self._in_batches(partial(_thin, most=most))

    def is_larger(self, limit_bytes: int) -> bool:
        return self._read(lambda: (
            _used(self._connection) > limit_bytes
            and _needed(self._connection) > limit_bytes))

    def shed(self, limit_bytes: int, *, talk: int | None = None,
             dry: bool = False) -> dict[str, int]:
        removed = dict.fromkeys(_SHED, 0)
        if not self.is_larger(limit_bytes):
            return removed
        target = int(limit_bytes * _DOWN_TO)
        if dry:
            return self._read(lambda: _estimate(
                self._connection, _needed(self._connection) - target,
                target))
        is_blind = self._read(lambda: _unused(self._connection)) is None
        for kind, share in _ORDER:
            most = talk if kind == CONVERSATION else None
            while (excess := self._excess(kind, target, share)) > 0:
                number = self._shed_about(
                    kind, excess, most and most - removed[kind])
                removed[kind] += number
                if number and kind == CONVERSATION:
                    # Only a whole merge frees the pages of removed words.
                    self._merge(-_MERGE_PAGES)
                if number and is_blind:
                    # What it freed shows when the file is written anew;
                    # to go on would be to remove all there is.
                    return removed
                if not number:
                    break
        return removed

    def give_back(self, *, above: int | None = None) -> int:
        before = self._file_bytes()
        if self._read(lambda: read_number(self._connection,
                                          "PRAGMA auto_vacuum")) == 2:
            self._in_batches(_vacuum_some)
        # Removed rows leave pages half empty, which only a new file closes.
        if above is not None and self._file_bytes() > above \
                and self._read(lambda: _is_worth_it(self._connection)):
            self._read(lambda: vacuum(self._connection))
        return before - self._file_bytes()

    def _file_bytes(self) -> int:
        return self._read(lambda: _file_bytes(self._connection))

    def _excess(self, kind: str, target: int, share: float) -> int:
        """Bytes that are too much, without the share of a kind."""
        excess = self._needed() - target
        return self._read(lambda: _excess(
            self._connection, excess, kind, int(target * share)))

    def _needed(self) -> int:
        return self._read(lambda: _needed(self._connection))

    def _shed_about(self, kind: str, excess: int, most: int | None) -> int:
        """Remove about so many bytes of a kind, at most so many rows; how
        many."""
        removed = freed = 0
        while freed < excess and (most is None or removed < most):
            number, size = self._write(partial(
                _shed_batch, kind=kind, excess=excess - freed,
                most=BATCH if most is None else min(BATCH, most - removed)))
            if not number:
                break
            removed, freed = removed + number, freed + size
            reach("hygiene.shed")
        return removed

    def _merge(self, pages: int) -> None:
        """Merge the word index step by step until it is merged."""
        for _ in range(_MERGE_ROUNDS):
            if not self._write(partial(_merge, pages=pages)):
                return
            pages = abs(pages)

    def _in_batches(self, work: Callable[[sqlite3.Connection], int]) -> int:
        """Run a batch again and again until it finds nothing more."""
        total = 0
        while number := self._write(work):
            total += number
            reach("hygiene.pruned")
        return total


# What is removed for the size, and the share of it that stays till the rest
# is gone: old states of one key must not cost what was said, nor the other
# way round.
_ORDER = (("cache", 0.0), ("versions", 0.5), (CONVERSATION, 0.0),
          ("versions", 0.0))
# By kind: the table, its row's number, what is chosen, the oldest first,
# and what a row takes.
_SHED = {
    CONVERSATION: (
        "memories", "rid",
        f"+category = '{CONVERSATION}' AND kept_by IS NULL", "updated_at",
        "length(CAST(key AS BLOB)) + length(CAST(content AS BLOB))"),
    "versions": (
        "memory_versions", "vid", "1", "valid_until",
        "length(CAST(key AS BLOB)) + length(CAST(content AS BLOB))"),
    "cache": ("embedding_cache", "rowid", "1", "accessed_at",
              "length(embedding)"),
}


def _oldest(kind: str) -> str:
    table, number, chosen, age, size = _SHED[kind]
    return (f"SELECT {number}, {size} FROM {table} WHERE {chosen}"
            f" ORDER BY {age}, {number}")


def _shed_batch(connection: sqlite3.Connection, kind: str, excess: int,
                most: int) -> tuple[int, int]:
    """(rows removed, bytes that this is thought to free)."""
    numbers: list[int] = []
    freed = 0
    for number, size in connection.execute(f"{_oldest(kind)} LIMIT {most}"):
        numbers.append(number)
        freed += _cost(kind, size)
        if freed >= excess:
            break
    listed = rows.write_ids(numbers)
    table, column = _SHED[kind][:2]
    if kind == CONVERSATION:
        rows.delete(connection, f"rid {rows.IN_IDS}", (listed,), now=None)
    else:
        connection.execute(
            f"DELETE FROM {table} WHERE {column} {rows.IN_IDS}", (listed,))
    return len(numbers), freed


def _cost(kind: str, size: int | None) -> int:
    copies = _TEXT_COPIES if kind == CONVERSATION else 1
    return copies * (size or 0) + _ROW_BYTES


def _excess(connection: sqlite3.Connection, excess: int, kind: str,
            spared: int) -> int:
    """What is too much, at most what a kind takes above what is spared
    of it."""
    if excess <= 0 or not spared:
        return excess
    try:
        taken = connection.execute(
            "SELECT total(pgsize - unused) FROM dbstat('main', 1)"
            " WHERE name = ?", (_SHED[kind][0],)).fetchone()[0]
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return 0
    return min(excess, int(taken) - spared)


def _estimate(connection: sqlite3.Connection, excess: int,
              target: int) -> dict[str, int]:
    found = dict.fromkeys(_SHED, 0)
    for kind, share in _ORDER:
        here = most = _excess(connection, excess, kind, int(target * share))
        for place, (_, size) in enumerate(connection.execute(_oldest(kind))):
            if here <= 0:
                break
            if place >= found[kind]:  # not counted before
                found[kind] += 1
                here -= _cost(kind, size)
        excess -= max(most, 0) - max(here, 0)
    return found


def _drop_memories(connection: sqlite3.Connection, values: Any,
                   kept_at: str | None) -> int:
    found = [rid for rid, in connection.execute(
        f"SELECT rid FROM memories WHERE {_EXPIRED} LIMIT {BATCH}", values)]
    return rows.delete(
        connection, f"rid {rows.IN_IDS}", (rows.write_ids(found),),
        now=kept_at, ended_by="purged") if found else 0


def _note_arrivals(connection: sqlite3.Connection, at: str) -> int:
    return connection.execute(
        "UPDATE memories SET arrived_at = ? WHERE rid IN (SELECT rid FROM"
        f" memories WHERE arrived_at IS NULL LIMIT {BATCH})", (at,)).rowcount


def _drop_versions(connection: sqlite3.Connection, condition: str,
                   values: Any) -> int:
    return connection.execute(
        "DELETE FROM memory_versions WHERE vid IN (SELECT vid FROM"
        f" memory_versions WHERE {condition} LIMIT {BATCH})",
        values).rowcount


def _thin(connection: sqlite3.Connection, most: int) -> int:
    keys = connection.execute(f"{_THICK} LIMIT {_KEYS}", (most,)).fetchall()
    return sum(rows.thin(connection, key, most) for key, _ in keys)


def _merge(connection: sqlite3.Connection, pages: int) -> bool:
    """One step of merging the word index; whether there is more to do
    (sqlite.org/fts5.html, section 6.7)."""
    before = connection.total_changes
    connection.execute("INSERT INTO memories_fts(memories_fts, rank)"
                       " VALUES ('merge', ?)", (pages,))
    return connection.total_changes - before >= 2


def _file_bytes(connection: sqlite3.Connection) -> int:
    return (read_number(connection, "PRAGMA page_count")
            * read_number(connection, "PRAGMA page_size"))


def _used(connection: sqlite3.Connection) -> int:
    return (_file_bytes(connection)
            - read_number(connection, "PRAGMA freelist_count")
            * read_number(connection, "PRAGMA page_size"))


def _needed(connection: sqlite3.Connection) -> int:
    """Bytes of the pages in use, without the free parts inside them: where
    rows were removed between others these are most of it."""
    return _used(connection) - (_unused(connection) or 0)


def _unused(connection: sqlite3.Connection) -> int | None:
    """Free bytes inside the pages in use; None where SQLite was built
    without what tells them (sqlite.org/dbstat.html)."""
    try:
        return int(connection.execute(
            "SELECT total(unused) FROM dbstat('main', 1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return None


def _is_worth_it(connection: sqlite3.Connection) -> bool:
    unused = _unused(connection)
    needed = _used(connection) - (unused or 0)
    free = _file_bytes(connection) - needed
    return needed <= _MOST_VACUUM and (
        unused is None or free >= max(needed // 3, _WORTH_VACUUM))


def _vacuum_some(connection: sqlite3.Connection) -> int:
    """Give some free pages back, where the file was made for that."""
    before = read_number(connection, "PRAGMA page_count")
    connection.execute(f"PRAGMA incremental_vacuum({BATCH})").fetchall()
    return before - read_number(connection, "PRAGMA page_count")


def vacuum(connection: sqlite3.Connection) -> None:
    """Write the file anew; others wait meanwhile. The copy is made on the
    disk, not in memory."""
    connection.execute("PRAGMA temp_store=FILE")
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute("PRAGMA temp_store=MEMORY")
