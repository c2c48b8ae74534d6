"""From a payload of Discord to a message of claw. Pure.

`address` says whether a message is for us, `find_files` which files it has,
`compose` makes the ChannelMessage once they are there. A thread is a channel
of its own, with an id of its own.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

from claw.channels.discord.wire import (
    FORWARD,
    VOICE,
    WRITTEN,
    File,
    Message,
    Said,
    User,
    is_id,
    read_time,
)
from claw.channels.media import FileRef
from claw.core.channel import Attachment, ChannelMessage
from claw.core.files import safe_name
from claw.core.labels import ATTACHMENT, UNKNOWN

_OWN_ID = re.compile(r"discord_([0-9]{1,20})(?:_edit_[0-9]+)?", re.ASCII)
# What Discord calls the pictures that people paste.
_OUR_NAMES = re.compile(r"(?:image\d*|unknown)\.(?:png|jpe?g|gif|webp)")
_KINDS = {"image": "image", "video": "video", "audio": "audio"}
_SUFFIXES = {
    "image": ("png", "jpg", "jpeg", "gif", "webp", "bmp"),
    "video": ("mp4", "mov", "webm", "mkv"),
    "audio": ("mp3", "m4a", "wav", "flac", "aac", "ogg", "oga", "opus"),
}


def is_written(message: Message) -> bool:
    """Whether somebody wrote it; joins, pins and boosts are reports."""
    return message.type in WRITTEN


def is_machine(message: Message) -> bool:
    """Whether a bot or a webhook wrote it."""
    return message.author.bot or message.webhook_id is not None


def is_edit(message: Message) -> bool:
    return message.edited_timestamp is not None


def address(message: Message, bot_id: str, roles: Collection[str] = ()
            ) -> str | None:
    """The text of a server's message without the mention of us; None where
    it is not for us. For us is what mentions us or our own role, and an
    answer to a message of ours."""
    signs = [rf"<@!?{bot_id}>", *(rf"<@&{role}>" for role in roles)]
    text, count = re.subn(r"[ \t]*(?:" + "|".join(signs) + r")[ \t]*", " ",
                          message.content)
    text = text.strip() if count else message.content
    replied = message.referenced_message
    if count or any(user.id == bot_id for user in message.mentions) \
            or any(role in roles for role in message.mention_roles) \
            or (replied is not None and replied.author.id == bot_id):
        return text
    return None


def find_files(message: Message) -> tuple[FileRef, ...]:
    """The files of a message, and those of what it forwards. Only what the
    person has recorded for us is a "voice", whose words are his own."""
    own = (_ref(file, voice=bool(message.flags & VOICE))
           for file in message.attachments)
    forwarded = (_ref(file, voice=False)
                 for snapshot in message.message_snapshots
                 for file in snapshot.message.attachments)
    return (*own, *forwarded)


def _ref(file: File, *, voice: bool) -> FileRef:
    mime = (file.content_type or "").partition(";")[0].strip().lower()
    suffix = file.filename.rpartition(".")[2].lower()
    kind = _KINDS.get(mime.partition("/")[0]) or (next(
        (kind for kind, known in _SUFFIXES.items() if suffix in known),
        "document") if not mime or mime == "application/octet-stream"
        else "document")
    return FileRef("voice" if voice and kind == "audio" else kind, file.url,
                   safe_name(file.filename, kind), mime or None,
                   max(0, file.size))


def compose(message: Message, text: str, lines: Sequence[str],
            attachments: Sequence[Attachment], *, thread: str | None,
            now: float) -> ChannelMessage:
    """`text` is its own words, `lines` stand for its files; `thread` is the
    channel where that is one."""
    words = (_forwarded(message), text, _read_embeds(message))
    own = "\n\n".join(part for part in ("\n".join(lines), *words) if part)
    said = own or _describe(message)
    edited = "[Edited] " if is_edit(message) else ""
    return ChannelMessage(
        id=message_id(message), sender=message.author.id,
        reply_target=message.channel_id,
        content=f"{edited}{_quote(message)}{said}", channel="discord",
        timestamp=int(read_time(message.edited_timestamp)
                      or read_time(message.timestamp) or now),
        thread_ts=thread, interruption_scope_id=thread,
        attachments=tuple(attachments),
        labels=_labels(message, described=not own),
        sender_name=message.author.username,
        private=message.guild_id is None)


def message_id(message: Message) -> str:
    """Ours, for recognising redeliveries. An edit is a message anew."""
    found = f"discord_{message.id}"
    if message.edited_timestamp is not None:
        at = read_time(message.edited_timestamp) or 0.0
        found += f"_edit_{int(at * 1000)}"
    return found


def parse_id(own: str) -> str | None:
    """The platform's id in one of ours; None for any other."""
    found = _OWN_ID.fullmatch(own)
    return found[1] if found else None


# -- what other people wrote

def _forwarded(message: Message) -> str:
    """The text of what it forwards; Discord does not say whose it is."""
    texts = [snapshot.message.content or _name_said(snapshot.message)
             for snapshot in message.message_snapshots]
    return "\n\n".join(f"[Forwarded] {text}" for text in texts if text)


def _read_embeds(message: Message) -> str:
    """What a bot or a webhook says in its embeds; those of people are
    previews of links."""
    texts: list[Any] = []
    for embed in message.embeds if is_machine(message) else ():
        texts += [embed.get("title"), embed.get("description")]
        fields = embed.get("fields")
        for field in fields if isinstance(fields, list) else ():
            if isinstance(field, dict):
                texts.append(f"{field.get('name')}: {field.get('value')}")
    return "\n".join(text for text in texts if isinstance(text, str))


def _name_said(said: Said) -> str:
    return "" if said.attachments else "[Message]"


def _quote(message: Message) -> str:
    """The message that is answered, quoted, with a blank line after it."""
    replied = message.referenced_message
    if replied is None or is_forward(message):
        return ""
    words = replied.content or _forwarded(replied) or _name_thing(replied)
    lines = "\n".join(f"> {line}" for line in words.splitlines())
    return f"> {_name_user(replied.author)}:\n{lines}\n\n"


def _name_user(user: User) -> str:
    return user.global_name or user.username or user.id


def _name_thing(message: Message) -> str:
    if message.flags & VOICE:
        return "[Voice message]"
    return _describe(message) if not message.attachments else "\n".join(
        f"[File: {safe_name(file.filename, 'file')}]"
        for file in message.attachments)


def is_forward(message: Message) -> bool:
    return bool(message.message_snapshots) or (
        message.message_reference is not None
        and message.message_reference.type == FORWARD)


def _labels(message: Message, *, described: bool) -> tuple[str, ...]:
    """The origins of foreign text in it. `described`: it had no words of
    its own."""
    replied = message.referenced_message
    quotes = replied is not None and (
        replied.author.id != message.author.id or is_forward(replied)
        or replied.webhook_id is not None)
    files = find_files(message)
    origins = (
        ("forwarded", is_forward(message)),
        ("quoted", quotes),
        (ATTACHMENT, any(map(_is_foreign, files))),
        (UNKNOWN, described and bool(message.poll or message.sticker_items)))
    return tuple(label for label, here in origins if here)


def _is_foreign(ref: FileRef) -> bool:
    """Whether somebody else speaks from what is written of a file: its
    name, or a recording that is no voice message."""
    return ref.kind == "audio" or (
        ref.kind != "voice" and not _OUR_NAMES.fullmatch(ref.name))


def _describe(message: Message) -> str:
    """What stands for a message without text and files."""
    lines = [f"[Sticker: {item.get('name', '')}]"
             for item in message.sticker_items]
    if message.poll is not None:
        lines.append(_read_poll(message.poll))
    return "\n".join(lines) or "[Empty message]"


def _read_poll(poll: dict[str, Any]) -> str:
    try:
        options = "; ".join(str(answer["poll_media"].get("text", ""))
                            for answer in poll["answers"])
        return f"[Poll: {poll['question']['text']} ({options})]"
    except (KeyError, TypeError, AttributeError):
        return "[Poll]"


def read_chat(recipient: str) -> tuple[str, bool] | None:
    """(id, whether it is a person's) of `<channel>` or `user:<id>`; None
    for what is no address here."""
    kind, _, person = recipient.strip().rpartition(":")
    if kind in ("", "user") and is_id(person):
        return person, kind == "user"
    return None
