"""Recall of what was known at a moment, `Filters.as_of`.

A small brain in memory is made of what held then: the memories of today
that are as they were (those that an ordinary search finds best), and the
states that have ended since, which no index holds. The ordinary search
runs over it, by words only: ended states have no vectors.

A memory whose state at that moment is not known any more (it was changed
since, and its history was not kept) is left out.
"""

import heapq
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import Any, NamedTuple

from claw.core.memory import Explanation, Filters, MemoryEntry
from claw.core.value import replace
from claw.memory import recall, rows, schema, times
from claw.memory.filters import bound, conditions
from claw.storage.sqlite import connect
from claw.text.segment import query_terms, words

CANDIDATES = 400  # memories of today that are searched
ENDED = 2_000     # ended states that are searched

Found = list[tuple[MemoryEntry, Explanation]]

# ?1 is the moment. Of two states of a key that both claim it (what was
# undone, an import with times of its own), the one that began later held.
_NOW_THEN = """
{0}.created_at <= ?1 AND {0}.updated_at <= ?1
AND ({0}.superseded_by IS NULL OR {0}.superseded_at > ?1)"""
_ENDED_THEN = """
{0}.created_at <= ?1 AND {0}.updated_at <= ?1 AND {0}.valid_until > ?1"""
_HELD = f"""{_NOW_THEN.format("memories")}
AND NOT EXISTS (
    SELECT 1 FROM memory_versions AS later
    WHERE later.key = memories.key
    AND later.updated_at > memories.updated_at
    AND {_ENDED_THEN.format("later")})"""
_HAD = f"""{_ENDED_THEN.format("memories")}
AND NOT EXISTS (
    SELECT 1 FROM memory_versions AS later
    WHERE later.key = memories.key
    AND (later.updated_at, later.vid) > (memories.updated_at, memories.vid)
    AND {_ENDED_THEN.format("later")})
AND NOT EXISTS (
    SELECT 1 FROM memories AS today
    WHERE today.key = memories.key
    AND today.updated_at >= memories.updated_at
    AND {_NOW_THEN.format("today")})"""
_ADD = ("INSERT INTO memories (rid, id, key, content, category, created_at,"
        " updated_at, session_id, sender, source)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")


class _State(NamedTuple):
    """What a key held: its number in the small brain, and the words."""

    number: int
    entry: MemoryEntry


def search(connection: sqlite3.Connection, query: str, limit: int,
           filters: Filters) -> Found:
    """The best matches among what was known at `filters.as_of`, best
    first; a blank query gives the newest of then, without scores. A date
    is the end of its day. Raises UsageError where it is no time."""
    moment = bound("as_of", filters.as_of or times.now())
    if limit <= 0:
        return []
    if recall.is_blank(query):
        return _newest(connection, moment, limit, filters)
    states = _states(connection, query, moment, filters)
    with closing(connect(":memory:")) as brain:
        _fill(brain, states.values())
        hits = recall.search(brain, query, limit,
                             replace(filters, as_of=None))
    return [_pair(states[hit.rid].entry, hit) for hit in hits]


def _pair(entry: MemoryEntry,
          hit: recall.Hit) -> tuple[MemoryEntry, Explanation]:
    return (rows.scored(entry, hit.score),
            Explanation(entry.key, hit.score, hit.parts))


def _newest(connection: sqlite3.Connection, moment: str, limit: int,
            filters: Filters) -> Found:
    found = [*_today(connection, moment, filters, limit=limit),
             *_ended(connection, moment, filters, limit=limit)]
    found.sort(key=lambda state: (state.entry.updated_at, state.number),
               reverse=True)
    return [(state.entry,
             Explanation(state.entry.key, 0.0, {"method": "newest"}))
            for state in found[:limit]]


def _states(connection: sqlite3.Connection, query: str, moment: str,
            filters: Filters) -> dict[int, _State]:
    """What the query may find, by number."""
    until = moment if filters.until is None \
        else min(moment, bound("until", filters.until))
    hits = recall.search(connection, query, CANDIDATES,
                         replace(filters, as_of=None, until=until))
    found = [
        *_today(connection, moment, filters, "AND memories.rid IN ("
                + ",".join(str(hit.rid) for hit in hits) + ")"),
        # No index holds what has been superseded since.
        *_best(query, _today(connection, moment, filters,
                             "AND memories.superseded_by IS NOT NULL")),
        *_best(query, _ended(connection, moment, filters))]
    return {state.number: state for state in found}


def _today(connection: sqlite3.Connection, moment: str, filters: Filters,
           more: str = "", *, limit: int = -1) -> Iterator[_State]:
    """Rows that hold what they held then."""
    narrowed, values = _narrowed(filters)
    found = connection.execute(
        f"SELECT memories.rid, {rows.COLUMNS} FROM memories"
        f" WHERE {_HELD} {more}{narrowed}"
        " ORDER BY memories.updated_at DESC, memories.rid DESC LIMIT ?",
        [moment, *values, limit])
    return map(_state, found)


def _ended(connection: sqlite3.Connection, moment: str, filters: Filters,
           *, limit: int = -1) -> Iterator[_State]:
    """States that held then and have ended since, numbered above the
    rows."""
    top = connection.execute("SELECT max(rid) FROM memories").fetchone()[0]
    narrowed, values = _narrowed(filters)
    found = connection.execute(
        f"SELECT memories.vid + {top or 0}, {rows.COLUMNS}"
        f" FROM memory_versions AS memories WHERE {_HAD}{narrowed}"
        " ORDER BY memories.updated_at DESC, memories.vid DESC LIMIT ?",
        [moment, *values, limit])
    return map(_state, found)


def _narrowed(filters: Filters) -> tuple[str, list[Any]]:
    found, values = conditions(replace(filters, as_of=None), live=False)
    return "".join(f" AND {condition}" for condition in found), values


def _state(row: tuple[Any, ...]) -> _State:
    return _State(row[0], replace(rows.entry(row[1:]), superseded_by=None))


def _best(query: str, states: Iterable[_State]) -> list[_State]:
    """At most ENDED states, those that hold most words of the query; of
    equal ones the newest. `states` come newest first."""
    waiting = iter(states)
    first = list(islice(waiting, ENDED + 1))
    if len(first) <= ENDED:
        return first
    pieces = [_start(term) for term in query_terms(query)]

    def held(numbered: tuple[int, _State]) -> tuple[int, int]:
        place, state = numbered
        text = " ".join(words(f"{state.entry.key} {state.entry.content}"))
        return sum(piece in text for piece in pieces), -place

    return [state for _, state in heapq.nlargest(
        ENDED, enumerate(chain(first, waiting)), key=held)]


def _start(term: str) -> str:
    """The part of a term that its other forms mostly share."""
    return term[:max(4, len(term) - 3)] if term.isascii() else term


def _fill(brain: sqlite3.Connection, states: Iterable[_State]) -> None:
    brain.execute("BEGIN")
    schema.ensure(brain)
    brain.executemany(_ADD, (
        (number, str(number), entry.key, entry.content, entry.category,
         entry.created_at, entry.updated_at, entry.session_id, entry.sender,
         entry.source) for number, entry in states))
    schema.reindex(brain)
    brain.execute("COMMIT")
