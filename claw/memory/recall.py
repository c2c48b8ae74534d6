"""Recall: candidates from the index and the vectors, scored in scoring.py.

The word index gives the rows with the best BM25, the vectors those with the
nearest meaning; every filter is part of both searches. Scores are made anew
for all of them from their segmented text (a row of the index is read by its
id, so this costs the same in a large store). LIKE is asked only when nothing
else knows anything: hybrid, words, pieces.
"""

import math
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from claw.core.memory import Filters
from claw.memory.filters import conditions
from claw.memory.neighbours import neighbours
from claw.memory.pieces import find_pieces
from claw.memory.scoring import (
    MOSTLY,
    NEAR,
    QUESTION,
    SENDER,
    Row,
    Term,
    Words,
    asks,
    merge,
    nearness,
    score_words,
    speaks,
    spread,
    term_of,
    weight,
)
from claw.text.segment import (
    is_han_character,
    query_terms,
    spaceless_share,
    tokens,
)
from claw.text.stem import stem

# Candidates, and how many of the best share with their neighbours: in a
# small store reading many costs nothing, in a large one it would cost most.
SMALL = 20_000
POOL_SMALL, SPREADING_SMALL = 400, 100
POOL, SPREADING = 120, 50
ENOUGH = 20
MAX_TERMS = 64
# Rows that may be ranked; beyond, those that hold a rare word (SINGLES in
# all) or two words at once (PAIRS expected, of the PAIRED rarest).
BUDGET = 8_000
SINGLES = 2_000
PAIRS = 3_000
PAIRED = 12
# Bends coverage so that most questions that have an answer pass 0.4 and
# most that have none do not (measured across conversations).
_CURVE = 0.85
_UNSURE = 0.05  # what is left of confidence where nothing tells much


class Hit(NamedTuple):
    """A row found, its score and how that was made."""

    rid: int
    score: float
    parts: dict[str, float | str]


class Nearby(Protocol):
    """Rows near a meaning: (row, cosine) best first, and the mean cosine
    of the store."""

    @property
    def hits(self) -> Sequence[tuple[int, float]]: ...

    @property
    def mean(self) -> float: ...


class Meaning(Protocol):
    """A question as a vector, in front of the vectors of a store."""

    vector_weight: float
    keyword_weight: float
    is_multilingual: bool

    def nearest(self, pool: int, allowed: Collection[int] | None
                ) -> Nearby: ...

    def cosines(self, rids: Collection[int]) -> dict[int, float]: ...


def is_blank(query: str) -> bool:
    """Whether a query asks for the newest."""
    return query.strip() in ("", "*")


def terms_of(query: str) -> tuple[Term, ...]:
    """The terms of a query; "word*" gives a prefix. Words of one stem are
    one term."""
    found: dict[tuple[str, ...], Term] = {}
    plain: list[str] = []
    for word in query.split():
        own = tokens(word) if word.endswith("*") else []
        if own:
            start = own.pop()
            found[start, "*"] = Term(start, (start,), True)
            plain += own
        else:
            plain.append(word)
    for word in query_terms(" ".join(plain), MAX_TERMS):
        term = term_of(word)
        found.setdefault(term.forms[:1], term)
    return tuple(found.values())[:MAX_TERMS]


def search(connection: sqlite3.Connection, query: str, limit: int,
           filters: Filters, meaning: Meaning | None = None) -> list[Hit]:
    """The best hits for a query that is not blank, best first, ties to
    the newest update."""
    if meaning is not None and not meaning.is_multilingual \
            and spaceless_share(query) > MOSTLY:
        meaning = None
    found = _Recall(connection, query, filters, meaning).ranked(limit)
    if found is not None:
        return found
    return [Hit(*piece)
            for piece in find_pieces(connection, query, limit, filters)]


class _Recall:
    """One search: what it asks and what it has read so far."""

    def __init__(self, connection: sqlite3.Connection, query: str,
                 filters: Filters, meaning: Meaning | None) -> None:
        self._connection = connection
        self._filters = filters
        self._meaning = meaning
        self._query = query
        self._asked = query.lower()
        self._stems = frozenset(map(stem, tokens(query)))
        self._terms = terms_of(query)
        self._rows: dict[int, Row] = {}
        self._words: dict[int, Words] = {}
        self._cosines: dict[int, float] = {}
        self._mean = 0.0
        self._spreading = SPREADING

    def ranked(self, limit: int) -> list[Hit] | None:
        """The best rows; None where neither words nor meaning find any."""
        if not self._candidates(limit):
            return None
        base = self._merged()
        gained = self._from_neighbours(base)
        final = {rid: self._final(row, base.get(rid, 0.0)
                                  + gained.get(rid, 0.0))
                 for rid, row in self._rows.items()}
        order = sorted((rid for rid in final if final[rid] > 0),
                       key=lambda rid: -final[rid])[:limit]
        best = final[order[0]] if order else 1.0
        sure = self._confidence(order)
        # The root keeps what stands close behind a good answer above the
        # threshold; the order is the same.
        return [Hit(rid, min(1.0, sure * math.sqrt(final[rid] / best)),
                    self._parts(rid, gained.get(rid, 0.0)))
                for rid in order]

    def _candidates(self, limit: int) -> bool:
        """Read and score rows that may answer; whether there are any."""
        total = self._connection.execute(
            "SELECT max(rid) FROM memories").fetchone()[0] or 0
        holders = [_holders(self._connection, term) for term in self._terms]
        is_small = total < SMALL
        self._spreading = SPREADING_SMALL if is_small else SPREADING
        pool = max(POOL_SMALL if is_small else POOL, 2 * limit)
        rids = _word_candidates(self._connection, self._terms, holders, pool,
                                total, self._filters)
        if self._meaning is not None:
            near = self._meaning.nearest(
                pool, _allowed(self._connection, self._filters))
            self._mean = near.mean
            rids += [rid for rid, cosine in near.hits if cosine > near.mean]
        self._rows = _rows(self._connection, rids, self._filters)
        weights = [weight(term, held, total) for term, held
                   in zip(self._terms, holders, strict=True)]
        self._words = score_words(list(self._rows.values()), self._terms,
                                  weights)
        if self._meaning is not None:
            self._cosines = self._meaning.cosines(self._rows.keys())
        return bool(rids)

    def _merged(self) -> dict[int, float]:
        """Words and meaning as one score."""
        meaning = self._meaning
        words = {rid: found.bm25 for rid, found in self._words.items()}
        if meaning is None:
            best = max(words.values(), default=0.0) or 1.0
            return {rid: value / best for rid, value in words.items()}
        # A question in two languages is half a question to a model that
        # knows one of them; a text in the other tells it nothing.
        known = (1.0 if meaning.is_multilingual
                 else 1 - spaceless_share(self._query))
        usable = {rid: cosine for rid, cosine in self._cosines.items()
                  if meaning.is_multilingual or not self._rows[rid].is_cjk}
        return merge(words, usable, self._mean,
                     vector_weight=meaning.vector_weight * known,
                     keyword_weight=meaning.keyword_weight)

    def _from_neighbours(self, base: dict[int, float]) -> dict[int, float]:
        """What rows gain from those beside them; rows that come in only by
        that are read."""
        top = sorted((rid for rid in base if base[rid] > 0),
                     key=lambda rid: -base[rid])[:self._spreading]
        gained = spread(base, neighbours(self._connection, top), NEAR)
        self._rows.update(_rows(self._connection,
                                gained.keys() - self._rows.keys(),
                                self._filters))
        return gained

    def _final(self, row: Row, value: float) -> float:
        if speaks(row, self._asked, self._stems):
            value *= SENDER
        return value * QUESTION if asks(row.content) else value

    def _confidence(self, order: Sequence[int]) -> float:
        """How well the best rows answer: the share of the question's weight
        that one of them covers, or how near its meaning is."""
        covered = max((self._words[rid].coverage for rid in order
                       if rid in self._words), default=0.0)
        near = max((nearness(self._cosines[rid], self._mean)
                    for rid in order if rid in self._cosines), default=0.0)
        return max(math.pow(covered, _CURVE), near, _UNSURE)

    def _parts(self, rid: int, gained: float) -> dict[str, float | str]:
        """What a score was made of."""
        parts: dict[str, float | str] = {"method": "neighbours"}
        words = self._words.get(rid)
        if words is not None and words.held:
            missed = [term.text for i, term in enumerate(self._terms)
                      if i not in words.held]
            parts = {"method": "words", "bm25": words.bm25,
                     "coverage": words.coverage,
                     "matched": " ".join(self._terms[i].text
                                         for i in words.held)}
            if missed:
                parts["missed"] = " ".join(missed)
        if rid in self._cosines:
            parts["method"] = ("words and meaning" if "bm25" in parts
                               else "meaning")
            parts["cosine"] = self._cosines[rid]
        if gained:
            parts["neighbours"] = gained
        if speaks(self._rows[rid], self._asked, self._stems):
            parts["speaker"] = SENDER
        if asks(self._rows[rid].content):
            parts["question"] = QUESTION
        return parts


def _holders(connection: sqlite3.Connection, term: Term) -> int:
    """How many rows hold a term."""
    found: int = connection.execute(
        "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?",
        (term.match,)).fetchone()[0]
    return found


def _word_candidates(connection: sqlite3.Connection, terms: Sequence[Term],
                     holders: Sequence[int], pool: int, total: int,
                     filters: Filters) -> list[int]:
    """Rows that hold any term, the best BM25 of them.

    Single Han characters are in every other row: they bring candidates
    only where the pairs find too few, and count in every score.
    """
    known = sorted(((held, term) for held, term
                    in zip(holders, terms, strict=True) if held),
                   key=lambda pair: pair[0])
    pairs = [pair for pair in known if not is_han_character(pair[1].text)]
    rids: list[int] = []
    for chosen in [pairs, known][len(pairs) == len(known):]:
        if chosen and len(rids) < min(ENOUGH, pool):
            rids = _matching(connection, chosen, pool, total, filters)
    return rids


def _matching(connection: sqlite3.Connection,
              known: Sequence[tuple[int, Term]], pool: int, total: int,
              filters: Filters) -> list[int]:
    found, values = conditions(filters, live=False)
    # CROSS JOIN: the index is read first, whatever the planner thinks.
    join = (" CROSS JOIN memories ON memories.rid = memories_fts.rowid"
            if found else "")
    narrowed = "".join(f" AND {condition}" for condition in found)
    # One common word tells its rows from each other hardly at all, and to
    # rank them all takes longer than anything else: the newest will do.
    order = ("memories_fts.rowid DESC"
             if len(known) == 1 and known[0][0] > BUDGET
             else "bm25(memories_fts)")
    return [rid for (rid,) in connection.execute(
        f"SELECT memories_fts.rowid FROM memories_fts{join}"
        f" WHERE memories_fts MATCH ?{narrowed} ORDER BY {order} LIMIT ?",
        (_expression(known, total), *values, pool))]


def _expression(known: Sequence[tuple[int, Term]], total: int) -> str:
    """What candidates must hold, the terms given rarest first.

    Any term, where few rows hold any. Else a rare one, or two others at
    once: of a million rows a few thousand are ranked, and the best fifty
    are nearly always the same.
    """
    if len(known) == 1 or sum(held for held, _ in known) <= BUDGET:
        return " OR ".join(term.match for _, term in known)
    left, rare = SINGLES, 0
    while rare < len(known) and known[rare][0] <= left:
        left -= known[rare][0]
        rare += 1
    parts = [term.match for _, term in known[:rare]]
    both = sorted((one[0] * other[0] // (total or 1), i, j)
                  for i, one in enumerate(known[:PAIRED])
                  for j, other in enumerate(known[:PAIRED])
                  if i < j and j >= rare)
    left = PAIRS
    for expected, i, j in both:
        if parts and expected > left:
            break
        left -= expected
        parts.append(f"(({known[i][1].match}) AND ({known[j][1].match}))")
    return " OR ".join(parts)


def _rows(connection: sqlite3.Connection, rids: Iterable[int],
          filters: Filters) -> dict[int, Row]:
    """Live rows of these ids that the filters let through, newest update
    first: the order of ties."""
    found, values = conditions(filters)
    wanted = ",".join(map(str, dict.fromkeys(rids)))
    narrowed = "".join(f" AND {condition}" for condition in found)
    return {row[0]: Row(*row)
            for row in connection.execute(
        "SELECT memories.rid, memories_fts.key, memories_fts.content,"
        " memories.content, memories.sender FROM memories"
        " CROSS JOIN memories_fts ON memories_fts.rowid = memories.rid"
        f" WHERE memories.rid IN ({wanted}){narrowed}"
        " ORDER BY memories.updated_at DESC, memories.rid DESC", values)}


def _allowed(connection: sqlite3.Connection, filters: Filters
             ) -> Collection[int] | None:
    """The rows that filters leave over; None where nothing narrows."""
    found, values = conditions(filters, live=False)
    if not found:
        return None
    return [rid for (rid,) in connection.execute(
        f"SELECT rid FROM memories WHERE {' AND '.join(found)}", values)]
