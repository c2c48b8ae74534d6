"""Recall: candidates from the word index (and by meaning), scored in
[0, 1].

The index picks the candidates, the rarest words first: a word that half
the memories hold brings none while others do. What PostgreSQL calls a rank
knows nothing of rare words, so the score is made here: for each term its
BM25 over the best one among the candidates, weighted by how rare it is; the
sum over its best value ("bm25") times the share of the query's weight that
the memory holds ("coverage"). One that answers a small part of the question
stays low even when it is the best there is. Where the index knows nothing,
ILIKE looks for the words as they are written.
"""

import math
from collections.abc import Sequence

from claw.core.memory import Filters
from claw.core.value import Value, made
from claw.memory.postgres.escape import escaped
from claw.memory.postgres.filters import conditions, where
from claw.memory.postgres.server import Connection
from claw.memory.postgres.table import Shape
from claw.memory.postgres.vectors import Question, cosines, nearest
from claw.memory.postgres.words import Term, pieces_of, terms_of
from claw.text.segment import is_han_character, is_spaceless
from claw.text.stopwords import PARTICLES, WEAK_WORDS

POOL = 100
ENOUGH = 20
LIKE_CEILING = 0.5
# Holders of a word are counted up to here: more is "many".
MANY = 20_000
_CHARACTER_WEIGHT = 0.3
_UNKNOWN_PAIR_WEIGHT = 0.3
_WEAK_WEIGHT = 0.3
_UNSEEN_ROWS = 3
_K1 = 1.2
_B = 0.75


class Hit(Value):
    """A row found, its score and how that was made."""

    rid: int
    score: float
    parts: dict[str, float | str]


class Held(Value):
    """What a candidate holds: for each term whether, how often each
    lexeme, and how many different ones there are in all."""

    rid: int
    size: int
    holds: Sequence[bool]
    counts: dict[str, int] = made(factory=dict)


def is_blank(query: str) -> bool:
    """Whether a query asks for the newest."""
    return query.strip() in ("", "*")


def search(connection: Connection, shape: Shape, query: str, limit: int,
           filters: Filters, question: Question | None = None) -> list[Hit]:
    """The best hits for a query that is not blank, best first, ties to
    the newest update. With `question` meanings are compared as well."""
    pool = max(POOL, 2 * limit)
    near = (nearest(connection, shape, question, pool, filters)
            if question else [])
    hits = _by_words(connection, shape, query, limit, filters, near)
    if question:
        rids = {*near, *(hit.rid for hit in hits)}
        hits = merged(hits, cosines(connection, shape, question, rids),
                      question.vector_weight, question.keyword_weight)
    hits = [hit for hit in hits if hit.score > 0]
    hits.sort(key=lambda hit: -hit.score)
    return hits[:limit]


def _by_words(connection: Connection, shape: Shape, query: str, limit: int,
              filters: Filters, near: list[int]) -> list[Hit]:
    """Hits by words, those in `near` scored with them."""
    terms = terms_of(query) if shape.has_words else []
    counts, total = _counts(connection, shape, terms)
    weights = [_weight(term, count, total)
               for term, count in zip(terms, counts, strict=True)]
    rids: list[int] = []
    for chosen in _steps(terms, counts):
        if len(rids) < max(ENOUGH, limit):
            rids = _matching(connection, shape, chosen,
                             dict(zip(terms, weights, strict=True)),
                             max(POOL, 2 * limit), filters)
    if not rids:
        return _like(connection, shape, query, max(POOL, limit), filters)
    both = list(dict.fromkeys([*rids, *near]))
    return score(terms, weights, _held(connection, shape, terms, both))


def _counts(connection: Connection, shape: Shape, terms: list[Term]
            ) -> tuple[list[int], int]:
    """How many memories hold each term (at most MANY), and how many
    memories there are (a guess above MANY)."""
    if not terms:
        return [], 0
    table = shape.table.quoted
    rows = connection.execute(
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM"
        f" {table} WHERE words @@ term.match::tsquery LIMIT {MANY}) AS held)"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS term(match, place)"
        " ORDER BY place", ([term.match for term in terms],)).fetchall()
    few, guess = connection.execute(
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM {table}"
        f" LIMIT {MANY + 1}) AS held), (SELECT reltuples FROM pg_class"
        " WHERE oid = to_regclass(%s))", (table,)).fetchone() or (0, 0)
    counts = [int(row[0]) for row in rows]
    return counts, int(few if few <= MANY else max(few, guess or 0))


def _steps(terms: list[Term], counts: list[int]) -> list[list[Term]]:
    """What to look for, one list after the other while too little is
    found. Single Han characters stand in every other memory: they come
    last, and count in every score."""
    known = sorted((pair for pair in zip(counts, terms, strict=True)
                    if pair[0]), key=lambda pair: pair[0])
    words = [(count, term) for count, term in known
             if not is_han_character(term.text)]
    rare: list[Term] = []
    rows = 0
    for count, term in words:
        if rare and rows + count > MANY:
            break
        rare.append(term)
        rows += count
    steps = [rare, [term for _, term in words], [term for _, term in known]]
    return [step for place, step in enumerate(steps)
            if step and step not in steps[:place]]


def _matching(connection: Connection, shape: Shape, chosen: list[Term],
              weights: dict[Term, float], pool: int, filters: Filters
              ) -> list[int]:
    """Of the memories that hold any of the chosen terms those that hold
    the most of all, by weight; newest update first."""
    found, values = conditions(filters)
    some, whole = (" | ".join(f"({term.match})" for term in terms)
                   for terms in (chosen, weights))
    held = " + ".join(["(words @@ %s::tsquery)::int * %s"] * len(weights))
    weighted = [part for term, weight in weights.items()
                for part in (term.match, weight)]
    rows = connection.execute(
        "SELECT rid FROM (SELECT memories.rid, memories.updated_at"
        f" FROM {shape.rows}{where(['words @@ %s::tsquery', *found])}"
        f" ORDER BY {held} DESC, ts_rank(words, %s::tsquery, 1) DESC"
        " LIMIT %s) AS best ORDER BY updated_at DESC, rid DESC",
        (some, *values, *weighted, whole, pool))
    return [rid for (rid,) in rows]


def _held(connection: Connection, shape: Shape, terms: list[Term],
          rids: list[int]) -> list[Held]:
    """What these memories hold of the terms, in the order of `rids`."""
    lexemes = list({lexeme for term in terms for form in term.forms
                    for lexeme in form})
    starts = [pattern(term.text, "") for term in terms if term.prefix]
    rows = connection.execute(
        "SELECT memories.rid, length(words), ARRAY("
        " SELECT memories.words @@ term.match::tsquery FROM"
        " unnest(%s::text[]) WITH ORDINALITY AS term(match, place)"
        " ORDER BY place), (SELECT json_object_agg(lexeme,"
        " coalesce(cardinality(positions), 1)) FROM unnest(memories.words)"
        " WHERE lexeme = ANY(%s) OR lexeme LIKE ANY(%s))"
        f" FROM {shape.rows} WHERE memories.rid = ANY(%s)",
        ([term.match for term in terms], lexemes, starts, rids))
    held = {row[0]: Held(row[0], row[1] or 0, row[2], row[3] or {})
            for row in rows}
    return [held[rid] for rid in rids if rid in held]


def _weight(term: Term, holders: int, total: int) -> float:
    """How much a term counts: smoothed idf, positive in every store. A
    single Han character says little, an unknown pair of characters is
    mostly the border of two words, and what questions are made of ("name",
    "day") rarely stands in the answer."""
    rows = max(total, holders) + _UNSEEN_ROWS
    weight = math.log(1 + rows / (holders + 1))
    if term.text in WEAK_WORDS:
        return weight * _WEAK_WEIGHT
    if is_han_character(term.text):
        return weight * _CHARACTER_WEIGHT * (1 if holders else 0.5)
    if not holders and is_spaceless(term.text):
        return (0.0 if not PARTICLES.isdisjoint(term.text)
                else weight * _UNKNOWN_PAIR_WEIGHT)
    return weight


def score(terms: Sequence[Term], weights: Sequence[float],
          rows: Sequence[Held]) -> list[Hit]:
    """Scores of candidates from what they hold. Pure; keeps the order."""
    usual = sum(row.size for row in rows) / len(rows) if rows else 0
    shares = [[_bm25(_times(term, row.counts), row.size, usual) if held
               else 0.0 for term, held in zip(terms, row.holds, strict=True)]
              for row in rows]
    best = [max(column) or 1.0 for column in zip(*shares, strict=True)]
    sums = [sum(weight * share / top for weight, share, top
                in zip(weights, own, best, strict=True)) for own in shares]
    top, whole = max(sums, default=0.0) or 1.0, sum(weights) or 1.0
    return [_hit(row, terms, weights, own / top, whole)
            for row, own in zip(rows, sums, strict=True)]


def _hit(row: Held, terms: Sequence[Term], weights: Sequence[float],
         bm25: float, whole: float) -> Hit:
    coverage = min(1.0, sum(weight for weight, held in zip(
        weights, row.holds, strict=True) if held) / whole)
    parts: dict[str, float | str] = {
        "method": "words", "bm25": bm25, "coverage": coverage}
    for name, wanted in (("matched", True), ("missed", False)):
        words = [term.text for term, held in zip(terms, row.holds,
                                                 strict=True)
                 if held is wanted]
        if words:
            parts[name] = " ".join(words)
    return Hit(row.rid, bm25 * coverage, parts)


def _times(term: Term, counts: dict[str, int]) -> int:
    """How often a memory holds a term, once at least."""
    times = sum(min(counts.get(lexeme, 0) for lexeme in form)
                for form in term.forms)
    if term.prefix:
        times = sum(count for lexeme, count in counts.items()
                    if lexeme.startswith(term.text))
    return times or 1


def _bm25(times: int, size: int, usual: float) -> float:
    longer = 1 - _B + _B * (size / usual if usual else 1)
    return times * (_K1 + 1) / (times + _K1 * longer)


def merged(hits: Sequence[Hit], cosine: dict[int, float],
           vector_weight: float, keyword_weight: float) -> list[Hit]:
    """Both scores as one, by the shares of their weights. A memory whose
    meaning can't be judged is judged by its words. Pure."""
    whole = vector_weight + keyword_weight or 1.0
    found = {hit.rid: hit for hit in hits}
    both = []
    for rid in [*found, *(rid for rid in cosine if rid not in found)]:
        hit = found.get(rid) or Hit(rid, 0.0, {"method": "meaning"})
        if rid in cosine:
            total = (vector_weight * cosine[rid]
                     + keyword_weight * hit.score) / whole
            method = "both" if rid in found else "meaning"
            hit = Hit(rid, min(1.0, total), {
                **hit.parts, "method": method, "cosine": cosine[rid],
                "words": hit.score})
        both.append(hit)
    return both


def _like(connection: Connection, shape: Shape, query: str, limit: int,
          filters: Filters) -> list[Hit]:
    """Memories that hold pieces of the query as they are written, scored
    by the share of pieces, at most LIKE_CEILING."""
    pieces = pieces_of(query)
    if not pieces:
        return []
    test = "(memories.content ILIKE %s OR memories.key ILIKE %s)::int"
    count = " + ".join([test] * len(pieces))
    values = [part for piece in pieces for part in [pattern(piece)] * 2]
    found, narrowing = conditions(filters)
    rows = connection.execute(
        "SELECT rid, held FROM (SELECT memories.rid, memories.updated_at,"
        f" {count} AS held FROM {shape.rows}{where(found)}) AS tested"
        " WHERE held > 0 ORDER BY held DESC, updated_at DESC, rid DESC"
        " LIMIT %s", (*values, *narrowing, limit))
    return [Hit(rid, LIKE_CEILING * held / len(pieces),
                {"method": "pieces", "coverage": held / len(pieces)})
            for rid, held in rows]


def pattern(piece: str, before: str = "%") -> str:
    """A pattern of LIKE for texts that hold a piece as it stands, or that
    begin with it."""
    plain = escaped(piece)
    for sign in "\\%_":
        plain = plain.replace(sign, "\\" + sign)
    return f"{before}{plain}%"
