"""What a message says, as text for the model, and its files. Pure.

The content of each type is JSON of its own. Mentions stand in texts as
@_user_1, with a table of who that is beside them. Whatever has no words
becomes a bracketed description: nothing is dropped in silence.
Source: "Content structure of received messages", im/v1.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from claw.channels.lark.answers import mend
from claw.channels.media import FileRef
from claw.core.files import safe_name
from claw.core.value import Value

_MENTION = re.compile(r"@_(?:user_\d{1,6}|all)")
_IMAGES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"))
_NAMED = {
    "sticker": "Sticker", "share_chat": "Shared group",
    "share_user": "Shared contact", "location": "Location",
    "merge_forward": "Forwarded messages", "hongbao": "Red packet",
    "share_calendar_event": "Shared event", "calendar": "Calendar event",
    "general_calendar": "Calendar event", "video_chat": "Video meeting",
    "todo": "Task", "vote": "Poll", "folder": "Folder",
    "interactive": "Card", "system": "System message",
}
_KEYS = ("name", "topic", "summary", "file_name", "chat_id", "user_id")
_MOST_NESTED = 12
# What files are called that have no name of their own.
OUR_NAMES = frozenset(("image.png", "voice.ogg", "video.mp4"))


class Mention(Value):
    """Who a placeholder of a text stands for."""

    key: str
    open_id: str
    name: str = ""


class Content(Value):
    """What was said, and the files of it; `is_share`: other people's."""

    text: str = ""
    files: tuple[FileRef, ...] = ()
    is_share: bool = False


def parse_json(given: Any) -> dict[str, Any]:
    """The object in a message's content; {} for anything else."""
    try:
        found = mend(json.loads(given)) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_content(kind: str, body: Mapping[str, Any],
                 mentions: Mapping[str, Mention], bot_id: str) -> Content:
    """A message's content of a type."""
    def name(text: str) -> str:
        return _name_mentions(text, mentions, bot_id)
    if kind == "text":
        return Content(name(_text(body, "text")))
    if kind == "post":
        post = _find_post(body)
        lines = [_text(post, "title"), *(
            "".join(name(_write(element)) for element in line)
            for line in _lines(post))]
        return Content("\n".join(lines).strip(), tuple(
            ref for line in _lines(post) for element in line
            for ref in _post_files(element)))
    refs = tuple(_files(kind, body))
    if refs:
        return Content("", refs)
    share = kind in ("merge_forward", "share_chat", "share_user",
                     "interactive", "share_calendar_event")
    if kind == "interactive":
        words = "\n".join(_words(body, 0))
        return Content(f"[Card]\n{words}" if words else "[Card]",
                       is_share=True)
    title = _NAMED.get(kind, f"Unsupported message: {kind[:40]}")
    told = next((_text(body, key) for key in _KEYS if _text(body, key)), "")
    return Content(f"[{title}: {told}]" if told else f"[{title}]",
                   is_share=share)


def _name_mentions(text: str, mentions: Mapping[str, Mention],
                   bot_id: str) -> str:
    """The text with people's names; without mentions of the bot."""
    def write(found: re.Match[str]) -> str:
        if found[0] == "@_all":
            return "@all"
        who = mentions.get(found[0])
        if who is None:
            return found[0]
        return "" if bot_id and who.open_id == bot_id else "@" + (
            who.name or who.open_id).removeprefix("@")
    return _MENTION.sub(write, text)


def mentioned(mentions: Mapping[str, Mention], bot_id: str) -> bool:
    return bool(bot_id) and any(
        one.open_id == bot_id for one in mentions.values())


# -- posts

def _find_post(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A post in the language that there is."""
    if isinstance(body.get("content"), list):
        return body
    for language in ("zh_cn", "en_us", *body):
        found = body.get(language)
        if isinstance(found, dict) and isinstance(
                found.get("content"), list):
            return found
    return {**body, "content": []}


def _lines(post: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    content = post.get("content")
    for line in content if isinstance(content, list) else ():
        if isinstance(line, list):
            yield [one for one in line if isinstance(one, dict)]


def _write(element: Mapping[str, Any]) -> str:
    kind = _text(element, "tag")
    text = _text(element, "text")
    if kind == "a":
        href = _text(element, "href")
        return text if text == href or not href else f"{text} ({href})"
    if kind == "at":
        who = _text(element, "user_id")
        return who if _MENTION.fullmatch(who) else "@" + (
            _text(element, "user_name") or who)
    if kind == "emotion":
        return f":{_text(element, 'emoji_type')}:"
    if kind == "code_block":
        return f"```{_text(element, 'language').lower()}\n{text}\n```"
    return "---" if kind == "hr" else text


def _post_files(element: Mapping[str, Any]) -> Iterator[FileRef]:
    kind = _text(element, "tag")
    if kind == "img":
        yield from _files("image", element)
    elif kind == "media":
        yield from _files("media", element)


# -- files

def _files(kind: str, body: Mapping[str, Any]) -> Iterator[FileRef]:
    """`file_id` is the kind of the resource and its key."""
    image, file = _text(body, "image_key"), _text(body, "file_key")
    name = _text(body, "file_name")
    if kind == "image" and image:
        yield FileRef("image", f"image/{image}", "image.png", None)
    elif kind == "audio" and file:
        yield FileRef("voice", f"file/{file}", "voice.ogg", "audio/ogg")
    elif kind == "media" and file:
        yield FileRef("video", f"file/{file}",
                      safe_name(name or "video.mp4", "video.mp4"),
                      "video/mp4")
    elif kind == "file" and file:
        safe = safe_name(name, "file")
        shown = PurePosixPath(safe).suffix.lower() in _IMAGES
        yield FileRef("image" if shown else "document", f"file/{file}", safe)


# -- cards

def _words(value: Any, depth: int) -> list[str]:
    """The texts of a card, of either form that the platform shows one
    in."""
    if depth > _MOST_NESTED:
        return []
    if isinstance(value, list):
        return [word for item in value[:200]
                for word in _words(item, depth + 1)]
    if not isinstance(value, dict):
        return []
    found = [value[key] for key in ("title", "content", "text")
             if isinstance(value.get(key), str) and value[key].strip()]
    return found + [word for key, item in value.items()
                    if isinstance(item, list | dict)
                    for word in _words(item, depth + 1)]


def read_card(body: Mapping[str, Any]) -> str:
    return "\n".join(_words(body, 0))


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""
