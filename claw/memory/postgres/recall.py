"""Recall: candidates from the word index and by vectors, scored as
everywhere in claw (scoring.py).

The index picks the candidates, the rarest words first: a word that half
the memories hold brings none while others do. What PostgreSQL calls a rank
knows nothing of rare words, so the score is made here, from the places of
the words that the index keeps. Where neither words nor vectors know
anything, ILIKE looks for the words as they are written.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from claw.core.memory import Filters
from claw.memory.postgres.escape import escape, unescape
from claw.memory.postgres.filters import conditions
from claw.memory.postgres.rows import CREATED
from claw.memory.postgres.server import Connection
from claw.memory.postgres.table import Shape
from claw.memory.postgres.vectors import QueryEmbedding, cosines, nearest
from claw.memory.postgres.words import skeleton, write_query
from claw.memory.search.filters import where
from claw.memory.search.periods import narrow
from claw.memory.search.ranking import (
    Hit,
    Ranking,
    score_pieces,
    split_pieces,
)
from claw.memory.search.scoring import (
    GAP_S,
    HEAD,
    MARKED,
    REACH,
    Pieces,
    Row,
    Term,
    count_senders,
    sample_rids,
    weigh,
    weight,
)
from claw.text.grams import MARK
from claw.text.segment import is_han_character

POOL = 200
ENOUGH = 20
# Holders of a word are counted up to here: more is "many".
MANY = 20_000

_BESIDE = """
SELECT m.rid, beside.rid, beside.place FROM {table} AS m, LATERAL (
    (SELECT rid, created_at, row_number() OVER (ORDER BY created_at, rid)
        AS place FROM {table} AS a WHERE a.session_id = m.session_id
        AND a.superseded_by IS NULL
        AND (a.created_at, a.rid) > (m.created_at, m.rid)
        ORDER BY created_at, rid LIMIT {reach})
    UNION ALL
    (SELECT rid, created_at, row_number() OVER (
        ORDER BY created_at DESC, rid DESC)
        AS place FROM {table} AS a WHERE a.session_id = m.session_id
        AND a.superseded_by IS NULL
        AND (a.created_at, a.rid) < (m.created_at, m.rid)
        ORDER BY created_at DESC, rid DESC LIMIT {reach})) AS beside
WHERE m.rid = ANY(%s)
    AND abs(extract(epoch FROM beside.created_at - m.created_at)) <= {gap}
"""


def search(connection: Connection, shape: Shape, query: str, limit: int,
           filters: Filters, embedding: QueryEmbedding | None = None
           ) -> list[Hit]:
    """The best hits for a query that is not blank, best first, ties to
    the newest update. With `embedding` vectors are compared as well."""
    if shape.has_words:
        found = _Search(connection, shape, query, filters, embedding)
        if found.read(limit):
            return found.rank(limit)
    return _like(connection, shape, query, limit, filters)


class _Search(Ranking):
    """One search in the table."""

    def __init__(self, connection: Connection, shape: Shape, query: str,
                 filters: Filters, embedding: QueryEmbedding | None) -> None:
        super().__init__(query, embedding)
        self._connection = connection
        self._shape = shape
        self._filters = filters
        self._embedding = embedding

    def read(self, limit: int) -> bool:
        """Find and read what may answer; whether there is anything."""
        counts, total = _counts(self._connection, self._shape,
                                [*self.terms, MARKED])
        in_pieces = counts.pop()
        said = count_senders(_senders(self._connection, self._shape),
                             self.terms, total)
        share = min(1.0, in_pieces / (total or 1))
        cut = self.choose_pieces(counts, share)
        held, _ = _counts(self._connection, self._shape, cut)
        pieces = Pieces(share, dict(
            zip([piece.text for piece in cut], held, strict=True)))
        weights = weigh(self.terms, [
            min(total, sum(both)) for both in zip(counts, said, strict=True)
            ], pieces, total)
        worth = dict(zip(self.terms, weights, strict=True))
        rids: list[int] = []
        for terms, known, weighed in (
                (self.terms, counts, worth),
                (cut, held, {one: weight(one, number, total)
                             for one, number in zip(cut, held,
                                                    strict=True)})):
            rids += self._find(terms, known, weighed, limit)
        for marks in self.intent.marks:
            for chosen in _steps(self.terms, counts)[:1]:
                rids += _match(self._connection, self._shape, chosen, worth,
                               max(POOL, 2 * limit), self._filters, marks)
        for period in self.periods:
            rids += _newest(self._connection, self._shape,
                            narrow(self._filters, period), ENOUGH)
        rids = list(dict.fromkeys(rids))
        mean = 0.0
        if self._embedding:
            near = nearest(self._connection, self._shape, self._embedding,
                           max(POOL, 2 * limit), self._filters)
            mean = near.mean
            rids += [rid for rid in near.rids if rid not in set(rids)]
        self.take(rids, weights, mean, pieces, total)
        return self.has_match if self.periods else bool(rids)

    def _find(self, terms: Sequence[Term], counts: list[int],
              weights: dict[Term, float], limit: int) -> list[int]:
        """Rows that hold some of these terms, the best of them."""
        steps = _steps(terms, counts)
        rids: list[int] = []
        for chosen in steps:
            if len(rids) < max(ENOUGH, limit):
                rids = _match(self._connection, self._shape, chosen, weights,
                              max(POOL, 2 * limit), self._filters)
        for period in self.periods:
            for chosen in steps[:1]:
                rids += _match(self._connection, self._shape, chosen,
                               weights, ENOUGH,
                               narrow(self._filters, period))
        return rids

    def read_rows(self, rids: Collection[int], *,
                  words: bool) -> dict[int, Row]:
        return _rows(self._connection, self._shape, self.terms, rids,
                     self._filters)

    def beside(self, rids: Sequence[int]) -> Iterable[tuple[int, int, int]]:
        return self._connection.execute(
            _BESIDE.format(table=self._shape.table.quoted, reach=REACH,
                           gap=GAP_S), (list(rids),)).fetchall()

    def cosines(self, rids: Collection[int]) -> dict[int, float]:
        return {} if self._embedding is None else cosines(
            self._connection, self._shape, self._embedding, list(rids))


def _counts(connection: Connection, shape: Shape, terms: Sequence[Term]
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
        " ORDER BY place", (list(map(write_query, terms)),)).fetchall()
    few, guess = connection.execute(
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM {table}"
        f" LIMIT {MANY + 1}) AS held), (SELECT reltuples FROM pg_class"
        " WHERE oid = to_regclass(%s))", (table,)).fetchone() or (0, 0)
    counts = [int(row[0]) for row in rows]
    return counts, int(few if few <= MANY else max(few, guess or 0))


def _senders(connection: Connection, shape: Shape) -> list[str | None]:
    """Who said a sample of the memories."""
    last, = connection.execute(
        f"SELECT max(rid) FROM {shape.table.quoted}").fetchone() or (0,)
    return [sender and unescape(sender) for (sender,) in connection.execute(
        "SELECT memories.sender"
        f" FROM {shape.rows} WHERE memories.rid = ANY(%s)",
        (sample_rids(last or 0),))]


def _steps(terms: Sequence[Term], counts: list[int]) -> list[list[Term]]:
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


def _match(connection: Connection, shape: Shape, chosen: list[Term],
           weights: dict[Term, float], pool: int, filters: Filters,
           marks: Sequence[Term] = ()) -> list[int]:
    """Of the memories that hold any of the chosen terms, and all of the
    marks, those that hold the most of all, by weight; newest update
    first."""
    found, values = conditions(filters)
    some, whole = write_query(*chosen), write_query(*weights)
    tests = ["words @@ %s::tsquery"] * (1 + len(marks))
    held = " + ".join(["(words @@ %s::tsquery)::int * %s"] * len(weights))
    weighted = [part for term, weight in weights.items()
                for part in (write_query(term), weight)]
    return [rid for (rid,) in connection.execute(
        "SELECT rid FROM (SELECT memories.rid, memories.updated_at"
        f" FROM {shape.rows}{where([*tests, *found])}"
        f" ORDER BY {held} DESC, ts_rank(words, %s::tsquery, 1) DESC"
        " LIMIT %s) AS best ORDER BY updated_at DESC, rid DESC",
        (some, *map(write_query, marks), *values, *weighted, whole, pool))]


def _newest(connection: Connection, shape: Shape, filters: Filters,
            limit: int) -> list[int]:
    """The newest memories that the filters let through."""
    found, values = conditions(filters)
    return [rid for (rid,) in connection.execute(
        f"SELECT memories.rid FROM {shape.rows}{where(found)}"
        " ORDER BY created_at DESC LIMIT %s", (*values, limit))]


def _rows(connection: Connection, shape: Shape, terms: Sequence[Term],
          rids: Collection[int], filters: Filters) -> dict[int, Row]:
    """What the scores are made from, in the order of `rids`: of the text
    the places of the words that are asked for, and its beginning."""
    found, values = conditions(filters)
    lexemes = list({MARK} | {
        lexeme for term in terms for form in (*term.forms, *term.pieces)
        for lexeme in form.split()})
    starts = [pattern(form, "") for term in terms if term.prefix
              for form in term.forms]
    rows = connection.execute(
        "SELECT memories.rid, left(memories.content, %s), memories.sender,"
        f" {CREATED},"
        " (SELECT json_build_array(sum(coalesce(cardinality(positions), 1)),"
        " json_agg(json_build_array(lexeme, positions)) FILTER ("
        " WHERE lexeme = ANY(%s) OR lexeme LIKE ANY(%s)))"
        f" FROM unnest(memories.words)) FROM {shape.rows}"
        f"{where(['memories.rid = ANY(%s)', *found])}",
        (HEAD, lexemes, starts, list(rids), *values))
    read = {}
    for rid, head, sender, made_at, (size, places) in rows:
        text = skeleton(((lexeme, at or (1,)) for lexeme, at in places or ()),
                        size or 0)
        read[rid] = Row(rid, "", text,
                        unescape(sender) if sender else None, unescape(head),
                        made_at)
    return {rid: read[rid] for rid in rids if rid in read}


def _like(connection: Connection, shape: Shape, query: str, limit: int,
          filters: Filters) -> list[Hit]:
    """Memories that hold pieces of the query as they are written, scored
    by the share of pieces, at most LIKE_CEILING."""
    pieces = split_pieces(query)
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
    return [score_pieces(rid, held, len(pieces)) for rid, held in rows]


def pattern(piece: str, before: str = "%") -> str:
    """A pattern of LIKE for texts that hold a piece as it stands, or that
    begin with it."""
    return before + re.sub(r"([\\%_])", r"\\\1", escape(piece)) + "%"
