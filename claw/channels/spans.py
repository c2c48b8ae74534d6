"""Stretches of a text that have a format; pure.

Kinds are bold, italic, strikethrough, code, pre, text_link and blockquote.
`tidy` makes spans that platforms take as they are: trimmed, not empty,
properly nested, sorted; code and pre share no character with bold, italic,
strikethrough or a link.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

STYLES = ("bold", "italic", "strikethrough")
_SOLID = ("code", "pre")
_RANK = {"blockquote": 0, "text_link": 1, "bold": 2, "italic": 3,
         "strikethrough": 4}


class Span(NamedTuple):
    """`kind` holds for text[start:end]; `extra` is a link's address or
    the language of a pre."""

    kind: str
    start: int
    end: int
    extra: str = ""


def tidy(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans as platforms take them."""
    reached: dict[str, int] = {}
    whole: list[Span] = []  # without those that another of the kind holds
    for span in sorted((span for span in spans if span.end > span.start),
                       key=order):
        if span.end > reached.get(span.kind, -1):
            reached[span.kind] = span.end
            whole.append(span)
    links = [span for span in whole if span.kind == "text_link"]
    solid = [span for span in whole if span.kind in _SOLID
             and not _inside(span, links)]
    kept: list[Span] = []
    for span in whole:
        if span.kind in STYLES:
            kept.extend(_carve(span, solid))
        elif span.kind not in _SOLID:
            kept.append(span)
    trimmed = [trim(text, span) for span in [*kept, *solid]]
    return sorted([span for span in trimmed if span.end > span.start],
                  key=order)


def order(span: Span) -> tuple[int, int, int]:
    """Outer spans before what they hold."""
    return span.start, -span.end, _RANK.get(span.kind, 9)


def trim(text: str, span: Span) -> Span:
    """Without white space at the ends; a pre keeps its indentation."""
    start, end = span.start, span.end
    while end > start and text[end - 1].isspace():
        end -= 1
    if span.kind == "pre":
        first = start  # of the first line that is not blank
        while first < end and text[first].isspace():
            first += 1
        start = max(start, text.rfind("\n", start, first) + 1)
    else:
        while start < end and text[start].isspace():
            start += 1
    return span._replace(start=start, end=end)


def _inside(span: Span, outer: Sequence[Span]) -> bool:
    at = bisect_right(outer, span.start, key=attrgetter("start"))
    return at > 0 and outer[at - 1].end >= span.end


def _carve(span: Span, solid: Sequence[Span]) -> list[Span]:
    """What is left of a span around the solid ones."""
    left: list[Span] = []
    start = span.start
    at = bisect_left(solid, start, key=attrgetter("start"))
    while at < len(solid) and solid[at].start < span.end:
        left.append(span._replace(start=start, end=solid[at].start))
        start = solid[at].end
        at += 1
    left.append(span._replace(start=start))
    return [part for part in left if part.end > part.start]
