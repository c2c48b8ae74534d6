"""What Telegram calls entities: stretches of a message with a format.

Offsets and lengths count UTF-16 units; inside claw a `Span` counts code
points, and only the last step converts. `tidy` makes spans that the server
takes as they are: trimmed, not empty, properly nested, sorted; code and pre
share no character with bold, italic, strikethrough or a link.
Source: core.telegram.org/bots/api#messageentity and #formatting-options.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, NotRequired, TypedDict

STYLES = ("bold", "italic", "strikethrough")
_SOLID = ("code", "pre")
_RANK = {"blockquote": 0, "text_link": 1, "bold": 2, "italic": 3,
         "strikethrough": 4}


class Entity(TypedDict):
    """MessageEntity; `offset` and `length` in UTF-16 units."""

    type: str
    offset: int
    length: int
    url: NotRequired[str]
    language: NotRequired[str]


class Span(NamedTuple):
    """`kind` holds for text[start:end]; `extra` is a link's address or
    the language of a pre."""

    kind: str
    start: int
    end: int
    extra: str = ""


def utf16_len(text: str) -> int:
    """The length of a text as Telegram counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class Units:
    """Code points of a text to UTF-16 units and back."""

    def __init__(self, text: str) -> None:
        self._wide = [] if text.isascii() else [
            at for at, letter in enumerate(text) if letter > "\uffff"]
        self._wide_units = [at + n for n, at in enumerate(self._wide)]

    def of(self, point: int) -> int:
        return point + bisect_left(self._wide, point)

    def point(self, unit: int) -> int:
        """The last code point that begins at or before this unit."""
        return unit - bisect_left(self._wide_units, unit)


def to_entities(spans: Iterable[Span], units: Units,
                base: int = 0) -> list[Entity]:
    """Spans as the wire wants them, counted from code point `base`."""
    zero = units.of(base)
    found: list[Entity] = []
    for kind, start, end, extra in spans:
        offset = units.of(start)
        entity = Entity(type=kind, offset=offset - zero,
                        length=units.of(end) - offset)
        if extra and kind == "text_link":
            entity["url"] = extra
        elif extra and kind == "pre":
            entity["language"] = extra
        found.append(entity)
    return found


def to_spans(entities: Iterable[Entity], units: Units) -> list[Span]:
    """The way back."""
    return [Span(e["type"], units.point(e["offset"]),
                 units.point(e["offset"] + e["length"]),
                 e.get("url") or e.get("language") or "")
            for e in entities]


def tidy(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans as the server takes them."""
    whole = _outermost([span for span in spans if span.end > span.start])
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
        start = _line_start(text, start, end)
    else:
        while start < end and text[start].isspace():
            start += 1
    return span._replace(start=start, end=end)


def _line_start(text: str, start: int, end: int) -> int:
    """The begin of the first line that is not blank."""
    first = start
    while first < end and text[first].isspace():
        first += 1
    return max(start, text.rfind("\n", start, first) + 1)


def _outermost(spans: list[Span]) -> list[Span]:
    """In order, without a span that another of its kind holds."""
    reached: dict[str, int] = {}
    kept: list[Span] = []
    for span in sorted(spans, key=order):
        if span.end > reached.get(span.kind, -1):
            reached[span.kind] = span.end
            kept.append(span)
    return kept


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
