"""What a message says, as text for the model. Pure.

Whatever has no words of its own becomes a bracketed description: nothing is
dropped in silence.
"""

from claw.channels.line.wire import Message
from claw.channels.media import FileRef
from claw.core.files import safe_name
from claw.text.segment import clean

_NAMES = {"image": "image.jpg", "video": "video.mp4", "audio": "audio.m4a"}
_TYPES = {"video": "video/mp4", "audio": "audio/mp4"}
_KEYWORDS = 5
_CHARS = 300  # of each thing that is described


def find_file(message: Message) -> FileRef | None:
    """The file of a message. LINE has no sign for what was forwarded: a
    recording is taken for the person's own."""
    kind = message.type
    if kind not in (*_NAMES, "file"):
        return None
    name = safe_name(clean(message.file_name or ""), "file") \
        if kind == "file" else _NAMES[kind]
    return FileRef({"audio": "voice", "file": "document"}.get(kind, kind),
                   message.id, name, _TYPES.get(kind),
                   max(0, message.file_size or 0))


def read_words(message: Message) -> str:
    """What a person has written, without our own name where it is
    mentioned, or what stands for it; "" for a file."""
    if message.type == "text":
        return _without_mentions(message).strip()
    if find_file(message) is not None:
        return ""
    words = {"sticker": _sticker, "location": _place}.get(message.type)
    if words is None:
        return f"[Unsupported message: {_short(message.type or 'unknown')}]"
    told = words(message)
    title = message.type.capitalize()
    return f"[{title}: {told}]" if told else f"[{title}]"


def mentions_us(message: Message) -> bool:
    return message.mention is not None and any(
        one.is_self for one in message.mention.mentionees)


def _without_mentions(message: Message) -> str:
    """Places are counted in UTF-16 units."""
    units = (message.text or "").encode("utf-16-le", "surrogatepass")
    ours = [] if message.mention is None else [
        one for one in message.mention.mentionees
        if one.is_self and one.index >= 0 and one.length > 0]
    for one in sorted(ours, key=lambda one: one.index, reverse=True):
        units = units[:2 * one.index] + units[2 * (one.index + one.length):]
    return clean(units.decode("utf-16-le", "surrogatepass"))


def _sticker(message: Message) -> str:
    """The words on it, else what it is about."""
    return _short(message.text or ", ".join(
        (message.keywords or [])[:_KEYWORDS]))


def _place(message: Message) -> str:
    at = "" if message.latitude is None or message.longitude is None \
        else f"{message.latitude:g}, {message.longitude:g}"
    named = ", ".join(filter(None, (message.title, message.address)))
    return _short(f"{named} ({at})" if named and at else named or at)


def _short(text: str) -> str:
    text = " ".join(clean(text).split())
    return text if len(text) <= _CHARS else text[:_CHARS] + "…"
