"""How sure it is that a question is answered at all, in every language.

Weighed are the words of the question that the best row holds against those
that it lacks, and against what a store of this size would hold by chance.
With weights in nats (smoothed idf):

    H  what the row holds, less what the best rows hold on average (_CHANCE)
    X  what it lacks
    L  log of the number of rows, n  tokens in a row, 20 to 60
    confidence = H^2.5 / (H^2.5 + n (X L)^1.5 / 100)

It is 1 where nothing is lacking. Half of a question means more in a store
of three rows than in one of a thousand, and two rare words mean more than
their share. Two things make it the same for languages with rich endings:
a word that the row has with another ending counts by the square of what
they share, and a short word (wie, kiedy, para) counts by its length, since
what carries a topic is longer.

Fitted to questions with and without an answer in seventeen languages, in
stores of 3 to 6,000 rows; bench/gate.py measures it.
"""

from collections.abc import Iterable, Sequence
from heapq import nlargest
from math import ceil, log, sqrt
from typing import NamedTuple

from claw.core.memory import MIN_RELEVANCE
from claw.memory.search.scoring import Row, Term, Words
from claw.text.segment import is_spaceless, words

JUDGED = 5  # of the best rows: what a chat is shown
_SCALE = 100
_CHANCE = 0.35
_FOUND_POWER, _DOUBT_POWER = 2.5, 1.5
_BEST = 30  # rows that tell what chance finds
_ROW_TOKENS = (20, 60)
_TOPIC_CHARACTERS = 5  # from here on a word weighs in full
_SHARED = 0.6  # of a word's beginning, and at least so many letters:
_SHARED_CHARACTERS = 4
# Below this share of the best row's value a row is not shown with it.
_FAR = 0.25


class Confidence(NamedTuple):
    """How well a question is answered, 0 to 1, and what that was made of:
    the weight of its words that were found and that are lacking, and what
    of it chance finds as well."""

    value: float = 0.0
    found: float = 0.0
    lacking: float = 0.0
    by_chance: float = 0.0


def judge(terms: Sequence[Term], weights: Sequence[float],
          best: Iterable[tuple[Row, Sequence[int]]],
          candidates: Iterable[Words], *, total: int, tokens: float
          ) -> Confidence:
    """The confidence that one of the best rows answers.

    `weights` as scoring.weight gives them; `best` holds rows and the
    numbers of the terms each holds; `candidates` are all rows scored, of
    `total` in the store, with `tokens` in one on average.
    """
    shares = [weight * _tell(term)
              for term, weight in zip(terms, weights, strict=True)]
    found = max((_add_up(terms, shares, row, held) for row, held in best),
                default=0.0)
    lacking = max(0.0, sum(shares) - found)
    usual = sum(nlargest(_BEST, (sum(shares[i] for i in row.held)
                                 for row in candidates))) / _BEST
    sure = max(0.0, found - _CHANCE * usual) ** _FOUND_POWER
    low, high = _ROW_TOKENS
    doubt = (min(high, max(low, tokens))
             * (lacking * log(total + 3)) ** _DOUBT_POWER / _SCALE)
    return Confidence(sure / (sure + doubt) if sure else 0.0,
                      found, lacking, _CHANCE * usual)


def grade(confidence: float, of_best: float) -> float:
    """The score of a row, 0 to 1: where the question is answered, the rows
    that stand close behind the best pass with it."""
    if confidence < MIN_RELEVANCE:
        return confidence * sqrt(of_best)
    if of_best < _FAR:
        return MIN_RELEVANCE * sqrt(of_best)
    return MIN_RELEVANCE + (confidence - MIN_RELEVANCE) * sqrt(of_best)


def _tell(term: Term) -> float:
    """How much a word tells by its length, 0 to 1."""
    return 1.0 if is_spaceless(term.text) else min(
        1.0, len(term.text) / _TOPIC_CHARACTERS)


def _add_up(terms: Sequence[Term], shares: Sequence[float], row: Row,
            held: Sequence[int]) -> float:
    """The weight of the terms that a row holds, in full or in part."""
    text = f" {' '.join(words(row.head))}"
    return sum(share if i in held else share * _share_beginning(
        term.text, text) ** 2
        for i, (term, share) in enumerate(zip(terms, shares, strict=True)))


def _share_beginning(word: str, text: str) -> float:
    """How much of a word's beginning some word of a text begins with."""
    least = max(_SHARED_CHARACTERS, ceil(_SHARED * len(word)))
    return next((length / len(word)
                 for length in range(len(word), least - 1, -1)
                 if f" {word[:length]}" in text), 0.0)
