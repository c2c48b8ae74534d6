"""Events of a room, read without trust. Pure.

Source: spec.matrix.org, "Instant messaging", "Event relationships",
"Threading", "Rich replies", version 1.16; voice messages: MSC3245.
"""

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import unquote

import msgspec

from claw.channels.media import FileRef
from claw.core.files import safe_name

MESSAGE, STICKER, ENCRYPTED = "m.room.message", "m.sticker", "m.room.encrypted"
MEMBER, ENCRYPTION = "m.room.member", "m.room.encryption"
TOMBSTONE = "m.room.tombstone"
# What we put into each of our messages, to know it by.
KEY = "org.claw.key"
_KINDS = {"m.image": "image", "m.file": "document", "m.audio": "audio",
          "m.video": "video"}
_VOICE = ("org.matrix.msc3245.voice", "org.matrix.msc3245.voice.v2",
          "m.voice")
# Written by bots, or no words at all.
_SILENT = ("m.notice", "m.key.verification.request", "m.server_notice")
_PILL = re.compile(r"https://matrix\.to/#/([^\s\"'<>?]{1,512})", re.I)
_FALLBACK = re.compile(r"(?:> ?[^\n]*\n?)+\n?")
_FILE_NAMES = {"image": "image", "voice": "voice.ogg", "video": "video.mp4"}
_SUFFIXES = {"image/jpeg": ".jpg", "image/png": ".png",
             "image/webp": ".webp", "image/gif": ".gif",
             "image/bmp": ".bmp"}


class Event(msgspec.Struct, frozen=True):
    """An event of a timeline; only its type is sure to be there."""

    type: str
    event_id: str = ""
    sender: str = ""
    origin_server_ts: int | float = 0
    content: dict[str, Any] = {}
    state_key: str | None = None
    unsigned: Any = None

    @property
    def timestamp(self) -> int:
        """Unix seconds; 0 for a time that is none."""
        seconds = self.origin_server_ts / 1000
        return int(seconds) if 0 < seconds < 1e11 else 0


def read_event(raw: Any) -> Event:
    """Raises ValueError for what is no event."""
    return msgspec.convert(raw, Event)


def text(value: Mapping[str, Any], key: str) -> str:
    """A string of a mapping, "" for anything else."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def table(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    """An object of a mapping, {} for anything else."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def items(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


# -- relations

def find_edited(content: Mapping[str, Any]) -> str | None:
    """The event whose words this one replaces."""
    relation = table(content, "m.relates_to")
    if relation.get("rel_type") == "m.replace":
        return text(relation, "event_id") or None
    return None


def find_thread(content: Mapping[str, Any]) -> str | None:
    """The root of the thread that it stands in."""
    relation = table(content, "m.relates_to")
    if relation.get("rel_type") in ("m.thread", "io.element.thread"):
        return text(relation, "event_id") or None
    return None


def find_replied(content: Mapping[str, Any]) -> str | None:
    """The event that it answers. In a thread clients name the last one
    for those that know no threads: that is no answer to it."""
    relation = table(content, "m.relates_to")
    if find_thread(content) and relation.get("is_falling_back") is True:
        return None
    return text(table(relation, "m.in_reply_to"), "event_id") or None


# -- words

def is_silent(content: Mapping[str, Any]) -> bool:
    """Whether nobody speaks to us with it: notices of bots, and what
    clients say to each other. A redacted one has no words either."""
    kind = text(content, "msgtype")
    return not kind or kind in _SILENT


def read_words(kind: str, content: Mapping[str, Any], name: str = ""
               ) -> str:
    """What somebody said with it, beside its files."""
    body = text(content, "body")
    if kind == STICKER:
        return f"[Sticker: {body}]" if body else "[Sticker]"
    if find_replied(content):
        body = strip_fallback(body)
    msgtype = text(content, "msgtype")
    if msgtype == "m.location":
        place = text(content, "geo_uri").removeprefix("geo:")
        return f"[Location: {', '.join(filter(None, (body, place)))}]"
    if msgtype in _KINDS:
        named = text(content, "filename")
        return body if named and named != body else ""
    return f"* {name} {body}" if msgtype == "m.emote" else body


def strip_fallback(body: str) -> str:
    """A reply without the quote that older clients write before it, which
    begins with whom it quotes."""
    found = _FALLBACK.match(body) if body.startswith(
        ("> <@", "> * <@")) else None
    return body[found.end():] if found and body[found.end():].strip() \
        else body


def find_file(event: Event, content: Mapping[str, Any]) -> FileRef | None:
    """The file of a message; `file_id` is its address, with its key where
    it is encrypted."""
    kind = _KINDS.get(text(content, "msgtype"))
    if kind is None or event.type != MESSAGE:
        return None
    if kind == "audio" and any(key in content for key in _VOICE):
        kind = "voice"
    info = table(content, "info")
    size, mime = info.get("size"), text(info, "mimetype")
    locked = table(content, "file")
    # What is shown and not opened needs no name of somebody's choosing.
    name = _FILE_NAMES.get(kind) or safe_name(
        text(content, "filename") or text(content, "body"), "file.bin")
    if kind == "image":
        name += _SUFFIXES.get(mime, ".jpg")
    elif kind == "document" and mime in _SUFFIXES:
        kind = "image"
    return FileRef(
        kind, json.dumps(locked) if locked else text(content, "url"), name,
        mime or None, size if isinstance(size, int) and size > 0 else 0)


def is_foreign(ref: FileRef) -> bool:
    """Whether somebody else may speak from what is written of a file: its
    name, or a recording that is no voice message."""
    return ref.kind == "audio" or not ref.name.startswith(
        tuple(_FILE_NAMES.values()))


# -- who is meant

def is_mentioned(content: Mapping[str, Any], me: str, name: str) -> bool:
    """Whether a message is for us by name: m.mentions, else a pill or our
    id or display name in its words (clients from before m.mentions)."""
    mentions = content.get("m.mentions")
    if isinstance(mentions, dict) and me in items(mentions, "user_ids"):
        return True
    pills = _PILL.findall(unescape(text(content, "formatted_body")))
    if me in (unquote(pill) for pill in pills):
        return True
    return not isinstance(mentions, dict) and bool(
        _name_pattern(me, name).search(text(content, "body")))


def strip_mention(words: str, me: str, name: str) -> str:
    """The words without our name."""
    pattern = _name_pattern(me, name)
    leading = re.compile(rf"\s*{pattern.pattern}\s*[:,]?\s*", re.I)
    found = leading.match(words)
    if found:
        return words[found.end():].strip()
    return re.sub(rf"[ \t]*{re.escape(me)}[ \t]*", " ", words,
                  flags=re.I).strip()


def strip_address(words: str, me: str, name: str) -> str:
    """The words without our name and a colon or comma in front of them, so
    that a command is one."""
    names = "|".join(map(re.escape, filter(None, (
        me[1:], me[1:].partition(":")[0], name.strip().lstrip("@")))))
    return re.sub(rf"\A\s*@?(?:{names})(?:[:,](?:\s+|(?=/))|\s+(?=/))", "",
                  words, flags=re.I)


def _name_pattern(me: str, name: str) -> re.Pattern[str]:
    localpart = me.partition(":")[0]
    names = sorted({re.escape(found) for found in (
        me, localpart, name.strip(), f"@{name.strip()}") if len(found) > 1},
        key=len, reverse=True)
    return re.compile(rf"(?<![\w@])(?:{'|'.join(names)})(?!\w)", re.I)


# -- membership

def find_successor(event: Event) -> str | None:
    """The room that takes the place of one that was upgraded."""
    if event.type != TOMBSTONE or event.state_key != "":
        return None
    found = text(event.content, "replacement_room")
    return found if found.startswith("!") else None


def read_membership(event: Event) -> tuple[str, str, str] | None:
    """(user, membership, display name) of a member event."""
    if event.type != MEMBER or not event.state_key:
        return None
    return (event.state_key, text(event.content, "membership"),
            text(event.content, "displayname"))
