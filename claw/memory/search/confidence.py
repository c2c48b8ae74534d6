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
their share. Three things make it the same for languages with rich endings:
a word that the row has in another form counts by its pieces, or by the
square of the beginning that they share; that a row lacks a word of many
forms says less; and a short word (wie, kiedy, para) counts by its length,
since what carries a topic is longer.

Fitted to questions with and without an answer in seventeen languages, in
stores of 3 to 6,000 rows; bench/gate.py measures it.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from math import ceil, log, prod, sqrt
from operator import mul

import msgspec

from claw.core.memory import MIN_RELEVANCE
from claw.memory.search.scoring import Row, Term, Words
from claw.text.segment import find_script, is_spaceless, words

JUDGED = 5  # of the best rows: what a chat is shown
_SCALE = 100
_CHANCE = 0.35
_FOUND_POWER, _DOUBT_POWER = 2.5, 1.5
_BEST = 30  # rows that tell what chance finds
_ROW_TOKENS = (20, 60)
_TOPIC_CHARACTERS = 5  # from here on a word weighs in full
_SHARED = 0.6  # of a word's beginning, and at least so many letters:
_SHARED_CHARACTERS = 4
# How much less it says that a row lacks a word of many forms.
_FORMS = 0.35
_OF_THREE = 2 / 3
# Below this share of the best row's value a row is not shown with it.
_FAR = 0.25


class Confidence(msgspec.Struct, frozen=True):
    """How well a question is answered, 0 to 1, and what that was made of:
    the weight of its words that were found and that are lacking, and what
    of it chance finds as well."""

    value: float = 0.0
    found: float = 0.0
    lacking: float = 0.0
    by_chance: float = 0.0


def judge(terms: Sequence[Term], weights: Sequence[float],
          best: Iterable[tuple[Row, Mapping[int, float]]],
          candidates: Iterable[Words], *, total: int, tokens: float,
          in_pieces: float = 0.0) -> Confidence:
    """The confidence that one of the best rows answers.

    `weights` as scoring.weigh gives them; `best` holds rows and the share
    of each term that each holds; `candidates` are all rows scored, of
    `total` in the store, with `tokens` in one on average; `in_pieces` is
    the share of the rows that hold words in pieces.
    """
    worth = [weight * _tell(term, in_pieces)
             for term, weight in zip(terms, weights, strict=True)]
    whole = sum(worth)
    lacks = [1 - _FORMS * in_pieces if term.pieces else 1.0
             for term in terms]
    found, lacking = max((
        (sum(map(mul, worth, held)),
         sum(map(prod, zip(worth, lacks, (1 - one for one in held),
                           strict=True))))
        for held in (_hold(terms, row, shares) for row, shares in best)),
        default=(0.0, whole))
    usual = sum(nlargest(_BEST, (
        sum(worth[i] * share for i, share in row.shares.items())
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


def _tell(term: Term, in_pieces: float) -> float:
    """How much a word tells, 0 to 1: by its length; where words are held
    in pieces they weigh by that already. A letter of a script that is cut
    into threes stands in three terms, of one cut into pairs in two."""
    if is_spaceless(term.text):
        return _OF_THREE if find_script(term.text) == "sss" else 1.0
    length = min(1.0, len(term.text) / _TOPIC_CHARACTERS)
    return length ** (1 - in_pieces / 2) if term.pieces else length


def _hold(terms: Sequence[Term], row: Row, shares: Mapping[int, float]
          ) -> list[float]:
    """How much of each term a row holds, 0 to 1."""
    text = f" {' '.join(words(row.head))}"
    return [max(shares.get(i, 0.0), _share_beginning(term.text, text) ** 2)
            for i, term in enumerate(terms)]


def _share_beginning(word: str, text: str) -> float:
    """How much of a word's beginning some word of a text begins with."""
    least = max(_SHARED_CHARACTERS, ceil(_SHARED * len(word)))
    return next((length / len(word)
                 for length in range(len(word), least - 1, -1)
                 if f" {word[:length]}" in text), 0.0)
