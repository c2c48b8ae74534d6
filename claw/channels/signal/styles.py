"""Markdown as a text and the ranges of its styles; pure.

Signal knows bold, italic, strikethrough and monospace; a range is
`start:length:STYLE` in UTF-16 units. A link's address stands behind its
words, a quote's lines begin with ">".
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate

from claw.channels.markup import parse_markdown
from claw.channels.spans import Span
from claw.channels.splitting import split_text
from claw.text.addresses import find_addresses

_STYLES = {"bold": "BOLD", "italic": "ITALIC", "code": "MONOSPACE",
           "strikethrough": "STRIKETHROUGH", "pre": "MONOSPACE"}


def split_markdown(markdown: str, limit_bytes: int,
                   links: Collection[str] | None = None
                   ) -> list[tuple[str, list[str]]]:
    """Pieces of at most so many bytes, each with its ranges. `links` are
    the only addresses that may be links, None: all."""
    text, spans = _insert(*_spell_out(*parse_markdown(markdown)))
    if links is not None:
        text, spans = _insert(text, spans, _disarm(text, links))
    return [(piece, to_ranges(piece, inside)) for piece, inside in split_text(
        text, spans, limit=limit_bytes, length=count_bytes)
        if piece.strip()]


def to_ranges(text: str, spans: Sequence[Span]) -> list[str]:
    """The spans of a text as the daemon wants them."""
    wide = [] if text.isascii() else [
        at for at, letter in enumerate(text) if letter > "\uffff"]
    found = []
    for kind, start, end, _ in spans:
        if kind in _STYLES:
            offset = start + bisect_left(wide, start)
            length = end + bisect_left(wide, end) - offset
            found.append(f"{offset}:{length}:{_STYLES[kind]}")
    return found


def move_range(style: str, units: int) -> str:
    """A range of a text that has so many units before it now."""
    start, _, rest = style.partition(":")
    return f"{int(start) + units}:{rest}"


def count_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


Insertions = Sequence[tuple[int, str]]


def _spell_out(text: str, spans: Sequence[Span]
               ) -> tuple[str, Sequence[Span], Insertions]:
    """What says in words what Signal has no style for."""
    found: list[tuple[int, str]] = []
    for span in spans:
        words = text[span.start:span.end]
        if span.kind == "text_link" and span.extra != words:
            found.append((span.end, f" ({span.extra})"))
        elif span.kind == "blockquote":
            found += [(span.start, "> ")] + [
                (span.start + line.end(), "> ")
                for line in re.finditer("\n", words)]
    return text, spans, sorted(found, key=lambda one: one[0])


def _disarm(text: str, links: Collection[str]) -> Insertions:
    """What makes every address that is none of `links` mere text."""
    found: list[tuple[int, str]] = []
    for start, end in find_addresses(text):
        if text[start:end] in links:
            continue
        for sign in re.finditer(r"(?<=\w)\.(?=\w)|:(?=//)|@",
                                text[start:end]):
            found += [(start + sign.start(), "["), (start + sign.end(), "]")]
    return found


def _insert(text: str, spans: Sequence[Span], insertions: Insertions
            ) -> tuple[str, list[Span]]:
    """A text with more in it, its spans where they belong: what is put at
    the end of one is not a part of it."""
    if not insertions:
        return text, list(spans)
    places = [at for at, _ in insertions]
    added = [0, *accumulate(len(words) for _, words in insertions)]
    pieces, last = [], 0
    for at, words in insertions:
        pieces += [text[last:at], words]
        last = at
    moved = [span._replace(
        start=span.start + added[bisect_right(places, span.start)],
        end=span.end + added[bisect_left(places, span.end)])
        for span in spans]
    return "".join([*pieces, text[last:]]), moved
