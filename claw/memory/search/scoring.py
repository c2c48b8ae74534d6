"""How memories are scored: plain functions over texts, no database.

1. Words: BM25 with a smoothed idf (FTS5's own falls to 1e-6 for a word that
   half of a small store holds), among short memories times the root of the
   share of the question's weight that the row covers.
2. Embeddings, where there are vectors: the documented weights, 0.7 for the
   meaning and 0.3 for the words. Both scores are made for every candidate;
   a row without a usable vector is judged by its words alone.
3. Neighbours: what was said just before and after a good match in the same
   conversation gains by it. The largest single gain on conversations, more
   than a small embedding model.
4. The speaker: rows of the person whom the question names gain, and those
   of the kind that is asked for (intent.py); a question tells less than a
   statement.
5. One scale: order keeps to the steps above, and the best row's score is
   how well the question is answered at all ("confidence"), in [0, 1].

Weights were chosen on development halves of public sets (bench/recall.py).
"""

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from claw.text.grams import MARK, PIECES
from claw.text.segment import (
    find_script,
    is_han_character,
    is_spaceless,
    spaceless_share,
    stem_text,
    tokens,
)
from claw.text.stem import stem
from claw.text.stopwords import PARTICLES, WEAK_WORDS
from claw.text.variants import variants

MOSTLY = 0.5
K1 = 1.2
# In short memories (LENGTHS[0] tokens on average) a length says little and
# how much of the question a row covers says a lot; in long ones (LENGTHS[1])
# it is the other way about: a long reply holds every word once.
B_SHORT, B_LONG = 0.4, 1.0
LENGTHS = (60, 150)
# How much a term counts beside a word: a single Han character says little,
# a pair with an ending in it less than a pair of characters with meaning,
# an unknown pair is mostly the border of two words, and what a question is
# made of ("name", "day") rarely stands in the answer.
_CHARACTER_WEIGHT = 0.4
_UNKNOWN_PAIR_WEIGHT = 0.3
_WEAK_WEIGHT = 0.4
_PAIR_WEIGHTS = {"Hh": 0.5, "hH": 0.5, "hc": 0.3, "ch": 0.3}
# A small store can't tell which words are rare: as if it had so many more.
_UNSEEN_ROWS = 3
# A row that holds a share of a word's pieces holds the word so much: less
# than the share, since many words share an ending. From _HELD on it is said
# to hold it.
_PARTLY = 1.5
_HELD = 0.5
# A word of twice as many pieces weighs 2 ** _LENGTH times as much.
_LENGTH = 0.8

# Rows that are asked who said them.
SAMPLE = 200

# What a row gives to the rows beside it, by their distance.
NEAR = {1: 0.5, 2: 0.3}
REACH = len(NEAR)
GAP_S = 3600.0  # what lies further apart is another talk
# Tokens of a row (on average) from which on its neighbours gain less: in a
# long text little is about the question.
SPREAD_TOKENS = 90
SENDER = 1.3
QUESTION = 0.8
HEAD = 400
_QUESTION_MARKS = ("?", "？", "؟")
_LABEL_CHARACTERS = 40
_SELF = re.compile(
    r"[^a-z](?<!\w)(?:i(?!\.e)|my|me|mine|ich|mein[a-z]*|mich|mir)(?!\w)")
_SELF_ELSEWHERE = "나는|내가|제가|저는|나의|[我私僕俺]"


class Term(msgspec.Struct, frozen=True):
    """A word to look for, as its stem and those of the other forms it is
    written in; `prefix`: the start of a word. Rows that hold no stems hold
    some of its `pieces`."""

    text: str
    forms: tuple[str, ...]
    prefix: bool = False
    pieces: tuple[str, ...] = ()

    @property
    def match(self) -> str:
        """As FTS5 takes it. Segmented text holds no quotes or NUL."""
        star = "*" if self.prefix else ""
        quoted = ([f'"{word}"{star}' for word in form.split()]
                  for form in self.forms)
        return " OR ".join(f"({' AND '.join(words)})" for words in quoted)


# Rows that hold pieces hold this.
MARKED = Term(MARK, (MARK,))


class Row(msgspec.Struct, frozen=True):
    """A candidate: its segmented key and text, who said it, how it
    begins as it was written (HEAD characters), and when it was made. A
    question finds who said it as it finds words of the text."""

    rid: int
    key: str
    text: str
    sender: str | None
    head: str
    made_at: str = ""

    @property
    def is_cjk(self) -> bool:
        """Whether it is mainly written without spaces."""
        return spaceless_share(self.head) > MOSTLY


class Words(msgspec.Struct, frozen=True):
    """The word score of a row: its sum, the share of the question's weight
    that it covers, and how much it holds of each term, 0 to 1."""

    bm25: float
    coverage: float
    shares: Mapping[int, float]

    @property
    def held(self) -> tuple[int, ...]:
        """The terms that it can be said to hold."""
        return tuple(sorted(i for i, share in self.shares.items()
                            if share >= _HELD))


class Pieces(msgspec.Struct, frozen=True):
    """What is known of the pieces of words: the share of the rows that
    hold pieces, and how many hold each."""

    share: float = 0.0
    holders: Mapping[str, int] = {}


_NO_PIECES = Pieces()


def build_term(word: str, pieces: tuple[str, ...] = ()) -> Term:
    """A segmented word as a term."""
    others = (" ".join(map(stem, other.split())) for other in variants(word))
    return Term(word, tuple(dict.fromkeys((stem(word), *others))),
                pieces=pieces)


def list_pieces(terms: Iterable[Term]) -> list[Term]:
    """The pieces of all terms, as terms, each once."""
    return [Term(piece, (piece,)) for piece in dict.fromkeys(
        piece for term in terms for piece in term.pieces)]


def weigh(terms: Sequence[Term], holders: Sequence[int], pieces: Pieces,
          total: int) -> list[float]:
    """What each term weighs. Where rows hold pieces, a word weighs what
    its pieces do on average, and a long one, which tells more, more."""
    found = []
    for term, held in zip(terms, holders, strict=True):
        if not pieces.share or not term.pieces:
            found.append(weight(term, held, total))
            continue
        mean = sum(weight(term, held + pieces.holders.get(piece, 0), total)
                   for piece in term.pieces) / len(term.pieces)
        found.append(mean * (len(term.pieces) / PIECES)
                     ** (_LENGTH * pieces.share))
    return found


def weight(term: Term, holders: int, total: int) -> float:
    """Smoothed idf: positive in every store, largest for unknown words."""
    rows = max(total, holders) + _UNSEEN_ROWS
    found = math.log(1 + rows / (holders + 1))
    if term.text in WEAK_WORDS:
        return found * _WEAK_WEIGHT
    if is_han_character(term.text):
        # An unknown one is told by its unknown pairs already.
        return found * _CHARACTER_WEIGHT * (1 if holders else 0.5)
    if not is_spaceless(term.text):
        return found
    found *= _PAIR_WEIGHTS.get(find_script(term.text), 1.0)
    if not holders:
        # A pair with a particle in it is always a border.
        return (0.0 if not PARTICLES.isdisjoint(term.text)
                else found * _UNKNOWN_PAIR_WEIGHT)
    return found


def sample_rids(last: int) -> list[int]:
    """Row ids spread evenly up to the last one, SAMPLE at most."""
    return list(range(1, last + 1, -(-last // SAMPLE) or 1))


def count_senders(senders: Sequence[str | None], terms: Iterable[Term],
                  total: int) -> list[int]:
    """In how many of `total` rows each term is a name of the sender, by a
    sample of them: who speaks is a word of what is said, and the name of
    one who says half of it is no rare word."""
    names = Counter(name for name in senders if name)
    known = [(f" {_segmented(name)} ", number)
             for name, number in names.items()]
    return [round(total / len(senders) * sum(
        number for name, number in known
        if any(f" {form} " in name for form in term.forms)))
        if known else 0 for term in terms]


def score_words(rows: Sequence[Row], terms: Sequence[Term],
                weights: Sequence[float], pieces: Pieces = _NO_PIECES,
                total: int = 0) -> dict[int, Words]:
    """The word score of every row. Lengths are compared among the rows."""
    whole = sum(weights) or 1.0
    lengths = [_measure(row.text) for row in rows]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    long = min(1.0, max(0.0, (mean - LENGTHS[0]) / (LENGTHS[1] - LENGTHS[0])))
    b = B_SHORT + long * (B_LONG - B_SHORT)
    single = {form: i for i, term in enumerate(terms) if not term.prefix
              for form in term.forms if " " not in form}
    odd = [(i, form + ("" if terms[i].prefix else " "))
           for i, term in enumerate(terms) for form in term.forms
           if term.prefix or " " in form]
    shares = _share_out(terms, pieces, total)
    found = {}
    for row, length in zip(rows, lengths, strict=True):
        times: dict[int, float] = {}
        beside = row.key if row.sender is None else \
            f"{row.key} {_segmented(row.sender)}"
        held = [*row.text.split(" "), *beside.split(" ")]
        for form, count in Counter(filter(single.__contains__,
                                          held)).items():
            times[single[form]] = times.get(single[form], 0) + count
        for i, form in odd:
            count = f" {row.text} {beside} ".count(" " + form)
            if count:
                times[i] = times.get(i, 0) + count
        partly: dict[int, float] = {}
        for piece in shares.keys() & held:
            for i, share in shares[piece]:
                partly[i] = partly.get(i, 0.0) + share
        for i, share in partly.items():
            times[i] = max(times.get(i, 0), share ** _PARTLY)
        norm = K1 * (1 - b + b * length / mean)
        bm25 = sum(weights[i] * count * (K1 + 1) / (count + norm)
                   for i, count in times.items())
        coverage = min(1.0, sum(weights[i] * min(1.0, count)
                                for i, count in times.items()) / whole)
        found[row.rid] = Words(
            bm25 * coverage ** ((1 - long) / 2), coverage,
            {i: min(1.0, count) for i, count in times.items()})
    return found


def _share_out(terms: Sequence[Term], pieces: Pieces, total: int
               ) -> dict[str, list[tuple[int, float]]]:
    """Of which terms a piece is a part, and how much of each: the rarer
    the more."""
    found: dict[str, list[tuple[int, float]]] = {}
    for i, term in enumerate(terms if pieces.share else ()):
        parts = [weight(Term(piece, ()), pieces.holders.get(piece, 0), total)
                 for piece in term.pieces]
        for piece, part in zip(term.pieces, parts, strict=True):
            found.setdefault(piece, []).append((i, part / sum(parts)))
    return found


def _measure(text: str) -> float:
    """The length of a segmented text in words."""
    stems, mark, pieces = f" {text}".partition(f" {MARK} ")
    return stems.count(" ") + (pieces.count(" ") + 1) / PIECES if mark \
        else stems.count(" ")


@functools.lru_cache(maxsize=256)
def _segmented(name: str) -> str:
    return stem_text(name)


class Merged(msgspec.Struct, frozen=True):
    """What words and meaning give to a score: their sum is the score."""

    by_words: float
    by_meaning: float = 0.0

    @property
    def total(self) -> float:
        return self.by_words + self.by_meaning


class Weights(msgspec.Struct, frozen=True):
    """What a whole point of meaning and of words counts, and how they
    become one score: "measured" (merge), or "seed" (merge_as_seed, and
    nothing else counts)."""

    vector: float = 0.7
    keyword: float = 0.3
    merge: str = "measured"


MEASURED = Weights()


def merge(words: Mapping[int, float], cosines: Mapping[int, float],
          mean: float, weights: Weights) -> dict[int, Merged]:
    """One score from both sides, each in [0, 1], by their weights.

    Word sums are divided by the best of them. Of a cosine counts what it is
    above the mean of the store (nearness), squared, as a share of what both
    texts mean: so the weights say the same for every model, and a text that
    is a little nearer than most does not outrank one with the words. A row
    without a cosine is judged by its words, up to the best of the others.
    """
    best = max(words.values(), default=0.0) or 1.0
    whole = (weights.vector + weights.keyword) or 1.0
    merged = {rid: Merged(
        weights.keyword / whole * words[rid] / best,
        weights.vector / whole * nearness(cosine, mean) ** 2)
        for rid, cosine in cosines.items() if rid in words}
    most = max((one.total for one in merged.values()), default=0.0) or 1.0
    return {rid: merged.get(rid) or Merged(most * value / best)
            for rid, value in words.items()}


def merge_as_seed(words: Mapping[int, float], cosines: Mapping[int, float],
                  weights: Weights) -> dict[int, Merged]:
    """The formula of the documents: 0.7 of the cosine as it is, 0 to 1, and
    0.3 of the word sum divided by the best one; what is missing counts 0."""
    best = max(words.values(), default=0.0) or 1.0
    return {rid: Merged(
        weights.keyword * value / best,
        weights.vector * min(1.0, max(0.0, cosines.get(rid, 0.0))))
        for rid, value in words.items()}


def nearness(cosine: float, mean: float) -> float:
    """A cosine on a scale of its own: 0 at the mean of the store and
    below, 1 for the same text."""
    return max(0.0, (cosine - mean) / (1 - mean)) if mean < 1 else 0.0


def share_with_neighbours(rows: Iterable[Row]) -> float:
    """The part of their gain that neighbours get among rows so long."""
    lengths = [row.text.count(" ") + 1 for row in rows]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    return min(1.0, SPREAD_TOKENS / mean)


def spread(scores: Mapping[int, float],
           beside: Iterable[tuple[int, int, int]],
           gains: Mapping[int, float]) -> dict[int, float]:
    """What rows gain from their neighbours; `beside` holds (row, its
    neighbour, distance), and a neighbour need not have a score yet."""
    gained: dict[int, float] = {}
    for rid, neighbour, distance in beside:
        gained[neighbour] = (gained.get(neighbour, 0.0)
                             + gains[distance] * scores.get(rid, 0.0))
    return gained


def speaks(row: Row, question: str, stems: frozenset[str]) -> bool:
    """Whether a question (in small letters, and its stems) names the
    speaker of a row: its sender, or the label that a line of a transcript
    begins with."""
    label, colon, _ = row.head[:_LABEL_CHARACTERS].partition(": ")
    for name in (row.sender, label if colon and "\n" not in label else None):
        if name and name.lower() in question:
            words = {stem(token) for token in tokens(name)}
            if words and words <= stems:
                return True
    return False


def asks(head: str) -> bool:
    """Whether a text only asks something: what is longer than HEAD, or
    says something of its writer, tells as well."""
    return (len(head) < HEAD
            and any(mark in head for mark in _QUESTION_MARKS)
            and not is_first_person(head))


def is_first_person(text: str) -> bool:
    """Whether a text speaks of its writer."""
    return (_SELF.search(f" {text.lower()}") is not None
            or (not text.isascii()
                and re.search(_SELF_ELSEWHERE, text) is not None))
