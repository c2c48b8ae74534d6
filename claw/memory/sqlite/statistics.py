"""Numbers about a brain.db: how many, since when, how large.

Source of dbstat: sqlite.org/dbstat.html.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

from claw.core.memory import MemoryEntry
from claw.core.value import Value, made
from claw.memory.sqlite.schema import read_number

PARTS = ("text", "index", "vectors", "versions", "free")
_SENDERS = 10
_DBSTAT = "dbstat"
# The longest span shown by weeks: half a year.
_WEEKS_DAYS = 183
_MONDAY = "date(substr(created_at, 1, 10), 'weekday 0', '-6 days')"
_MONTH = "substr(created_at, 1, 7)"
_IS_DAY = "created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
_PART_OF = """
CASE WHEN tbl_name LIKE 'memories\\_fts%' ESCAPE '\\' THEN 'index'
     WHEN tbl_name LIKE 'memory\\_versions%' ESCAPE '\\' THEN 'versions'
     WHEN tbl_name LIKE 'vector%' OR tbl_name LIKE 'embedding%'
     THEN 'vectors' ELSE 'text' END"""


class Statistics(Value):
    """What a store holds.

    `timeline` is memories by the day their month ("2026-11") or week
    (its Monday, "2026-11-16") begins, as `unit` says; `senders` counts
    who said anything but the owner, `top_senders` the most talkative.
    `bytes` are by part (PARTS) and empty where there is no file.
    """

    categories: dict[str, int]
    superseded: int = 0
    sessions: int = 0
    senders: int = 0
    top_senders: dict[str, int] = made(factory=dict)
    unit: str = "month"
    timeline: dict[str, int] = made(factory=dict)
    oldest: str | None = None
    newest: str | None = None
    bytes: dict[str, int] = made(factory=dict)
    vectors: int | None = None
    versions: int | None = None


@runtime_checkable
class CountsMemories(Protocol):
    """Knows its numbers."""

    def statistics(self) -> Statistics:
        """The numbers as they are now."""


def count_rows(connection: sqlite3.Connection) -> Statistics:
    """The numbers of a current brain.db; reads only."""
    oldest, newest = connection.execute(
        f"SELECT min(created_at), max(created_at) FROM memories"
        f" WHERE {_IS_DAY}").fetchone()
    unit = _unit(connection, oldest, newest)
    period = _MONDAY if unit == "week" else _MONTH
    return Statistics(
        categories=_counts(connection, "category", "1"),
        superseded=read_number(connection, "SELECT count(*) FROM memories"
                        " WHERE superseded_by IS NOT NULL"),
        sessions=read_number(connection, "SELECT count(DISTINCT session_id)"
                      " FROM memories"),
        senders=read_number(connection, "SELECT count(DISTINCT sender)"
                     " FROM memories"),
        top_senders=_counts(connection, "sender", "sender IS NOT NULL",
                            f" LIMIT {_SENDERS}"),
        unit=unit,
        timeline=dict(sorted(_counts(connection, period,
                                     _IS_DAY).items())),
        oldest=oldest, newest=newest, bytes=_measure(connection),
        vectors=read_number(connection, "SELECT count(*) FROM vectors"),
        versions=read_number(connection,
                             "SELECT count(*) FROM memory_versions"))


def count_entries(entries: Iterable[MemoryEntry]) -> Statistics:
    """The numbers of any other store, from all its memories."""
    categories: Counter[str] = Counter()
    senders: Counter[str] = Counter()
    months: Counter[str] = Counter()
    sessions: set[str] = set()
    superseded, oldest, newest = 0, None, None
    for entry in entries:
        categories[entry.category] += 1
        superseded += entry.superseded_by is not None
        if entry.session_id is not None:
            sessions.add(entry.session_id)
        if entry.sender is not None:
            senders[entry.sender] += 1
        if entry.created_at:
            months[entry.created_at[:7]] += 1
            oldest = min(oldest or entry.created_at, entry.created_at)
            newest = max(newest or entry.created_at, entry.created_at)
    return Statistics(
        categories=_sort(categories), superseded=superseded,
        sessions=len(sessions), senders=len(senders),
        top_senders=dict(list(_sort(senders).items())[:_SENDERS]),
        timeline=dict(sorted(months.items())), oldest=oldest, newest=newest)


def _unit(connection: sqlite3.Connection, oldest: str | None,
          newest: str | None) -> str:
    if oldest is None or newest is None:
        return "month"
    days = connection.execute(
        "SELECT julianday(?) - julianday(?)",
        (newest[:10], oldest[:10])).fetchone()[0]
    return "week" if days is not None and days <= _WEEKS_DAYS else "month"


def _counts(connection: sqlite3.Connection, by: str, condition: str,
            limit: str = "") -> dict[str, int]:
    return {str(name): number for name, number in connection.execute(
        f"SELECT {by} AS name, count(*) FROM memories WHERE {condition}"
        f" GROUP BY name ORDER BY count(*) DESC, name{limit}")}


def _measure(connection: sqlite3.Connection) -> dict[str, int]:
    """Size by part. An SQLite without dbstat counts what the rows hold,
    which is a little less than the pages they fill."""
    page = read_number(connection, "PRAGMA page_size")
    total = page * read_number(connection, "PRAGMA page_count")
    free = page * read_number(connection, "PRAGMA freelist_count")
    try:
        found = dict(connection.execute(
            f"SELECT {_PART_OF} AS part, sum(pgsize) FROM {_DBSTAT}"
            " LEFT JOIN sqlite_master USING (name)"
            " WHERE aggregate = TRUE GROUP BY part").fetchall())
    except sqlite3.OperationalError:
        found = _estimate_bytes(connection, total - free)
    return {**{part: int(found.get(part, 0)) for part in PARTS},
            "free": free}


def _estimate_bytes(connection: sqlite3.Connection, total: int
               ) -> dict[str, Any]:
    found = {
        "index": "SELECT sum(length(block)) FROM memories_fts_data",
        "vectors": "SELECT (SELECT coalesce(sum(length(embedding)), 0)"
                   " FROM vectors) + (SELECT coalesce(sum(length(bits)), 0)"
                   " FROM vector_shards)",
        "versions": "SELECT sum(length(CAST(content AS BLOB)))"
                    " FROM memory_versions"}
    parts = {part: read_number(connection, query)
             for part, query in found.items()}
    parts["index"] += read_number(
        connection, "SELECT sum(length(CAST(c0 AS BLOB))"
        " + length(CAST(c1 AS BLOB))) FROM memories_fts_content")
    return {**parts, "text": max(total - sum(parts.values()), 0)}


def _sort(numbers: dict[str, int]) -> dict[str, int]:
    return dict(sorted(numbers.items(), key=lambda item: (-item[1], item[0])))
