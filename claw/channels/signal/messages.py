"""From an envelope to a message of claw. Pure.

A chat is written by its person's id, a group `group:<id>`. A message is
known by its sender and the millisecond in which he sent it: that is what
reactions and quotes name.
"""

import re
from collections.abc import Mapping, Sequence

from claw.channels.answers import is_answer
from claw.channels.media import FileRef
from claw.channels.signal.wire import (
    GROUP,
    NUMBER,
    UUID,
    File,
    Incoming,
    Mention,
    Quote,
)
from claw.core.channel import Attachment, ChannelMessage
from claw.core.errors import RequestRefusedError
from claw.core.files import safe_name
from claw.core.labels import ATTACHMENT, UNKNOWN

NAME = "signal"
LONG_TEXT = "text/x-signal-plain"
_HOLE = "\ufffc"  # where a mention stands
_OWN_ID = re.compile(r"signal_([+0-9a-f-]{3,36})_([0-9]{1,14})"
                     r"(?:_edit_[0-9]+)?", re.ASCII)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Of a dataMessage: what says nothing by itself, or is read elsewhere...
_PLAIN = _words("""
timestamp message expiresInSeconds isExpirationUpdate viewOnce quote mentions
previews attachments textStyles groupInfo storyContext
""")
# ... and what is no message of anybody's.
_SIGNS = _words("""
reaction remoteDelete pollVote pollTerminate pinMessage unpinMessage
adminDelete groupCallUpdate
""")
_EXTENSIONS = {"audio/aac": "aac", "audio/mp4": "m4a", "audio/mpeg": "mp3",
               "audio/ogg": "ogg", "image/jpeg": "jpg", "image/png": "png",
               "image/gif": "gif", "image/webp": "webp", "video/mp4": "mp4"}
_TITLES = {"image": "image", "video": "video", "audio": "audio",
           "voice": "voice", "document": "file"}


def parse_recipient(recipient: str) -> str:
    """`group:<id>`, a number or an ACI; a bare group id is one too. Raises
    RequestRefusedError for what is no address."""
    chat = recipient.strip()
    group = chat.removeprefix("group:")
    if group == chat and (NUMBER.fullmatch(chat) or UUID.fullmatch(chat)):
        return chat.lower()
    if GROUP.fullmatch(group):
        return f"group:{group}"
    raise RequestRefusedError(
        f"{recipient[:80]!a} is no address of Signal", status=400,
        hint="write to a number (+4915112345678), an ACI (a UUID), or "
             "group:<id>, as signal-cli listGroups names it")


def parse_id(own: str) -> tuple[str, int] | None:
    """Sender and moment of an id of ours; None for any other."""
    found = _OWN_ID.fullmatch(own)
    return (found[1], int(found[2])) if found else None


def message_id(incoming: Incoming) -> str:
    if incoming.edits is None:
        return f"{NAME}_{incoming.sender}_{incoming.data.timestamp}"
    return f"{NAME}_{incoming.sender}_{incoming.edits}" \
           f"_edit_{incoming.data.timestamp}"


def chat_key(incoming: Incoming) -> str:
    """The address of answers."""
    return f"group:{incoming.group}" if incoming.group else incoming.sender


# -- words

def fill_mentions(text: str, mentions: Sequence[Mention] | None,
                  names: Mapping[str, str], own: Sequence[str]) -> str:
    """The text with names where mentions stand, and nothing where we are
    mentioned. Places count UTF-16 units."""
    units = text.encode("utf-16-le", "replace")
    for mention in sorted(mentions or (), key=lambda m: -m.start):
        start = 2 * mention.start
        if units[start:start + 2] != _HOLE.encode("utf-16-le") \
                or mention.start < 0:
            continue
        end = start + 2
        if is_of(own, mention.number, mention.uuid):
            name = ""
            while units[end:end + 2] == b" \0":
                end += 2
        else:
            known = (mention.uuid or "").lower()
            name = "@" + (names.get(known) or mention.number or known)
        units = units[:start] + name.encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le", "replace").strip()


def is_of(people: Sequence[str], number: str | None,
          uuid: str | None) -> bool:
    """Whether a number or an ACI is one of these."""
    return bool({number or "", (uuid or "").lower()} - {""} & {*people}) \
        if people else False


def is_for_us(incoming: Incoming, own: Sequence[str]) -> bool:
    """Whether it mentions us, or quotes what we said."""
    quote = incoming.data.quote
    return any(is_of(own, m.number, m.uuid)
               for m in incoming.data.mentions or ()) or (
        quote is not None
        and is_of(own, quote.author_number, quote.author_uuid))


def stands_alone(text: str) -> bool:
    """Whether it is a command or answers a question: nothing may be put in
    front of it."""
    return text.startswith("/") or is_answer(text)


def read_quote(quote: Quote | None, names: Mapping[str, str],
               own: Sequence[str]) -> str:
    """What is answered, as `> ` lines with a blank line after them."""
    if quote is None:
        return ""
    author = "you" if is_of(own, quote.author_number, quote.author_uuid) \
        else names.get((quote.author_uuid or "").lower()) \
        or quote.author_number or quote.author_uuid or "somebody"
    words = fill_mentions(quote.text or "", quote.mentions, names, ()) \
        or ("[File]" if quote.attachments else "[Message]")
    lines = "\n".join(f"> {line}" for line in words.splitlines())
    return f"> {' '.join(author.split())}:\n{lines}\n\n"


def _quotes_others(incoming: Incoming) -> bool:
    """Whether it repeats more than the sender's own words."""
    quote = incoming.data.quote
    return quote is not None and not is_of(
        (incoming.sender, incoming.number), quote.author_number,
        quote.author_uuid)


def describe(raw: Mapping[str, object]) -> str:
    """What stands for what has no words and no file of its own."""
    lines = []
    for kind, value in raw.items():
        if kind in _PLAIN or kind in _SIGNS or value is None:
            continue
        if kind == "sticker":
            lines.append("[Sticker]")
        elif kind == "contacts":
            lines.append("[Contact]")
        elif kind == "pollCreate" and isinstance(value, dict):
            options = value.get("options")
            told = "; ".join(map(str, options)) \
                if isinstance(options, list) else ""
            lines.append(f"[Poll: {value.get('question')} ({told})]")
        elif kind == "payment":
            lines.append("[Payment]")
        else:
            lines.append(f"[Unsupported message: {kind[:40]}]")
    return "\n".join(lines)


# -- files

def find_ref(file: File, chat: str) -> FileRef | None:
    """A file, not fetched yet; None where it has none."""
    if not file.id:
        return None
    mime = (file.content_type or "").lower().partition(";")[0]
    kind = mime.partition("/")[0]
    if kind == "audio":
        # Before `isVoiceNote`: a recording has no name.
        own = not file.filename if file.is_voice_note is None \
            else file.is_voice_note
        kind = "voice" if own else "audio"
    elif kind not in ("image", "video"):
        kind = "document"
    fallback = _TITLES[kind] + (f".{_EXTENSIONS[mime]}"
                                if mime in _EXTENSIONS else "")
    return FileRef(kind, f"{chat} {file.id}",
                   safe_name(file.filename or "", fallback), mime or None,
                   max(0, file.size or 0))


def compose(incoming: Incoming, text: str, *, quote: str,
            lines: Sequence[str], refs: Sequence[FileRef],
            attachments: Sequence[Attachment]) -> ChannelMessage | None:
    """The message; None where nobody said anything. `text` is its own
    words, `lines` stand for its files."""
    told = "" if incoming.story else describe(incoming.raw)
    said = "\n\n".join(part for part in (told, "\n".join(lines), text)
                       if part)
    if not said:
        return None
    labels = [("quoted", _quotes_others(incoming)),
              (ATTACHMENT, any(ref.kind != "voice" for ref in refs)),
              (UNKNOWN, bool(told) and told != "[Sticker]")]
    moment = incoming.data.timestamp or incoming.envelope.timestamp
    return ChannelMessage(
        id=message_id(incoming), sender=incoming.sender,
        reply_target=chat_key(incoming),
        content=("[Edited] " if incoming.edits is not None else "")
        + quote + said, channel=NAME, timestamp=moment // 1000,
        attachments=tuple(attachments),
        labels=tuple(label for label, here in labels if here),
        sender_name=incoming.name or incoming.number)
