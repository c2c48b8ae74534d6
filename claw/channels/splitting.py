"""Long messages in pieces that a platform takes; pure.

    split_text("...", limit=2000)                      # characters
    split_text(*parse_markdown("..."), limit=4096, length=utf16_len)
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable

from claw.channels.spans import Span, order, trim

_MAX_CLUSTER = 64  # code points that are held together
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？][”’」』）]*")
_BLANK = re.compile(r"\s")
# Letters and signs that show nothing; a message of them is refused.
_UNSEEN = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0\ufffc")


def utf16_len(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split_text(text: str, spans: Iterable[Span] = (), *, limit: int,
               length: Callable[[str], int] = len,
               max_spans: int = 100) -> list[tuple[str, list[Span]]]:
    """Pieces of at most `limit` by `length` and `max_spans` spans, each
    with its own spans.

    Cut between paragraphs, lines, sentences, words or graphemes, whatever
    leaves a piece that is not small. Put together the pieces are the text
    without white space at its ends and at the cuts; the indentation of a
    line of code stays. A piece in which nothing can be seen is left out.
    A span over a cut goes on in the next piece. `length` counts at least
    1 for each character; raises ValueError where a single one is longer
    than `limit`.
    """
    pieces: list[tuple[str, list[Span]]] = []
    cutter = _Cutter(text, sorted(spans, key=order), limit, length,
                     max_spans)
    while piece := cutter.next():
        start, end, inside = piece
        if any(map(_shows, text[start:end])):
            pieces.append((text[start:end], [
                span._replace(start=span.start - start,
                              end=span.end - start) for span in inside]))
    return pieces


class _Cutter:
    """A walk through the text, piece by piece."""

    def __init__(self, text: str, spans: list[Span], limit: int,
                 length: Callable[[str], int], max_spans: int) -> None:
        self._text = text
        self._spans = spans
        self._limit = limit
        self._length = length
        self._max_spans = max_spans
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
        most = self._few_enough(start, self._reach(start))
        end = (most if most >= len(self._text)
               else self._border(start, most))
        self._at = self._skip(end)
        while end > start and self._text[end - 1].isspace():
            end -= 1
        return start, end, self._inside(start, end)

    def _reach(self, start: int) -> int:
        """How far a piece from here may go at most."""
        most = min(start + self._limit, len(self._text))
        if self._length(self._text[start:most]) <= self._limit:
            return most
        reach = start + bisect_right(
            range(start + 1, most + 1), self._limit,
            key=lambda end: self._length(self._text[start:end]))
        if reach == start:
            raise ValueError("a piece must have room for a character")
        return reach

    def _few_enough(self, start: int, most: int) -> int:
        """`most`, or less where too many spans come before it."""
        while (self._next < len(self._spans)
               and self._spans[self._next].start < most):
            self._open.append(self._spans[self._next])
            self._next += 1
        self._open = [s for s in self._open if s.end > start]
        if len(self._open) > self._max_spans:
            first_over = self._open[self._max_spans].start
            return first_over if first_over > start else most
        return most

    def _inside(self, start: int, end: int) -> list[Span]:
        found = [trim(self._text, span._replace(start=max(span.start, start),
                                                end=min(span.end, end)))
                 for span in self._open
                 if span.start < end and span.end > start]
        found = [span for span in found if span.end > span.start]
        return sorted(found[:self._max_spans], key=order)

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
        return next((at for at in range(
            most, max(start, most - _MAX_CLUSTER), -1)
            if not _holds(self._text, at)), most)


def _holds(text: str, at: int) -> bool:
    """Whether a cut before text[at] would part what is one sign."""
    before, after = text[at - 1], text[at]
    if ("\u200d" in (before, after)  # joined emoji
            or unicodedata.category(after)[0] == "M"  # accents, vowel signs
            or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
            or "\U000e0020" <= after <= "\U000e007f"):  # flags of regions
        return True
    if _is_flag_half(after) and _is_flag_half(before):
        first = at - 1
        while first and at - first < _MAX_CLUSTER and _is_flag_half(
                text[first - 1]):
            first -= 1
        return (at - first) % 2 == 1
    if "\u1160" <= after <= "\u11ff":  # vowels and ends of Hangul
        return "\u1100" <= before <= "\u11ff" or "가" <= before <= "힣"
    return before == "\r" and after == "\n"


def _is_flag_half(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _shows(letter: str) -> bool:
    if letter in _UNSEEN or "\ufe00" <= letter <= "\ufe0f":
        return False
    return (unicodedata.category(letter)[0] not in "ZC"
            or unicodedata.category(letter) == "Co")
