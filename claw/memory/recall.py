"""Keyword recall: BM25 candidates, scored in [0, 1].

FTS5 picks the candidates. Its own idf is useless in a small store (it
falls to 1e-6 for a word that half the rows hold), so the score is made
here: for each term, FTS5's BM25 of that term alone over its best value
among the candidates, weighted with a smoothed idf. The sum over its best
value ("bm25") times the share of the query's weight that the row covers
("coverage") is the score: a row that answers a small part of the question
stays low even when it is the best there is.
"""

import math
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from claw.core.memory import Filters
from claw.memory.filters import conditions, where
from claw.text.segment import (
    clean,
    is_han_character,
    is_spaceless,
    query_terms,
    tokens,
)
from claw.text.stopwords import PARTICLES, WEAK_WORDS
from claw.text.variants import variants

POOL = 100
ENOUGH = 20
MAX_TERMS = 64
MAX_LIKE_WORDS = 8
MAX_LIKE_CHARACTERS = 1000
LIKE_CEILING = 0.5
# How much a term counts beside a word: a single Han character says little,
# an unknown pair of characters is mostly the border of two words, and what
# a question is made of ("name", "day") rarely stands in the answer.
_CHARACTER_WEIGHT = 0.3
_UNKNOWN_PAIR_WEIGHT = 0.3
_WEAK_WEIGHT = 0.3
# A small store can't tell which words are rare: as if it had so many more.
_UNSEEN_ROWS = 3


class Term(NamedTuple):
    """A segmented word to look for; `prefix`: as the start of a word,
    else also in the other forms it is written in."""

    text: str
    prefix: bool = False

    @property
    def match(self) -> str:
        """As FTS5 takes it. Segmented text holds no quotes or NUL."""
        if self.prefix:
            return f'"{self.text}"*'
        return " OR ".join(f'"{form}"'
                           for form in (self.text, *variants(self.text)))


class Hit(NamedTuple):
    """A row found, its score and how that was made."""

    rid: int
    score: float
    parts: dict[str, float | str]


def is_blank(query: str) -> bool:
    """Whether a query asks for the newest."""
    return query.strip() in ("", "*")


def _without_characters(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return tuple(t for t in terms if not is_han_character(t.text))


def terms_of(query: str) -> tuple[Term, ...]:
    """The terms of a query; "word*" gives a prefix."""
    prefixes: list[Term] = []
    plain: list[str] = []
    for word in query.split():
        found = tokens(word) if word.endswith("*") else []
        if found:
            prefixes.append(Term(found.pop(), True))
            plain += found
        else:
            plain.append(word)
    words = query_terms(" ".join(plain), MAX_TERMS)
    found_terms = [*dict.fromkeys(prefixes), *map(Term, words)]
    return tuple(found_terms[:MAX_TERMS])


def search(connection: sqlite3.Connection, query: str, limit: int,
           filters: Filters) -> list[Hit]:
    """The best hits for a query that is not blank, best first, ties to
    the newest update. LIKE is asked only when FTS knows nothing."""
    terms = terms_of(query)
    rids: list[int] = []
    # Single Han characters are in every other row: they bring candidates
    # only where the pairs find too few (twice as fast in 10,000 rows, the
    # same quality), and count in every score.
    for chosen in dict.fromkeys((_without_characters(terms), terms)):
        if chosen and len(rids) < max(ENOUGH, limit):
            rids = _candidates(connection, chosen, max(POOL, 2 * limit),
                               filters)
    if not rids:
        return _like(connection, query, limit, filters)
    hits = _scored(connection, terms, rids)
    hits.sort(key=lambda hit: -hit.score)
    return hits[:limit]


def _candidates(connection: sqlite3.Connection, terms: tuple[Term, ...],
                pool: int, filters: Filters) -> list[int]:
    """Rows that hold any term, the best BM25 first, then brought into
    order of their last update, newest first (the order of ties)."""
    found, values = conditions(filters, live=False)
    # CROSS JOIN: the index is read first, whatever the planner thinks.
    join = (" CROSS JOIN memories ON memories.rid = memories_fts.rowid"
            if found else "")
    narrowed = "".join(f" AND {condition}" for condition in found)
    rows = connection.execute(
        "SELECT memories.rid FROM ("
        "SELECT memories_fts.rowid AS rid, bm25(memories_fts) AS rank_"
        f" FROM memories_fts{join} WHERE memories_fts MATCH ?{narrowed}"
        " ORDER BY rank_ LIMIT ?) AS best"
        " CROSS JOIN memories ON memories.rid = best.rid"
        " WHERE memories.superseded_by IS NULL"
        " ORDER BY memories.updated_at DESC, memories.rid DESC",
        (_any(terms), *values, pool))
    return [rid for (rid,) in rows]


def _any(terms: Iterable[Term]) -> str:
    return " OR ".join(term.match for term in terms)


def _scored(connection: sqlite3.Connection, terms: tuple[Term, ...],
            rids: list[int]) -> list[Hit]:
    total = connection.execute("SELECT max(rid) FROM memories").fetchone()[0]
    weights: list[float] = []
    shares: list[dict[int, float]] = []
    for term in terms:
        holders, found = _term_scores(connection, term, rids)
        weights.append(_weight(term, holders, total))
        best = max(found.values(), default=0.0)
        shares.append({rid: value / best if best > 0 else 1.0
                       for rid, value in found.items()})
    return combine(rids, terms, weights, shares)


def _term_scores(connection: sqlite3.Connection, term: Term,
                 rids: list[int]) -> tuple[int, dict[int, float]]:
    """How many rows hold a term, and its BM25 in each candidate."""
    holders = connection.execute(
        "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?",
        (term.match,)).fetchone()[0]
    if not holders:
        return 0, {}
    # The plus keeps the list out of FTS5, which would begin anew per row.
    rows = connection.execute(
        "SELECT rowid, -bm25(memories_fts) FROM memories_fts"
        f" WHERE memories_fts MATCH ? AND +rowid IN ({_list(rids)})",
        (term.match,))
    return holders, dict(rows.fetchall())


def _list(rids: list[int]) -> str:
    return ",".join(map(str, rids))


def _weight(term: Term, holders: int, total: int) -> float:
    """Smoothed idf: positive in every store, largest for unknown words."""
    rows = max(total, holders) + _UNSEEN_ROWS
    weight = math.log(1 + rows / (holders + 1))
    if term.text in WEAK_WORDS:
        return weight * _WEAK_WEIGHT
    if is_han_character(term.text):
        # An unknown one is told by its unknown pairs already.
        return weight * _CHARACTER_WEIGHT * (1 if holders else 0.5)
    if not holders and is_spaceless(term.text):
        # A pair with a particle in it is always a border.
        return (0.0 if not PARTICLES.isdisjoint(term.text)
                else weight * _UNKNOWN_PAIR_WEIGHT)
    return weight


def combine(rids: list[int], terms: tuple[Term, ...], weights: list[float],
            shares: list[dict[int, float]]) -> list[Hit]:
    """Scores from the parts: for each term its weight and, by row, its
    BM25 over the best one, in [0, 1]. Pure; keeps the order of rids."""
    sums = {rid: sum(weight * share.get(rid, 0.0)
                     for weight, share in zip(weights, shares, strict=True))
            for rid in rids}
    best = max(sums.values(), default=0.0) or 1.0
    whole = sum(weights) or 1.0
    hits = []
    for rid in rids:
        held = [i for i, share in enumerate(shares) if rid in share]
        coverage = min(1.0, sum(weights[i] for i in held) / whole)
        bm25 = sums[rid] / best
        parts: dict[str, float | str] = {
            "method": "words", "bm25": bm25, "coverage": coverage,
            "matched": " ".join(terms[i].text for i in held)}
        if len(held) < len(terms):
            parts["missed"] = " ".join(term.text for i, term in enumerate(
                terms) if i not in held)
        hits.append(Hit(rid, bm25 * coverage, parts))
    return hits


def _like(connection: sqlite3.Connection, query: str, limit: int,
          filters: Filters) -> list[Hit]:
    """Rows that hold pieces of the query as they are written, scored by
    the share of pieces, at most LIKE_CEILING."""
    pieces = _pieces(query)
    if not pieces:
        return []
    test = ("(memories.content LIKE ? ESCAPE '\\' OR memories.key LIKE ?"
            " ESCAPE '\\' OR instr(memories.content, ?)"
            " OR instr(memories.key, ?))")
    count = " + ".join([test] * len(pieces))
    values: list[Any] = []
    for piece in pieces:
        values += [_pattern(piece), _pattern(piece), piece, piece]
    found, narrowing = conditions(filters)
    rows = connection.execute(
        f"SELECT rid, held FROM (SELECT rid, updated_at, {count} AS held"
        f" FROM memories{where(found)}) WHERE held > 0"
        " ORDER BY held DESC, updated_at DESC, rid DESC LIMIT ?",
        (*values, *narrowing, limit))
    return [Hit(rid, LIKE_CEILING * held / len(pieces),
                {"method": "pieces", "coverage": held / len(pieces)})
            for rid, held in rows]


def _pieces(query: str) -> list[str]:
    kept = set(query_terms(query, len(query)))
    found = []
    for word in clean(query).replace("\0", " ").split():
        bare = word.strip("*\"'.,;:!?()[]{}") or word
        own = tokens(bare)
        if not own or kept.intersection(own):
            found.append(bare[:MAX_LIKE_CHARACTERS])
    return list(dict.fromkeys(found))[:MAX_LIKE_WORDS]


def _pattern(piece: str) -> str:
    escaped = (piece.replace("\\", "\\\\").replace("%", "\\%")
               .replace("_", "\\_"))
    return f"%{escaped}%"
