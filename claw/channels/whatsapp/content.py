"""What a message says, as text for the model. Pure.

Forwards and quotes come first, then the files, then the person's own words.
Whatever has no words of its own becomes a bracketed description: nothing is
dropped in silence.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from claw.channels.media import FileRef
from claw.channels.whatsapp.wire import Message
from claw.core.files import safe_name
from claw.core.labels import ATTACHMENT, UNKNOWN
from claw.text.segment import clean

_SUFFIXES = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp",
             "video/mp4": "mp4", "video/3gpp": "3gp", "audio/ogg": "ogg",
             "audio/mpeg": "mp3", "audio/mp4": "m4a", "audio/aac": "aac",
             "audio/amr": "amr"}
_MIME = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,80}", re.ASCII)
_CHARS = 300  # of each thing that is described
_ITEMS = 20


def find_file(message: Message) -> FileRef | None:
    """The file of a message. Only what the person has recorded for us is a
    "voice", whose words are his own."""
    media = message.media
    if media is None or not media.id:
        return None
    mime = media.mime_type.lower().partition(";")[0].strip()
    mime = mime if _MIME.fullmatch(mime) else ""
    kind = message.type
    if kind == "sticker":
        kind = "image"
    elif kind == "audio" and media.voice and not is_forwarded(message):
        kind = "voice"
    elif kind == "document" and mime.startswith("image/"):
        kind = "image"
    suffix = _SUFFIXES.get(mime, "")
    name = f"{message.type}.{suffix}" if suffix else message.type
    return FileRef(kind, media.id, safe_name(clean(media.filename), name),
                   mime or None)


def read_words(message: Message, raw: dict[str, Any]) -> str:
    """What a person has written, or what stands for it; "" for a file
    without a caption."""
    if message.type == "text" and message.text is not None:
        return clean(message.text.body).strip()
    if message.type == "button" and message.button is not None:
        return clean(message.button.text).strip()
    if message.media is not None:
        return clean(message.media.caption).strip()
    return _describe(message.type, raw)


def is_forwarded(message: Message) -> bool:
    context = message.context
    return context is not None and (
        context.forwarded or context.frequently_forwarded)


def list_labels(message: Message, ref: FileRef | None) -> list[str]:
    """The origins of what somebody else may have written in it."""
    labels = ["forwarded"] if is_forwarded(message) else []
    if message.type in ("contacts", "location", "order"):
        labels.append(UNKNOWN)
    if ref is not None and (ref.kind == "audio"
                            or message.type == "document"):
        labels.append(ATTACHMENT)
    return labels


def put_together(message: Message, lines: Sequence[str], words: str,
                 quoted: str, *, edited: bool) -> str:
    """The text: marks, what it quotes, its files, its words. Lines of a
    forward are no command, and no answer to a question."""
    said = "\n\n".join(filter(None, ("\n".join(lines), words)))
    before = "[Edited] " if edited else ""
    if is_forwarded(message):
        before += "[Forwarded] "
    return before + quoted + said


def _describe(kind: str, raw: dict[str, Any]) -> str:
    try:
        told = _WORDS[kind](raw[kind]) if kind in _WORDS else None
    except (KeyError, TypeError, ValueError, AttributeError):
        told = None
    if told is not None:
        return f"[{kind.capitalize()}: {_short(told)}]"
    inner = raw.get(kind)
    name = inner.get("type") if kind == "unsupported" \
        and isinstance(inner, dict) else kind
    return f"[Unsupported message: {_short(str(name or 'unknown'))}]"


def _short(text: str) -> str:
    text = " ".join(clean(text).split())
    return text if len(text) <= _CHARS else text[:_CHARS] + "…"


def _place(value: Any) -> str:
    at = f"{float(value['latitude'])}, {float(value['longitude'])}"
    named = ", ".join(str(value[key]) for key in ("name", "address")
                      if value.get(key))
    return f"{named} ({at})" if named else at


def _contacts(value: Any) -> str:
    return "; ".join(", ".join([
        str(one["name"]["formatted_name"]),
        *(str(phone["phone"]) for phone in one.get("phones") or ())])
        for one in value[:_ITEMS])


def _order(value: Any) -> str:
    items = ", ".join(
        f"{item['quantity']} x {item['product_retailer_id']} at "
        f"{item['item_price']} {item['currency']}"
        for item in value["product_items"][:_ITEMS])
    return f"{items} {value.get('text') or ''}".strip()


_WORDS: dict[str, Callable[[Any], str]] = {
    "location": _place, "contacts": _contacts, "order": _order,
}
