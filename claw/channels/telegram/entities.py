"""What Telegram calls entities: stretches of a message with a format.

Offsets and lengths count UTF-16 units; a `Span` counts code points.
Source: core.telegram.org/bots/api#messageentity and #formatting-options.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import NotRequired, TypedDict

from claw.channels.markup import parse_markdown
from claw.channels.spans import Span
from claw.channels.splitting import split_text

TEXT_UNITS = 4096
MAX_ENTITIES = 100  # the server ignores more


class Entity(TypedDict):
    """MessageEntity; `offset` and `length` in UTF-16 units."""

    type: str
    offset: int
    length: int
    url: NotRequired[str]
    language: NotRequired[str]


def utf16_len(text: str) -> int:
    """The length of a text as Telegram counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split_markdown(markdown: str, limit: int = TEXT_UNITS
                   ) -> list[tuple[str, list[Entity]]]:
    """Markdown as messages that Telegram takes; [] for a blank one."""
    text, spans = parse_markdown(markdown)
    return [(piece, to_entities(piece, inside))
            for piece, inside in split_text(
                text, spans, limit=limit, length=utf16_len,
                max_spans=MAX_ENTITIES) if piece.strip()]


def to_entities(text: str, spans: Iterable[Span]) -> list[Entity]:
    """The spans of a text as the wire wants them."""
    wide = [] if text.isascii() else [
        at for at, letter in enumerate(text) if letter > "\uffff"]
    found: list[Entity] = []
    for kind, start, end, extra in spans:
        offset = start + bisect_left(wide, start)
        entity = Entity(type=kind, offset=offset,
                        length=end + bisect_left(wide, end) - offset)
        if extra and kind == "text_link":
            entity["url"] = extra
        elif extra and kind == "pre":
            entity["language"] = extra
        found.append(entity)
    return found
