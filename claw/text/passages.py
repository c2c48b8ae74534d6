"""Find the sentences of given texts that answer a question. Pure.

A text is cut into sentences and lines, each scored by the share of the
question's terms that it holds, a rare term weighing more than a common one
and a long sentence counting less. What is returned is a piece of the
source, character for character.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from claw.core.provider import Passage
from claw.text.segment import (
    is_han_character,
    is_spaceless,
    query_terms,
    tokens,
)
from claw.text.stem import stem
from claw.text.stopwords import PARTICLES, WEAK_WORDS
from claw.text.variants import variants

MAX_PIECE = 600     # characters; longer ones are cut at a space
_WRAPPED = 50       # a shorter line is not the middle of a wrapped sentence
_K, _B = 0.6, 0.4   # saturation and length, as in BM25
_CHARACTER_WEIGHT = 0.3
_UNKNOWN_PAIR_WEIGHT = 0.3
_WEAK_WEIGHT = 0.3

# The end of a sentence, with closing quotes; in CJK no space follows.
# No look-ahead: a megabyte of full stops must stay linear.
_end = re.compile(r"""[.!?…]+["'”’)\]]*|[。！？｡]+[」』”’）]*""")
_abbreviation = re.compile(
    r"(?:\b(?:[A-Za-z]|[Mm]rs?|[Dd]r|[Pp]rof|[Ss]t|vs|etc|e\.g|i\.e|[Nn]o|"
    r"approx|Fig|Jr|Sr))\.$")
# "am 14. März", "14. maaliskuuta", "im 3. Stock"; after a sentence that ends
# with a number a capital of another word follows.
_number = re.compile(r"(?<!\w)\d{1,2}\.$")
_counted = re.compile(
    r"[ \u00a0](?:[^\W\d_A-Z]|Jan|Feb|März|Apr|Mai\b|Jun|Jul|Aug|Sep|Okt"
    r"|Nov|Dez|Jahrhundert|Klasse|Stock|Etage|Tag|Woche|Monat|Platz|Mal\b"
    r"|Geburtstag|Kapitel)")
_item = re.compile(r"\s*(?:[-*+•>#|]|\d+[.)]\s|```)")


class _Term(NamedTuple):
    """A word of the question, and the stems of all its forms."""

    word: str
    stems: frozenset[str]


class _Piece(NamedTuple):
    passage: Passage
    text: str
    counts: Counter[str]
    length: int


def best_passages(question: str, passages: Sequence[Passage],
                  limit: int) -> list[tuple[float, Passage]]:
    """The pieces that match a question best, at most `limit`, best first.

    Scores are in (0, 1]: 1 when a short piece holds every term. Each text
    stands exactly so in its passage, with the passage's source; the same
    text is given once. Ties keep the order of the sources.
    """
    terms = list({term.stems: term for term in map(
        _term, query_terms(question))}.values())
    if not terms or limit <= 0:
        return []
    pieces = [piece for passage in passages
              for piece in _pieces(passage)]
    weights = _weights(terms, pieces)
    whole = sum(weights.values()) or 1.0
    mean = sum(piece.length for piece in pieces) / (len(pieces) or 1)
    scored = [(score / whole, piece) for piece in pieces
              if (score := _score(piece, weights, mean))]
    scored.sort(key=lambda pair: -pair[0])
    chosen: dict[tuple[str, str], tuple[float, Passage]] = {}
    for score, piece in scored:
        if len(chosen) == limit:
            break
        chosen.setdefault((piece.passage.source, piece.text), (
            min(1.0, score), Passage(piece.passage.source, piece.text)))
    return list(chosen.values())


def sentences(text: str) -> list[str]:
    """A text in sentences and lines, without outer blanks, nothing left
    out but blanks."""
    return [piece.strip() for start, end in _spans(text)
            if (piece := text[start:end]).strip()]


def _pieces(passage: Passage) -> Iterator[_Piece]:
    for text in sentences(passage.text):
        if found := tokens(text):
            yield _Piece(passage, text, Counter(map(stem, found)),
                         len(found))


def _term(word: str) -> _Term:
    # A form in two words is left out: pieces are counted by the word.
    return _Term(word, frozenset({stem(word), *(
        stem(form) for form in variants(word) if " " not in form)}))


def _count(term: _Term, piece: _Piece) -> int:
    return sum(piece.counts.get(form, 0) for form in term.stems)


def _weights(terms: list[_Term], pieces: list[_Piece]) -> dict[_Term, float]:
    holders = {term: sum(_count(term, piece) > 0 for piece in pieces)
               for term in terms}
    rarest = min(filter(None, holders.values()), default=1)
    # A term that no piece has weighs as much as the rarest that one has:
    # how long the text is must not decide the scores.
    return {term: _factor(term.word, known=number > 0) * math.log(
                1 + (len(pieces) + 1) / ((number or rarest) + 1))
            for term, number in holders.items()}


def _factor(word: str, *, known: bool) -> float:
    """How much a word counts beside others of its rarity."""
    if word in WEAK_WORDS:
        return _WEAK_WEIGHT
    if is_han_character(word):
        return _CHARACTER_WEIGHT
    if not known and is_spaceless(word):
        return (0.0 if not PARTICLES.isdisjoint(word)
                else _UNKNOWN_PAIR_WEIGHT)
    return 1.0


def _score(piece: _Piece, weights: dict[_Term, float], mean: float) -> float:
    norm = _K * (1 - _B + _B * piece.length / (mean or 1))
    score = 0.0
    for term, weight in weights.items():
        count = _count(term, piece)
        if count:
            score += weight * min(1.0, count * (1 + _K) / (count + norm))
    return score


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for block_end in _line_ends(text):
        for end in _sentence_ends(text, start, block_end):
            yield from _cut(text, start, end)
            start = end
        yield from _cut(text, start, block_end)
        start = block_end


def _line_ends(text: str) -> Iterator[int]:
    """Where a line ends that the next one does not go on with."""
    lines = text.splitlines(keepends=True)
    position = 0
    for number, line in enumerate(lines):
        position += len(line)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if not _goes_on(line, following):
            yield position


def _goes_on(line: str, following: str) -> bool:
    """Whether blank lines follow (they are stripped later), or a sentence
    was wrapped here: a long line of prose, then one that begins in lower
    case."""
    return following.isspace() or (
        len(line) >= _WRAPPED and following[:1].islower()
        and not _item.match(line) and not _item.match(following))


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    for match in _end.finditer(text, start, end):
        stop = match.end()
        if match[0][0] in ".!?…" and not text[stop:stop + 1].isspace():
            continue
        before = max(start, match.start() - 8)
        if match[0] == "." and (
                _abbreviation.search(text, before, stop)
                or (_number.search(text, before, stop)
                    and _counted.match(text, stop))):
            continue
        yield stop


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > MAX_PIECE:
        space = text.rfind(" ", start + MAX_PIECE // 2, start + MAX_PIECE)
        stop = space + 1 if space > 0 else start + MAX_PIECE
        yield start, stop
        start = stop
    yield start, end
