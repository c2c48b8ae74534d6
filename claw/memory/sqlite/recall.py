"""Recall: candidates from the index and the vectors, scored in scoring.py.

The word index gives the rows with the best BM25, the vectors those with the
nearest vectors; every filter is part of both searches. Scores are made anew
for all of them from their segmented text (a row of the index is read by its
id, so this costs the same in a large store). LIKE is asked only when nothing
else knows anything: hybrid, words, pieces.
"""

import re
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from heapq import nlargest
from typing import Protocol

import msgspec

from claw.core.memory import Filters
from claw.memory.search.filters import conditions, where
from claw.memory.search.periods import narrow
from claw.memory.search.ranking import (
    Hit,
    Ranking,
    Weighed,
    knows,
    score_pieces,
    split_pieces,
)
from claw.memory.search.scoring import (
    HEAD,
    MARKED,
    Pieces,
    Row,
    Term,
    count_senders,
    sample_rids,
    weigh,
    weight,
)
from claw.memory.sqlite.neighbours import neighbours
from claw.memory.sqlite.rows import IN_IDS, write_ids
from claw.memory.sqlite.schema import read_number
from claw.text.segment import is_han_character

# Candidates, and how many of the best share with their neighbours: in a
# small store reading many costs nothing, in a large one it would cost most.
SMALL = 3_000
POOL_SMALL, SPREADING_SMALL = 150, 100
POOL, SPREADING = 80, 25
ENOUGH = 20
# Rows that BM25 may rank; beyond, those are looked at that hold a rare word
# (SINGLES in all) or two words at once (PAIRS expected, of the PAIRED
# rarest words).
BUDGET_SMALL, BUDGET = 10_000, 1_000
SINGLES = 500
PAIRS = 800
PAIRED = 6
MOST_ALLOWED = 50_000
# How much a candidate of a small store loses by its length: BM25 with b = .45
# would have .3.
_LONG = 0.3
FEW = 1_000  # so many rows are all read, whatever they hold
# In a large store a word that one row in so many holds is common, and how
# common is not counted.
COMMON = 12
_UNSEEN = 3


class Nearby(Protocol):
    """Rows near a question: (row, cosine) best first, and the mean cosine
    of the store."""

    @property
    def hits(self) -> Sequence[tuple[int, float]]: ...

    @property
    def mean(self) -> float: ...


class QueryEmbedding(Weighed, Protocol):
    """A question as a vector, in front of the vectors of a store."""

    def nearest(self, pool: int, allowed: Collection[int] | None
                ) -> Nearby: ...

    def cosines(self, rids: Collection[int]) -> dict[int, float]: ...


def search(connection: sqlite3.Connection, query: str, limit: int,
           filters: Filters, embedding: QueryEmbedding | None = None
           ) -> list[Hit]:
    """The best hits for a query that is not blank, best first, ties to
    the newest update."""
    if embedding is not None and not knows(embedding, query):
        embedding = None
    found = _Recall(connection, query, filters, embedding)
    return (found.rank(limit) if found.read(limit)
            else _find_pieces(connection, query, limit, filters))


class _Recall(Ranking):
    """One search in brain.db."""

    def __init__(self, connection: sqlite3.Connection, query: str,
                 filters: Filters, embedding: QueryEmbedding | None) -> None:
        super().__init__(query, embedding)
        self._connection = connection
        self._filters = filters
        self._embedding = embedding

    def read(self, limit: int) -> bool:
        """Find and read what may answer; whether there is anything."""
        total = read_number(self._connection,
                            "SELECT max(rid) FROM memories")
        is_small = total < SMALL
        most = total if is_small else max(BUDGET, total // COMMON)
        # How many rows hold each term; at `most` counting ends.
        holders = [self._count(term, most) for term in self.terms]
        said = count_senders(
            _senders(self._connection, total), self.terms, total)
        in_pieces = self._count(MARKED, total)
        share = in_pieces / (total or 1)
        cut = self.choose_pieces(holders, share)
        pieces = Pieces(share, {
            piece.text: self._count(piece, most) for piece in cut})
        weights = weigh(self.terms, [
            min(total, sum(held)) for held in zip(holders, said, strict=True)
            ], pieces, total)
        self.spreading = SPREADING_SMALL if is_small else SPREADING
        pool = max(POOL_SMALL if is_small else POOL, 2 * limit)
        known = _list_known(self.terms, holders, weights)
        parts = _list_known(cut, held := list(pieces.holders.values()), [
            weight(*one, total) for one in zip(cut, held, strict=True)])
        find = partial(_word_candidates, self._connection, pool=pool,
                       total=total, filters=self._filters)
        few = _allowed(self._connection, self._filters, FEW)
        rids = few if few is not None and (known or parts) else [
            rid for some in (known, parts)
            for rid in find(some, enough=max(ENOUGH, limit))]
        some = " OR ".join(one.term.match for one in known)
        for marks in self.intent.marks if known else ():
            rids += _rids(self._connection, " AND ".join(
                f"({match})" for match in (
                    *(mark.match for mark in marks), some)),
                self._filters, pool)
        for period in self.periods:
            inside = narrow(self._filters, period)
            rids += _newest(self._connection, inside, SPREADING)
            if not is_small:
                rids += find(known, enough=limit, filters=inside)
        mean = 0.0
        if self._embedding is not None:
            allowed = _allowed(self._connection, self._filters, MOST_ALLOWED)
            # Where rows are left out only after the search, it reaches out.
            is_late = allowed is None and self._filters != Filters()
            near = self._embedding.nearest(pool * (4 if is_late else 1),
                                         allowed)
            # Few vectors tell little of what is usual.
            mean = near.mean * total / (total + _UNSEEN)
            rids += [rid for rid, cosine in near.hits if cosine > mean]
        self.take(rids, weights, mean, pieces, total)
        return self.has_match

    def _count(self, term: Term, most: int) -> int:
        """How many rows hold a term, at most one more than `most`."""
        return read_number(
            self._connection, "SELECT count(*) FROM (SELECT 1 FROM"
            " memories_fts WHERE memories_fts MATCH ? LIMIT ?)",
            term.match, min(most, 2**62) + 1)

    def read_rows(self, rids: Collection[int], *,
                  words: bool) -> dict[int, Row]:
        return _rows(self._connection, rids, self._filters, words=words)

    def beside(self, rids: Sequence[int]) -> Iterable[tuple[int, int, int]]:
        return neighbours(self._connection, rids)

    def cosines(self, rids: Collection[int]) -> dict[int, float]:
        return {} if self._embedding is None else self._embedding.cosines(rids)


class _Known(msgspec.Struct, frozen=True):
    """A term that some rows hold: how many, and what it weighs."""

    held: int
    weight: float
    term: Term


def _list_known(terms: Sequence[Term], holders: Sequence[int],
                weights: Sequence[float]) -> list[_Known]:
    return [_Known(*one) for one in zip(holders, weights, terms, strict=True)
            if one[0]]


def _word_candidates(connection: sqlite3.Connection, known: Sequence[_Known],
                     *, pool: int, enough: int, total: int, filters: Filters
                     ) -> list[int]:
    """Rows that hold any of the terms, the best of them.

    Single Han characters are in every other row: they bring candidates
    only where the pairs find too few, and count in every score.
    """
    known = sorted(known, key=lambda one: one.held)
    pairs = [one for one in known if not is_han_character(one.term.text)]
    budget = BUDGET_SMALL if total < SMALL else BUDGET
    rids: list[int] = []
    for chosen in [pairs, known][len(pairs) == len(known):]:
        if not chosen or len(rids) >= enough:
            continue
        if len(chosen) == 1 and chosen[0].held > budget:
            # One common word hardly tells its rows from each other, and
            # ranking all of them takes long: the newest will do.
            rids = _rids(connection, chosen[0].term.match, filters, pool)
        else:
            rids = _by_terms(connection, chosen, pool, enough, total, filters,
                             budget)
    return rids


def _by_terms(connection: sqlite3.Connection, known: Sequence[_Known],
              pool: int, enough: int, total: int, filters: Filters,
              budget: int) -> list[int]:
    """Rows that hold a rare term, or two others at once, by the weight of
    what they hold; ties to the newest. Terms are given rarest first.

    BM25 would read every row that holds any term: of a million rows a few
    thousand are looked at instead, and of the best fifty by BM25 nearly
    all are among them.
    """
    held: dict[int, int] = {}  # row -> bits of the terms
    left = budget if sum(one.held for one in known) <= budget else SINGLES
    rare = 0
    while rare < len(known) and known[rare].held <= left:
        left -= known[rare].held
        for rid in _rids(connection, known[rare].term.match, filters):
            held[rid] = held.get(rid, 0) | 1 << rare
        rare += 1
    both = sorted((one.held * other.held // (total or 1), i, j)
                  for j, other in enumerate(known[:PAIRED]) if j >= rare
                  for i, one in enumerate(known[:j]))
    left = PAIRS
    for expected, i, j in both:
        if held and expected > left:
            break
        left -= expected
        bits = 1 << i | 1 << j
        for rid in _rids(connection, f"({known[i].term.match}) AND"
                         f" ({known[j].term.match})", filters):
            held[rid] = held.get(rid, 0) | bits
    chosen = _choose(connection, known, held, pool, total)
    if len(chosen) < enough:  # rows that hold but one common word
        chosen = list(dict.fromkeys([*chosen, *_rids(
            connection, " OR ".join(one.term.match for one in known),
            filters, pool)]))[:pool]
    return chosen


def _choose(connection: sqlite3.Connection, known: Sequence[_Known],
            held: dict[int, int], pool: int, total: int) -> list[int]:
    """The best of the rows that hold these terms (row -> bits), at most
    `pool`. In a small store a long row is worth less: it holds much by
    chance."""
    if len(held) <= pool:
        return list(held)
    worth = {bits: sum(one.weight for i, one in enumerate(known)
                       if bits >> i & 1) for bits in set(held.values())}
    if total < SMALL:
        lengths = _read_lengths(connection)
        mean = sum(lengths.values()) / (len(lengths) or 1) or 1.0
        values = {rid: worth[bits] / (1 + _LONG * lengths.get(rid, 0) / mean)
                  for rid, bits in held.items()}
        return nlargest(pool, held, key=lambda rid: (values[rid], rid))
    return nlargest(pool, held, key=lambda rid: (worth[held[rid]], rid))


def _read_lengths(connection: sqlite3.Connection) -> dict[int, int]:
    """How many tokens each row holds, as the index counts them."""
    return {rid: _count_tokens(sizes) for rid, sizes in connection.execute(
        "SELECT id, sz FROM memories_fts_docsize")}


def _count_tokens(sizes: bytes) -> int:
    """The sum of the numbers that FTS5 keeps for a row, one a column, as
    varints (sqlite.org/fileformat2.html)."""
    total = number = 0
    for byte in sizes:
        number = number << 7 | byte & 127
        if byte < 128:
            total += number
            number = 0
    return total


_NEWEST = " ORDER BY memories_fts.rowid DESC LIMIT ?"


def _rids(connection: sqlite3.Connection, match: str, filters: Filters,
          newest: int | None = None) -> list[int]:
    """Rows that match and that the filters let through; all, or so many
    of the newest."""
    found, values = conditions(filters, live=False)
    # CROSS JOIN: the index is read first, whatever the planner thinks.
    join = (" CROSS JOIN memories ON memories.rid = memories_fts.rowid"
            if found else "")
    narrowed = "".join(f" AND {condition}" for condition in found)
    return [rid for (rid,) in connection.execute(
        f"SELECT memories_fts.rowid FROM memories_fts{join}"
        f" WHERE memories_fts MATCH ?{narrowed}"
        f"{'' if newest is None else _NEWEST}",
        (match, *values) if newest is None else (match, *values, newest)
    ).fetchall()]


def _rows(connection: sqlite3.Connection, rids: Iterable[int],
          filters: Filters, *, words: bool) -> dict[int, Row]:
    """Live rows of these ids that the filters let through, newest update
    first: the order of ties. `words`: with their segmented text."""
    found, values = conditions(filters)
    narrowed = "".join(f" AND {condition}" for condition in found)
    segmented = "memories_fts.key, memories_fts.content" if words else "'', ''"
    joined = (" CROSS JOIN memories_fts ON memories_fts.rowid = memories.rid"
              if words else "")
    return {row[0]: Row(*row) for row in connection.execute(
        f"SELECT memories.rid, {segmented}, memories.sender,"
        f" substr(memories.content, 1, {HEAD}), memories.created_at"
        f" FROM memories{joined}"
        f" WHERE memories.rid {IN_IDS}{narrowed}"
        " ORDER BY memories.updated_at DESC, memories.rid DESC",
        (write_ids(rids), *values))}


def _senders(connection: sqlite3.Connection, last: int
             ) -> list[str | None]:
    """Who said a sample of the rows."""
    return [sender for (sender,) in connection.execute(
        f"SELECT sender FROM memories WHERE rid {IN_IDS}",
        (write_ids(sample_rids(last)),))]


def _newest(connection: sqlite3.Connection, filters: Filters, limit: int
            ) -> list[int]:
    """The newest rows that the filters let through."""
    found, values = conditions(filters)
    return [rid for (rid,) in connection.execute(
        f"SELECT rid FROM memories{where(found)}"
        " ORDER BY created_at DESC LIMIT ?", (*values, limit))]


def _allowed(connection: sqlite3.Connection, filters: Filters, most: int
             ) -> list[int] | None:
    """The rows that filters leave over; None where nothing narrows, or
    leaves more than `most`: a list of a million rows helps nobody."""
    found, values = conditions(filters, live=False)
    if not found:
        return None
    rids = [rid for (rid,) in connection.execute(
        f"SELECT rid FROM memories WHERE {' AND '.join(found)}"
        f" LIMIT {most + 1}", values)]
    return rids if len(rids) <= most else None


def _find_pieces(connection: sqlite3.Connection, query: str, limit: int,
                 filters: Filters) -> list[Hit]:
    """The last resort: rows that hold pieces of the query as they are
    written, by the share of pieces; every row is read."""
    pieces = split_pieces(query.replace("\0", " "))
    if not pieces:
        return []
    # LIKE ends at a NUL; to look behind one costs as much again.
    test = "content LIKE ? ESCAPE '\\' OR key LIKE ? ESCAPE '\\'"
    behind = f"{test} OR instr(content, ?) OR instr(key, ?)"
    count, count_behind = (" + ".join([f"({one})"] * len(pieces))
                           for one in (test, behind))
    values: list[str] = []
    values_behind: list[str] = []
    for piece in pieces:
        pattern = re.sub(r"([\\%_])", r"\\\1", piece)
        values += [f"%{pattern}%"] * 2
        values_behind += [*values[-2:], piece, piece]
    found, narrowing = conditions(filters)
    return [score_pieces(rid, held, len(pieces))
            for rid, held in connection.execute(
        "SELECT rid, held FROM (SELECT rid, updated_at, CASE"
        f" WHEN instr(content || key, char(0)) THEN {count_behind}"
        f" ELSE {count} END AS held"
        f" FROM memories{where(found)}) WHERE held > 0"
        " ORDER BY held DESC, updated_at DESC, rid DESC LIMIT ?",
        (*values_behind, *values, *narrowing, limit))]
