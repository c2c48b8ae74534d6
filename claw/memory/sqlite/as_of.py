"""Recall of what was known at a moment, `Filters.as_of`.

A small brain in memory is made of what held then: the memories of today
that are as they were (those that an ordinary search finds best), and the
states that have ended since, which no index holds. The ordinary search
runs over it, by words only: ended states have no vectors.

A memory whose state at that moment is not known any more (it was changed
since, and its history was not kept) is left out; `count_unknown` says how
many that are.
"""

import heapq
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import Any, NamedTuple

from claw.core.memory import Filters, MemoryEntry
from claw.core.value import replace
from claw.memory import times
from claw.memory.search.entries import Found, explain_newest
from claw.memory.search.filters import bound, conditions
from claw.memory.search.ranking import is_blank
from claw.memory.sqlite import recall, rows, schema
from claw.storage.sqlite import connect
from claw.text.segment import query_terms, words

CANDIDATES = 400  # memories of today that are searched
ENDED = 2_000     # ended states that are searched

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
# Made before, changed since, and no state of then.
_UNKNOWN = f"""
SELECT count(*) FROM memories
WHERE memories.created_at <= ?1 AND memories.updated_at > ?1
AND NOT EXISTS (
    SELECT 1 FROM memory_versions AS known WHERE known.key = memories.key
    AND {_ENDED_THEN.format("known")})"""
# A state's number is its id; what superseded it came later.
_NAMES = ("rid", *schema.COLUMNS)
_ADD = (f"INSERT INTO memories ({', '.join(_NAMES)})"
        f" VALUES ({', '.join(f':{name}' for name in _NAMES)})")


class _State(NamedTuple):
    """What a key held: its number in the small brain, and the words."""

    number: int
    entry: MemoryEntry


def search(connection: sqlite3.Connection, query: str, limit: int,
           filters: Filters) -> Found:
    """The best matches among what was known at `filters.as_of`, best
    first; a blank query gives the newest of then, without scores. A date
    is the end of its day. Raises UsageError where it is no time."""
    moment = bound("as_of", filters.as_of or times.now(), end=True)
    if limit <= 0:
        return []
    if is_blank(query):
        return _newest(connection, moment, limit, filters)
    states = _states(connection, query, moment, filters)
    with closing(connect(":memory:")) as brain:
        brain.execute("BEGIN")
        schema.ensure(brain)
        brain.executemany(_ADD, (
            {**vars(entry), "rid": number, "id": str(number)}
            for number, entry in states.values()))
        schema.reindex(brain)
        brain.execute("COMMIT")
        hits = recall.search(brain, query, limit,
                             replace(filters, as_of=None))
    return [hit.explain(states[hit.rid].entry) for hit in hits]


def _newest(connection: sqlite3.Connection, moment: str, limit: int,
            filters: Filters) -> Found:
    found = [*_today(connection, moment, filters, limit=limit),
             *_ended(connection, moment, filters, limit=limit)]
    found.sort(key=lambda state: (state.entry.updated_at, state.number),
               reverse=True)
    return [explain_newest(state.entry) for state in found[:limit]]


def _states(connection: sqlite3.Connection, query: str, moment: str,
            filters: Filters) -> dict[int, _State]:
    """What the query may find, by number."""
    until = moment if filters.until is None \
        else min(moment, bound("until", filters.until, end=True))
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
    narrowed, values = _narrow(filters)
    return map(_read_state, connection.execute(
        f"SELECT memories.rid, {rows.SELECTED} FROM memories"
        f" WHERE {_HELD} {more}{narrowed}"
        " ORDER BY memories.updated_at DESC, memories.rid DESC LIMIT ?",
        [moment, *values, limit]))


def _ended(connection: sqlite3.Connection, moment: str, filters: Filters,
           *, limit: int = -1) -> Iterator[_State]:
    """States that held then and have ended since, numbered above the
    rows."""
    top = schema.read_number(connection, "SELECT max(rid) FROM memories")
    narrowed, values = _narrow(filters)
    return map(_read_state, connection.execute(
        f"SELECT memories.vid + {top}, {rows.SELECTED}"
        f" FROM memory_versions AS memories WHERE {_HAD}{narrowed}"
        " ORDER BY memories.updated_at DESC, memories.vid DESC LIMIT ?",
        [moment, *values, limit]))


def _narrow(filters: Filters) -> tuple[str, list[Any]]:
    found, values = conditions(replace(filters, as_of=None), live=False)
    return "".join(f" AND {condition}" for condition in found), values


def _read_state(row: tuple[Any, ...]) -> _State:
    return _State(row[0], replace(rows.read_entry(row[1:]),
                                  superseded_by=None))


def count_unknown(connection: sqlite3.Connection, moment: str) -> int:
    """How many memories there were at a moment (RFC 3339) of which is not
    known any more what they said."""
    return schema.read_number(connection, _UNKNOWN,
                              bound("as_of", moment, end=True))


def _best(query: str, states: Iterable[_State]) -> list[_State]:
    """At most ENDED states, those that hold most words of the query; of
    equal ones the newest. `states` come newest first."""
    waiting = iter(states)
    first = list(islice(waiting, ENDED + 1))
    if len(first) <= ENDED:
        return first
    # The part of a term that its other forms mostly share.
    pieces = [term[:max(4, len(term) - 3)] if term.isascii() else term
              for term in query_terms(query)]

    def held(numbered: tuple[int, _State]) -> tuple[int, int]:
        place, state = numbered
        text = " ".join(words(f"{state.entry.key} {state.entry.content}"))
        return sum(piece in text for piece in pieces), -place

    return [state for _, state in heapq.nlargest(
        ENDED, enumerate(chain(first, waiting)), key=held)]
