"""What Telegram calls entities: stretches of a message with a format.

Offsets and lengths count UTF-16 units; a `Span` counts code points.
Source: core.telegram.org/bots/api#messageentity and #formatting-options.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import NotRequired, TypedDict

from claw.channels.markup import parse_markdown
from claw.channels.rendering import disarm_spans
from claw.channels.spans import Span
from claw.channels.splitting import split_text, utf16_len

TEXT_UNITS = 4096
MAX_ENTITIES = 100  # the server ignores more


class Entity(TypedDict):
    """MessageEntity; `offset` and `length` in UTF-16 units."""

    type: str
    offset: int
    length: int
    url: NotRequired[str]
    language: NotRequired[str]


def cut_units(text: str, most: int) -> str:
    """The text, at most so many UTF-16 units of it; no character halved."""
    units = text.encode("utf-16-le", "surrogatepass")[:2 * most]
    return units.decode("utf-16-le", "ignore")


def split_markdown(markdown: str, limit: int = TEXT_UNITS,
                   links: Collection[str] | None = None
                   ) -> list[tuple[str, list[Entity]]]:
    """Markdown as messages that Telegram takes; [] for a blank one. `links`
    are the only addresses that may be live, None: all."""
    text, spans = parse_markdown(markdown)
    return [(piece, to_entities(piece, inside) if links is None
             else disarm_entities(piece, inside, links))
            for piece, inside in split_text(
                text, spans, limit=limit, length=utf16_len,
                max_spans=MAX_ENTITIES) if piece.strip()]


def disarm_entities(text: str, spans: Iterable[Span],
                    links: Collection[str]) -> list[Entity]:
    """The entities of a text in which nothing but `links` is a link."""
    safe = disarm_spans(text, spans, links)
    return ([_cover_all(text)] if len(safe) > MAX_ENTITIES  # or some go
            else to_entities(text, safe))


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


def cover_code(text: str, entities: Sequence[Entity]) -> list[Entity]:
    """All of a text as code where any of it was; else nothing."""
    return ([_cover_all(text)] if any(
        entity["type"] in ("code", "pre") for entity in entities) else [])


def _cover_all(text: str) -> Entity:
    return Entity(type="pre", offset=0, length=utf16_len(text))
