"""Recall: candidates from the word index and by meaning, scored as
everywhere in claw (scoring.py).

The index picks the candidates, the rarest words first: a word that half
the memories hold brings none while others do. What PostgreSQL calls a rank
knows nothing of rare words, so the score is made here, from the places of
the words that the index keeps. Where neither words nor meaning know
anything, ILIKE looks for the words as they are written.
"""

from collections.abc import Collection, Iterable, Sequence

from claw.core.memory import Filters
from claw.memory.filters import where
from claw.memory.neighbours import GAP_S, REACH
from claw.memory.pieces import LIKE_CEILING, pieces_of
from claw.memory.postgres.escape import escaped, restored
from claw.memory.postgres.filters import conditions
from claw.memory.postgres.server import Connection
from claw.memory.postgres.table import Shape
from claw.memory.postgres.vectors import Question, cosines, nearest
from claw.memory.postgres.words import query_of, skeleton
from claw.memory.ranking import Hit, Ranking
from claw.memory.scoring import HEAD, Row, Term, weight
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
           filters: Filters, question: Question | None = None) -> list[Hit]:
    """The best hits for a query that is not blank, best first, ties to
    the newest update. With `question` meanings are compared as well."""
    if shape.has_words:
        found = _Search(connection, shape, query, filters, question)
        if found.read(limit):
            return found.ranked(limit)
    return _like(connection, shape, query, limit, filters)


class _Search(Ranking):
    """One search in the table."""

    def __init__(self, connection: Connection, shape: Shape, query: str,
                 filters: Filters, question: Question | None) -> None:
        super().__init__(query, question)
        self._connection = connection
        self._shape = shape
        self._filters = filters
        self._question = question

    def read(self, limit: int) -> bool:
        """Find and read what may answer; whether there is anything."""
        counts, total = _counts(self._connection, self._shape, self.terms)
        weights = [weight(term, count, total) for term, count
                   in zip(self.terms, counts, strict=True)]
        rids = self._by_words(counts, weights, limit)
        mean = 0.0
        if self._question:
            near = nearest(self._connection, self._shape, self._question,
                           max(POOL, 2 * limit), self._filters)
            mean = near.mean
            rids += [rid for rid in near.rids if rid not in set(rids)]
        self.take(rids, weights, mean)
        return bool(rids)

    def read_rows(self, rids: Collection[int], *,
                  words: bool) -> dict[int, Row]:
        return _rows(self._connection, self._shape, self.terms, rids,
                     self._filters)

    def beside(self, rids: Sequence[int]) -> Iterable[tuple[int, int, int]]:
        rows: list[tuple[int, int, int]] = self._connection.execute(
            _BESIDE.format(table=self._shape.table.quoted, reach=REACH,
                           gap=GAP_S), (list(rids),)).fetchall()
        return rows

    def cosines(self, rids: Collection[int]) -> dict[int, float]:
        return {} if self._question is None else cosines(
            self._connection, self._shape, self._question, list(rids))

    def _by_words(self, counts: list[int], weights: list[float],
                  limit: int) -> list[int]:
        rids: list[int] = []
        for chosen in _steps(self.terms, counts):
            if len(rids) < max(ENOUGH, limit):
                rids = _matching(
                    self._connection, self._shape, chosen,
                    dict(zip(self.terms, weights, strict=True)),
                    max(POOL, 2 * limit), self._filters)
        return rids


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
        " ORDER BY place", (list(map(query_of, terms)),)).fetchall()
    few, guess = connection.execute(
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM {table}"
        f" LIMIT {MANY + 1}) AS held), (SELECT reltuples FROM pg_class"
        " WHERE oid = to_regclass(%s))", (table,)).fetchone() or (0, 0)
    counts = [int(row[0]) for row in rows]
    return counts, int(few if few <= MANY else max(few, guess or 0))


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


def _matching(connection: Connection, shape: Shape, chosen: list[Term],
              weights: dict[Term, float], pool: int, filters: Filters
              ) -> list[int]:
    """Of the memories that hold any of the chosen terms those that hold
    the most of all, by weight; newest update first."""
    found, values = conditions(filters)
    some, whole = query_of(*chosen), query_of(*weights)
    held = " + ".join(["(words @@ %s::tsquery)::int * %s"] * len(weights))
    weighted = [part for term, weight in weights.items()
                for part in (query_of(term), weight)]
    rows = connection.execute(
        "SELECT rid FROM (SELECT memories.rid, memories.updated_at"
        f" FROM {shape.rows}{where(['words @@ %s::tsquery', *found])}"
        f" ORDER BY {held} DESC, ts_rank(words, %s::tsquery, 1) DESC"
        " LIMIT %s) AS best ORDER BY updated_at DESC, rid DESC",
        (some, *values, *weighted, whole, pool))
    return [rid for (rid,) in rows]


def _rows(connection: Connection, shape: Shape, terms: Sequence[Term],
          rids: Collection[int], filters: Filters) -> dict[int, Row]:
    """What the scores are made from, in the order of `rids`: of the text
    the places of the words that are asked for, and its beginning."""
    found, values = conditions(filters)
    lexemes = list({lexeme for term in terms for form in term.forms
                    for lexeme in form.split()})
    starts = [pattern(form, "") for term in terms if term.prefix
              for form in term.forms]
    rows = connection.execute(
        "SELECT memories.rid, left(memories.content, %s), memories.sender,"
        " (SELECT json_build_array(sum(coalesce(cardinality(positions), 1)),"
        " json_agg(json_build_array(lexeme, positions)) FILTER ("
        " WHERE lexeme = ANY(%s) OR lexeme LIKE ANY(%s)))"
        f" FROM unnest(memories.words)) FROM {shape.rows}"
        f"{where(['memories.rid = ANY(%s)', *found])}",
        (HEAD, lexemes, starts, list(rids), *values))
    read = {}
    for rid, head, sender, (size, places) in rows:
        text = skeleton(((lexeme, at or (1,)) for lexeme, at in places or ()),
                        size or 0)
        read[rid] = Row(rid, "", text,
                        restored(sender) if sender else None, restored(head))
    return {rid: read[rid] for rid in rids if rid in read}


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
