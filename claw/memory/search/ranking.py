"""From candidates to hits: the steps that every store with an index shares.

A store reads rows, their neighbours and, where it has vectors, cosines; what
these are worth is decided here, by the functions of scoring.py, so that a
score means the same in each of them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import msgspec
from msgspec import structs

from claw.core.memory import Explanation, MemoryEntry
from claw.core.value import replace
from claw.memory.search.confidence import JUDGED, Confidence, grade, judge
from claw.memory.search.intent import (
    is_instruction,
    keep_behind,
    read_intent,
)
from claw.memory.search.periods import find_topics, read_periods
from claw.memory.search.scoring import (
    MEASURED,
    MOSTLY,
    NEAR,
    QUESTION,
    SENDER,
    Merged,
    Pieces,
    Row,
    Term,
    Weights,
    Words,
    asks,
    build_term,
    list_pieces,
    merge,
    merge_as_seed,
    nearness,
    score_words,
    share_with_neighbours,
    speaks,
    spread,
)
from claw.text.grams import cut_word
from claw.text.segment import (
    clean,
    cut_words,
    query_terms,
    spaceless_share,
    tokens,
)
from claw.text.stem import stem

MAX_TERMS = 64
# Where no index knows anything, words are looked for as they are written.
MAX_LIKE_WORDS = 8
MAX_LIKE_CHARACTERS = 1000
LIKE_CEILING = 0.5
SPREADING = 100
# Bends the coverage of a question that names a time.
_CURVE = 0.85
# What a row is worth of which nothing fits but when it was made.
_MADE_THEN = 0.05
_FEW_IN_PIECES = 0.05
_TOPIC_MISSED = 0.3  # below the threshold of a chat
_UNSURE = 0.05  # what is left of confidence where nothing tells much


class Hit(msgspec.Struct, frozen=True):
    """A row found, its score and how that was made."""

    rid: int
    score: float
    parts: dict[str, float | str]

    def explain(self, entry: MemoryEntry) -> tuple[MemoryEntry, Explanation]:
        """The row's memory with its score, and how that came about."""
        return (replace(entry, score=self.score),
                Explanation(entry.key, self.score, self.parts))


def score_pieces(rid: int, held: int, asked: int) -> Hit:
    """A row that holds so many pieces of a query, by their share."""
    share = held / asked
    return Hit(rid, LIKE_CEILING * share,
               {"method": "pieces", "coverage": share})


class KnowsScripts(Protocol):
    """An embedder, or what was made with one."""

    @property
    def is_multilingual(self) -> bool: ...


class Weighed(KnowsScripts, Protocol):
    """How much vectors and words count, and what the embedder knows."""

    @property
    def weights(self) -> Weights: ...


def is_blank(query: str) -> bool:
    """Whether a query asks for the newest."""
    return query.strip() in ("", "*")


def split_terms(query: str) -> tuple[Term, ...]:
    """The terms of a query; "word*" gives a prefix. Words of one stem are
    one term."""
    found: dict[tuple[str, ...], Term] = {}
    plain: list[str] = []
    for word in query.split():
        own = tokens(word) if word.endswith("*") else []
        if own:
            start = own.pop()
            found[start, "*"] = Term(start, (start,), True,
                                     cut_word(start, is_whole=False))
            plain += own
        else:
            plain.append(word)
    rest = " ".join(plain)
    pieces = cut_words(rest)
    for word in query_terms(rest, MAX_TERMS):
        term = build_term(word, pieces.get(word, ()))
        found.setdefault(term.forms[:1], term)
    return tuple(found.values())[:MAX_TERMS]


def split_pieces(query: str) -> list[str]:
    """The words of a query as they are written, without those that carry
    no topic."""
    kept = set(query_terms(query, len(query)))
    found: dict[str, None] = {}
    for word in clean(query).split():
        bare = word.strip("*\"'.,;:!?()[]{}") or word
        own = tokens(bare)
        if not own or kept.intersection(own):
            found[bare[:MAX_LIKE_CHARACTERS]] = None
    return list(found)[:MAX_LIKE_WORDS]


def knows(embedding: KnowsScripts, query: str) -> bool:
    """Whether an embedder understands most of a query."""
    return embedding.is_multilingual or spaceless_share(query) <= MOSTLY


class Ranking(ABC):
    """One search: what it asks and what it has read so far.

    `spreading` is how many of the best share with their neighbours.
    """

    def __init__(self, query: str, embedding: Weighed | None) -> None:
        self.query = query
        self.terms = split_terms(query)
        self.spreading = SPREADING
        self.periods = read_periods(query)
        self._weighed = embedding
        self._asked = query.lower()
        self.intent = read_intent(query)
        self._stems = frozenset(map(stem, tokens(query)))
        self._rows: dict[int, Row] = {}
        self._words: dict[int, Words] = {}
        self._cosines: dict[int, float] = {}
        self._mean = 0.0
        self._weights: Sequence[float] = ()
        self._total = 0

    @abstractmethod
    def read_rows(self, rids: Collection[int], *,
                  words: bool) -> dict[int, Row]:
        """The rows that the filters let through, in the order of ties;
        with `words` their segmented text is needed."""

    @abstractmethod
    def beside(self, rids: Sequence[int]) -> Iterable[tuple[int, int, int]]:
        """(row, its neighbour in the conversation, distance 1 or 2)."""

    @abstractmethod
    def cosines(self, rids: Collection[int]) -> dict[int, float]:
        """Exact cosines of the rows that have a vector."""

    def choose_pieces(self, holders: Sequence[int], share: float
                      ) -> list[Term]:
        """The pieces to look for, where this share of the rows hold words
        in pieces. If they are few, words that others hold are looked for
        as these hold them, and as nothing else."""
        if share < _FEW_IN_PIECES:
            self.terms = tuple(
                structs.replace(term, pieces=())
                if held or not share else term
                for term, held in zip(self.terms, holders, strict=True))
        return list_pieces(self.terms)

    def take(self, rids: Collection[int], weights: Sequence[float],
             mean: float, pieces: Pieces, total: int) -> None:
        """Read and score the candidates; `mean` is the mean cosine of the
        store, `total` its rows."""
        self._weights, self._total = weights, total
        self._in_pieces = min(1.0, pieces.share)
        self._rows = self.read_rows(rids, words=True)
        self._words = score_words(list(self._rows.values()), self.terms,
                                  weights, pieces, total)
        self._cover_dates(weights)
        if self._weighed is not None:
            self._cosines = self.cosines(self._rows.keys())
            self._mean = mean

    def _cover_dates(self, weights: Sequence[float]) -> None:
        """A row that was made when the question says holds the words that
        say so. Where it misses the topic this shows it to who looks, and
        to no chat."""
        whole = sum(weights) or 1.0
        for period in self.periods:
            words, others = find_topics(self.query, period)
            topics = {i for i, term in enumerate(self.terms)
                      if term.text in words}
            for rid, row in self._rows.items():
                found = self._words[rid]
                share = period.share_at(row.made_at)
                dated = share * sum(
                    weights[i] for i, term in enumerate(self.terms)
                    if term.text not in others
                    and i not in found.held) / whole
                if topics.isdisjoint(found.held):
                    # Nothing but the day fits: it has to be that day.
                    if share < period.share:
                        continue
                    dated = min(dated, _TOPIC_MISSED) if topics else share
                self._words[rid] = structs.replace(
                    found, coverage=min(1.0, found.coverage + dated))

    @property
    def has_match(self) -> bool:
        """Whether a candidate holds a word of the question, was made when
        it asks for, or means something like it."""
        return (any(found.coverage for found in self._words.values())
                or any(cosine > self._mean
                       for cosine in self._cosines.values()))

    def rank(self, limit: int) -> list[Hit]:
        """The best rows among the candidates and their neighbours."""
        weighed = self._weighed
        if weighed is not None and weighed.weights.merge == "seed":
            return self._rank_as_seed(limit, weighed.weights)
        merged = self._merge()
        base = {rid: one.total for rid, one in merged.items()}
        top = sorted((rid for rid in base if base[rid] > 0),
                     key=lambda rid: -base[rid])[:self.spreading]
        share = share_with_neighbours(self._rows.values())
        gained = spread(base, self.beside(top), {
            distance: share * gain for distance, gain in NEAR.items()})
        # Rows that come in only by those beside them.
        self._rows.update(self.read_rows(gained.keys() - self._rows.keys(),
                                         words=False))
        final = {}
        for rid, row in self._rows.items():
            value = base.get(rid, 0.0) + gained.get(rid, 0.0)
            if rid in self._words and self._words[rid].coverage:
                value = max(value, _MADE_THEN)
            final[rid] = value * math.prod(self._weigh_kind(row).values())
        keep_behind(final, {rid for rid in final
                            if is_instruction(self._rows[rid])})
        order = sorted((rid for rid in final if final[rid] > 0),
                       key=lambda rid: -final[rid])
        best = final[order[0]] if order else 1.0
        words = self._judge(order[:JUDGED])
        sure = max(words.value, self._find_surest(order[:JUDGED]))
        told = {} if sure > words.value else {
            "found": words.found, "lacking": words.lacking,
            "by_chance": words.by_chance}
        return [Hit(rid, grade(sure, final[rid] / best),
                    {**self._parts(rid, merged.get(rid),
                                   gained.get(rid, 0.0)),
                     "of_best": final[rid] / best, "confidence": sure,
                     **told})
                for rid in order[:limit]]

    def _judge(self, best: Sequence[int]) -> Confidence:
        """How sure the words of the best rows are."""
        lengths = [row.text.count(" ") + 1 for rid, row in self._rows.items()
                   if rid in self._words]
        return judge(
            self.terms, self._weights,
            [(self._rows[rid], self._words[rid].shares) for rid in best
             if rid in self._words], self._words.values(),
            total=self._total,
            tokens=sum(lengths) / len(lengths) if lengths else 0.0,
            in_pieces=self._in_pieces)

    def _find_surest(self, best: Sequence[int]) -> float:
        """How sure one can be for other reasons: a row was made when the
        question says, or means something near it."""
        dated = max((math.pow(self._words[rid].coverage, _CURVE)
                     for rid in best if self.periods and rid in self._words),
                    default=0.0)
        near = max((nearness(self._cosines[rid], self._mean)
                    for rid in best if rid in self._cosines), default=0.0)
        return max(dated, near, _UNSURE)

    def _weigh_kind(self, row: Row) -> dict[str, float]:
        """What a row gains by who said it, when, and what kind of text it
        is: factors, by name."""
        found = self.intent.weigh(row)
        if speaks(row, self._asked, self._stems):
            found["speaker"] = SENDER
        gain = max((period.gain_at(row.made_at) for period in self.periods),
                   default=1.0)
        if gain > 1:
            found["date"] = gain
        if asks(row.head):
            found["question"] = QUESTION
        return found

    def _merge(self) -> dict[int, Merged]:
        """Words and vectors as one score."""
        weighed = self._weighed
        words = {rid: found.bm25 for rid, found in self._words.items()}
        if weighed is None:
            return merge(words, {}, self._mean, MEASURED)
        # A question in two languages is half a question to a model that
        # knows one of them; a text in the other tells it nothing.
        known = (1.0 if weighed.is_multilingual
                 else 1 - spaceless_share(self.query))
        usable = {rid: cosine for rid, cosine in self._cosines.items()
                  if weighed.is_multilingual or not self._rows[rid].is_cjk}
        weights = weighed.weights
        return merge(words, usable, self._mean, structs.replace(
            weights, vector=weights.vector * known))

    def _rank_as_seed(self, limit: int, weights: Weights) -> list[Hit]:
        """The best by the documented formula, and by nothing else."""
        merged = merge_as_seed(
            {rid: found.bm25 for rid, found in self._words.items()},
            self._cosines, weights)
        best = sorted((rid for rid in merged if merged[rid].total > 0),
                      key=lambda rid: (-merged[rid].total, rid))[:limit]
        return [Hit(rid, min(1.0, merged[rid].total),
                    self._match_parts(rid, merged[rid])) for rid in best]

    def _parts(self, rid: int, merged: Merged | None, gained: float
               ) -> dict[str, float | str]:
        """What a score was made of."""
        parts = self._match_parts(rid, merged)
        if gained:
            parts["neighbours"] = gained
        kinds = self._weigh_kind(self._rows[rid])
        if "date" in kinds and not gained and parts["method"] == "neighbours":
            parts["method"] = "date"
        return {**parts, **kinds}

    def _match_parts(self, rid: int, merged: Merged | None
                     ) -> dict[str, float | str]:
        """What a row has of the question itself. Where meaning counts too,
        `by_words` and `by_meaning` add up."""
        parts: dict[str, float | str] = {"method": "neighbours"}
        words = self._words.get(rid)
        if words is not None and words.held:
            missed = [term.text for i, term in enumerate(self.terms)
                      if i not in words.held]
            parts = {"method": "words", "bm25": words.bm25,
                     "coverage": words.coverage,
                     "matched": " ".join(self.terms[i].text
                                         for i in words.held)}
            if missed:
                parts["missed"] = " ".join(missed)
        if rid in self._cosines:
            parts["method"] = ("words and meaning" if "bm25" in parts
                               else "meaning")
            parts["cosine"] = self._cosines[rid]
            if merged is not None:
                parts |= structs.asdict(merged)
        return parts
