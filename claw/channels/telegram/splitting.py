"""Long messages in pieces that Telegram takes."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable

from claw.channels.telegram.entities import (
    Entity,
    Span,
    Units,
    order,
    to_entities,
    to_spans,
    trim,
)

MAX_ENTITIES = 100  # the server ignores more
_MAX_CLUSTER = 64  # code points that are held together
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？][”’」』）]*")
_BLANK = re.compile(r"\s")
# Letters and signs that show nothing; a message of them is refused.
_UNSEEN = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0\ufffc")


def split(text: str, entities: list[Entity],
          limit: int = 4096) -> list[tuple[str, list[Entity]]]:
    """Pieces of at most `limit` UTF-16 units and 100 entities.

    Cut between paragraphs, lines, sentences, words or graphemes, whatever
    leaves a piece that is not small. Put together the pieces are the text
    without white space at its ends and at the cuts; the indentation of a
    line of code stays. A piece in which nothing can be seen is left out.
    An entity over a cut goes on in the next piece. limit is 2 or more.
    """
    if limit < 2:
        raise ValueError("a piece must have room for a surrogate pair")
    units = Units(text)
    spans = sorted(to_spans(entities, units), key=order)
    pieces: list[tuple[str, list[Entity]]] = []
    cutter = _Cutter(text, spans, units, limit)
    while piece := cutter.next():
        start, end, inside = piece
        if _is_visible(text[start:end]):
            pieces.append((text[start:end],
                           to_entities(inside, units, start)))
    return pieces


class _Cutter:
    """A walk through the text, piece by piece."""

    def __init__(self, text: str, spans: list[Span], units: Units,
                 limit: int) -> None:
        self._text = text
        self._spans = spans
        self._units = units
        self._limit = limit
        self._pres = [(span.start, span.end) for span in spans
                      if span.kind == "pre"]
        self._next = 0
        self._open: list[Span] = []
        self._at = self._skip(0)

    def next(self) -> tuple[int, int, list[Span]] | None:
        """The next piece as (start, end, its spans)."""
        start = self._at
        if start >= len(self._text):
            return None
        most = self._units.point(self._units.of(start) + self._limit)
        most = min(most, len(self._text))
        most = self._few_enough(start, most)
        end = most
        if most < len(self._text):
            end = self._border(start, most)
        self._at = self._skip(end)
        while end > start and self._text[end - 1].isspace():
            end -= 1
        return start, end, self._inside(start, end)

    def _few_enough(self, start: int, most: int) -> int:
        """`most`, or less where more than 100 entities come before it."""
        while (self._next < len(self._spans)
               and self._spans[self._next].start < most):
            self._open.append(self._spans[self._next])
            self._next += 1
        self._open = [s for s in self._open if s.end > start]
        if len(self._open) > MAX_ENTITIES:
            first_over = self._open[MAX_ENTITIES].start
            return first_over if first_over > start else most
        return most

    def _inside(self, start: int, end: int) -> list[Span]:
        found = [trim(self._text, span._replace(start=max(span.start, start),
                                                end=min(span.end, end)))
                 for span in self._open
                 if span.start < end and span.end > start]
        found = [span for span in found if span.end > span.start]
        return sorted(found[:MAX_ENTITIES], key=order)

    def _skip(self, at: int) -> int:
        """Past white space, but not past the indentation of code."""
        first = at
        while first < len(self._text) and self._text[first].isspace():
            first += 1
        line = max(at, self._text.rfind("\n", at, first) + 1)
        if line > at or at == 0:
            return line if self._pre(line) else first
        return first

    def _pre(self, at: int) -> tuple[int, int] | None:
        """The code block that holds this place."""
        before = bisect_right(self._pres, (at, len(self._text) + 1))
        pre = self._pres[before - 1] if before else None
        return pre if pre and pre[0] <= at < pre[1] else None

    def _border(self, start: int, most: int) -> int:
        """Where to cut; more than `start`, at most `most`."""
        half = start + (most - start + 1) // 2
        pre = self._pre(most)
        if pre and pre[0] > start + (most - start) // 4:
            return pre[0]  # a block that begins late goes whole
        for sign in ("\n\n", "\n"):
            at = self._text.rfind(sign, half, most + 1)
            if at > start:
                return at
        window = self._text[half:most + 1]
        ends = [m.end() for m in _SENTENCE.finditer(window)]
        ends = [end for end in ends if half + end <= most]
        if ends and not pre:
            return half + ends[-1]
        quarter = start + (most - start) // 4
        for at in range(most, quarter, -1):
            if _BLANK.match(self._text, at) and at > start:
                return at
        return _grapheme_border(self._text, start, most)


def _grapheme_border(text: str, start: int, most: int) -> int:
    for at in range(most, max(start, most - _MAX_CLUSTER), -1):
        if not _holds(text, at):
            return at
    return most


def _holds(text: str, at: int) -> bool:
    """Whether a cut before text[at] would part what is one sign."""
    before, after = text[at - 1], text[at]
    if before == "\u200d" or after == "\u200d":  # joined emoji
        return True
    if unicodedata.category(after)[0] == "M":  # accents, vowel signs
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":  # skin tones
        return True
    if "\U000e0020" <= after <= "\U000e007f":  # flags of regions
        return True
    if _is_flag_half(after) and _is_flag_half(before):
        return _flag_halves_before(text, at) % 2 == 1
    if "\u1160" <= after <= "\u11ff":  # vowels and ends of Hangul
        return "\u1100" <= before <= "\u11ff" or "가" <= before <= "힣"
    return before == "\r" and after == "\n"


def _is_flag_half(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    first = at
    while first and at - first < _MAX_CLUSTER and _is_flag_half(
            text[first - 1]):
        first -= 1
    return at - first


def _is_visible(letters: Iterable[str]) -> bool:
    return any(_shows(letter) for letter in letters)


def _shows(letter: str) -> bool:
    if letter in _UNSEEN or "\ufe00" <= letter <= "\ufe0f":
        return False
    return (unicodedata.category(letter)[0] not in "ZC"
            or unicodedata.category(letter) == "Co")
