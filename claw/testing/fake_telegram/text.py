"""What becomes of a text that a bot sends: cleaned, trimmed, its entities
checked and moved along. Lengths and offsets are UTF-16 code units.

Source: core.telegram.org/bots/api ("MessageEntity", "HTML style") and the
answers of the real server.
"""

import re
from collections.abc import Iterable
from typing import Any

from claw.testing.fake_telegram.errors import ApiError, bad

Entity = dict[str, Any]

_KINDS = {"bold", "italic", "underline", "strikethrough", "spoiler", "code",
          "pre", "text_link", "text_mention", "custom_emoji", "blockquote",
          "expandable_blockquote", "date_time"}
# Found by the server itself; a bot's word on them is ignored.
_FOUND = {"mention", "hashtag", "cashtag", "bot_command", "url", "email",
          "phone_number", "bank_card_number"}
_DROPPED = {"\r", "\u0333", "\u033f", "\u030a",
            *map(chr, range(0x2028, 0x202F))}
_ODD = re.compile("[\x00-\x09\x0b-\x1f\u0333\u033f\u030a\u2028-\u202e]")
_INVISIBLE = re.compile(r"[\s\u200b-\u200f\u2060-\u2064\ufeff\u00ad]*")


def units(text: str) -> int:
    """The length of a text in UTF-16 code units."""
    return len(text) + sum(c > "\uffff" for c in text)


def shown(text: str, entities: Any = None) -> tuple[str, list[Entity]]:
    """The text and entities that people get to see.

    Raises ApiError for a text that is no Unicode and for entities that
    are malformed or do not fit.
    """
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise bad("strings must be encoded in UTF-8")
    asked = _checked(entities)
    text, asked = _cleaned(text, asked)
    return _trimmed(text, asked)


def is_blank(text: str) -> bool:
    """Whether there is nothing to see."""
    return _INVISIBLE.fullmatch(text) is not None


def _checked(entities: Any) -> list[Entity]:
    if entities is None:
        return []
    if not isinstance(entities, list):
        raise bad("can't parse entities: expected an Array of MessageEntity")
    return [dict(e) for e in entities if _wanted(e)]


def _wanted(entity: Any) -> bool:
    """Whether an entity is kept; raises for one that is wrong."""
    if not isinstance(entity, dict):
        raise bad("can't parse MessageEntity: expected an Object")
    for name in ("offset", "length"):
        value = entity.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise bad(f"can't parse MessageEntity: Field \"{name}\" must be "
                      "of type Number")
        if not 0 <= value <= 1_000_000:
            raise bad(f"receive an entity with incorrect {name} {value}")
    kind = entity.get("type")
    if kind not in _KINDS | _FOUND:
        raise bad("can't parse MessageEntity: Unsupported type specified")
    if kind == "text_link" and not entity.get("url"):
        raise bad("can't parse MessageEntity: Can't find field \"url\"")
    return kind in _KINDS and entity["length"] > 0


def _cleaned(text: str,
             entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Control characters become blanks, some characters vanish."""
    if not entities:
        return (_ODD.sub(_cleaned_character, text), []) \
            if _ODD.search(text) else (text, [])
    places: dict[int, int] = {}
    kept, old, new = [], 0, 0
    for c in text:
        places[old] = new
        clean = _cleaned_character(c)
        kept.append(clean)
        old += units(c)
        new += units(clean)
    places[old] = new
    moved = [_moved(e, places, old, text) for e in entities]
    return "".join(kept), [e for e in moved if e["length"]]


def _cleaned_character(found: "str | re.Match[str]") -> str:
    c = found if isinstance(found, str) else found[0]
    if c in _DROPPED:
        return ""
    return " " if c < " " and c != "\n" else c


def _moved(entity: Entity, places: dict[int, int], end: int,
           text: str) -> Entity:
    start, stop = entity["offset"], entity["offset"] + entity["length"]
    if start > end:
        raise bad("entity begins after the end of the text at UTF-16 offset "
                  f"{start}")
    if start not in places:
        raise bad("entity begins in a middle of a UTF-16 symbol at byte "
                  f"offset {_byte(text, start)}")
    if stop > end:
        raise bad(f"entity beginning at UTF-16 offset {start} ends after "
                  f"the end of the text at UTF-16 offset {stop}")
    if stop not in places:
        raise bad(f"entity beginning at UTF-16 offset {start} ends in a "
                  "middle of a UTF-16 symbol at byte offset "
                  f"{_byte(text, stop)}")
    return {**entity, "offset": places[start],
            "length": places[stop] - places[start]}


def _byte(text: str, offset: int) -> int:
    """The byte offset of the character after a UTF-16 offset."""
    raw = text.encode("utf-16-le")[:(offset + 1) * 2]
    return len(raw.decode("utf-16-le", "ignore").encode())


def _trimmed(text: str,
             entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Blanks and newlines at both ends go, but none that lie inside an
    entity at the beginning."""
    text = text.rstrip(" \n")
    lead = len(text) - len(text.lstrip(" \n"))
    first = min((e["offset"] for e in entities), default=lead)
    cut = min(lead, first)
    text = text[cut:]
    end = units(text)
    kept = []
    for entity in entities:
        start = entity["offset"] - cut
        length = min(entity["length"], end - start)
        if length > 0:
            kept.append({**entity, "offset": start, "length": length})
    return text, sorted(kept, key=lambda e: (e["offset"], -e["length"]))


_TAGS = {"b": "bold", "strong": "bold", "i": "italic", "em": "italic",
         "u": "underline", "ins": "underline", "s": "strikethrough",
         "strike": "strikethrough", "del": "strikethrough",
         "tg-spoiler": "spoiler", "code": "code", "pre": "pre",
         "a": "text_link", "blockquote": "blockquote", "span": "spoiler"}
_PIECE = re.compile(r"<(/?)([a-zA-Z-]*)([^>]*)>|&(#x?[0-9a-fA-F]+|[a-z]+);"
                    r"|<")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_HREF = re.compile(r"""\s*href\s*=\s*(?:"([^"]*)"|'([^']*)'|(\S+))""")
_LANGUAGE = re.compile(r"""class\s*=\s*["']?language-([^"'\s>]+)""")


def from_html(markup: str) -> tuple[str, list[Entity]]:
    """The plain text and entities of a text in HTML style."""
    return _Html(markup).read()


class _Html:
    def __init__(self, markup: str) -> None:
        self._markup = markup
        self._out: list[str] = []
        self._length = 0
        self._open: list[tuple[str, Entity]] = []
        self._done: list[Entity] = []

    def read(self) -> tuple[str, list[Entity]]:
        at = 0
        for piece in _PIECE.finditer(self._markup):
            self._say(self._markup[at:piece.start()])
            at = piece.end()
            if piece[4]:
                self._say(_character(piece[4]) or piece[0])
            elif piece[1]:
                self._close(piece[2].lower(), piece.start())
            else:
                self._begin(piece, piece.start())
        self._say(self._markup[at:])
        if self._open:
            raise self._wrong("Can't find end tag corresponding to start "
                              f"tag \"{self._open[-1][0]}\"")
        return "".join(self._out), self._done

    def _say(self, text: str) -> None:
        self._out.append(text)
        self._length += units(text)

    def _begin(self, piece: "re.Match[str]", at: int) -> None:
        name = (piece[2] or "").lower()
        if name not in _TAGS:
            raise self._wrong(f"Unsupported start tag \"{name}\" at byte "
                              f"offset {self._bytes(at)}")
        entity: Entity = {"type": _TAGS[name], "offset": self._length,
                          "length": 0}
        href = _HREF.match(piece[3])
        language = _LANGUAGE.search(piece[3])
        if name == "a" and href:
            entity["url"] = re.sub(
                r"&(#x?[0-9a-fA-F]+|[a-z]+);",
                lambda m: _character(m[1]) or m[0],
                href[1] or href[2] or href[3] or "")
        if name == "code" and language and self._open \
                and self._open[-1][0] == "pre":
            self._open[-1][1]["language"] = language[1]
        self._open.append((name, entity))

    def _close(self, name: str, at: int) -> None:
        if not self._open:
            raise self._wrong("Unexpected end tag at byte offset "
                              f"{self._bytes(at)}")
        opened, entity = self._open.pop()
        if opened != name:
            raise self._wrong(
                f"Unmatched end tag at byte offset {self._bytes(at)}, "
                f"expected \"</{opened}>\", found \"</{name}>\"")
        entity["length"] = self._length - entity["offset"]
        in_pre = name == "code" and bool(self._open) \
            and self._open[-1][0] == "pre"
        plain_link = name == "a" and not entity.get("url")
        if entity["length"] and not in_pre and not plain_link:
            self._done.append(entity)

    def _bytes(self, at: int) -> int:
        return len(self._markup[:at].encode())

    def _wrong(self, text: str) -> ApiError:
        return bad(f"can't parse entities: {text}")


def _character(name: str) -> str | None:
    if not name.startswith("#"):
        return _NAMED.get(name)
    code = int(name[2:], 16) if name[1] == "x" else int(name[1:])
    fine = 0 < code < 0x110000 and not 0xD800 <= code < 0xE000
    return chr(code) if fine else None


_AUTOMATIC = re.compile(r"(?P<mention>(?<!\w)@\w{3,32}\b)"
                        r"|(?P<bot_command>(?<![\w/])/\w{1,64}(?:@\w+)?)"
                        r"|(?P<url>https?://[^\s<>\"]+)")


def automatic(text: str) -> list[Entity]:
    """The entities that the server finds in a person's text."""
    return [{"type": str(found.lastgroup),
             "offset": units(text[:found.start()]),
             "length": units(found[0])}
            for found in _AUTOMATIC.finditer(text)]


def joined(*parts: Iterable[Entity]) -> list[Entity]:
    """Several lists of entities as one, in order."""
    return sorted((e for part in parts for e in part),
                  key=lambda e: (e["offset"], -e["length"]))
