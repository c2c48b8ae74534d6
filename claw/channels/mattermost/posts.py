"""From a post to a message of claw. Pure.

`is_for_nobody` leaves out what no person wrote, `address` says whether it is
for us, `compose` makes the ChannelMessage once its files are there. An
address is `<channel>`, or `<channel>:<root post>` for a thread.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from claw.channels.mattermost.wire import (
    DIRECT,
    File,
    Me,
    Post,
    is_id,
)
from claw.channels.media import FileRef
from claw.core.channel import Attachment, ChannelMessage
from claw.core.errors import RequestRefusedError
from claw.core.files import safe_name
from claw.core.labels import ATTACHMENT
from claw.text.segment import clean

NAME = "mattermost"
_OWN_ID = re.compile(rf"{NAME}_([A-Za-z0-9-]+)(?:_edit_[0-9]+)?", re.ASCII)
_IMAGES = frozenset(("png", "jpg", "jpeg", "gif", "webp", "bmp"))
_AUDIO = frozenset(("ogg", "oga", "opus", "mp3", "m4a", "wav", "flac", "aac",
                    "amr"))
_VIDEO = frozenset(("mp4", "mov", "mkv", "avi", "webm"))


class Place(NamedTuple):
    """Where something goes; `name` is a person's who is written to."""

    channel: str = ""
    root: str = ""
    name: str = ""


def parse_recipient(recipient: str, thread_ts: str | None = None) -> Place:
    """`<channel>`, `<channel>:<root>` or `@username`. Raises
    RequestRefusedError for what is no address."""
    chat, _, root = recipient.strip().partition(":")
    if re.fullmatch(r"@[A-Za-z0-9._-]{1,64}", chat, re.ASCII):
        return Place(name=chat[1:].lower())
    thread = root or (thread_ts or "")
    thread = parse_id(thread) or thread
    if is_id(chat):
        return Place(chat, thread if is_id(thread) else "")
    raise RequestRefusedError(
        f"{recipient[:80]!a} is no address of Mattermost", status=400,
        hint="write to a channel's id (View Info shows it), "
             "<channel>:<root post> for a thread, or @username")


def parse_id(own: str) -> str | None:
    """The post of an id of ours; None for any other."""
    found = _OWN_ID.fullmatch(own)
    return found[1] if found else None


def is_edit(post: Post) -> bool:
    return post.edit_at > 0


def message_id(post: Post) -> str:
    return f"{NAME}_{post.id}" + (
        f"_edit_{post.edit_at}" if is_edit(post) else "")


def is_for_nobody(post: Post, me: Me) -> bool:
    """What no person wrote to us: deleted, the system's, a plug-in's report
    ("custom_calls"), our own, another bot's or a webhook's. Two bots would
    talk for ever."""
    props = post.props or {}
    return (post.delete_at > 0 or post.type.startswith("system_")
            or (post.type.startswith("custom_") and not post.file_ids)
            or post.user_id == me.id
            or any(props.get(key) in (True, "true")
                   for key in ("from_bot", "from_webhook")))


def address(post: Post, me: Me, mentions: Sequence[str] = ()) -> str | None:
    """The text of a channel's post without the mentions of us; None where
    it has none.

    `@name` counts with no letter, digit or sign of a name beside it;
    `mentions` are ids that the server has found.
    """
    found = 0
    text = post.message
    if me.username:
        text, found = re.subn(
            rf"(?<![A-Za-z0-9_])@{re.escape(me.username)}"
            r"(?![A-Za-z0-9_-]|\.[A-Za-z0-9_-])", " ", text, flags=re.I)
    return text.strip() if found or me.id in mentions else None


def find_ref(file: File, *, alone: bool) -> FileRef:
    """A file, not fetched yet. `alone`: without words beside it; then a
    recording is a voice message."""
    name = safe_name(clean(file.name), "file")
    suffix = name.rpartition(".")[2].lower()
    mime = file.mime_type.lower().partition(";")[0]
    kind = ("image" if suffix in _IMAGES
            else ("voice" if alone else "audio")
            if mime.startswith("audio/") or suffix in _AUDIO
            else "video" if mime.startswith("video/") or suffix in _VIDEO
            else "document")
    return FileRef(kind, file.id, name, mime or None, max(0, file.size))


def find_forwarded(post: Post) -> str:
    """The post that this one passes on, as a quote; empty where it passes
    on none. The server shows what a link to a post leads to."""
    for embed in (post.metadata and post.metadata.embeds) or ():
        data = embed.data if embed.type == "permalink" else None
        inner = data.get("post") if isinstance(data, dict) else None
        words = inner.get("message") if isinstance(inner, dict) else None
        if isinstance(words, str) and words.strip():
            where = _text(data, "channel_display_name")
            lines = "\n".join(f"> {line}" for line in clean(
                words).splitlines())
            return f"> [Forwarded{' from ' + where if where else ''}]\n" \
                   f"{lines}\n\n"
    return ""


def _text(data: Any, key: str) -> str:
    value = data.get(key)
    return " ".join(clean(value).split())[:80] \
        if isinstance(value, str) else ""


def compose(post: Post, text: str, channel_type: str, sender_name: str, *,
            lines: Sequence[str], refs: Sequence[FileRef],
            attachments: Sequence[Attachment],
            threads: bool) -> ChannelMessage | None:
    """The message of a post; None where it says nothing. `text` is its own
    words, `lines` stand for its files. With `threads` a post of a channel
    is answered in a thread below it."""
    said = "\n\n".join(part for part in ("\n".join(lines), text) if part)
    forwarded = find_forwarded(post)
    if not said and not forwarded:
        return None
    root = post.root_id or (
        post.id if threads and channel_type != DIRECT else "")
    return ChannelMessage(
        id=message_id(post), sender=post.user_id,
        reply_target=f"{post.channel_id}:{root}" if root else post.channel_id,
        content=("[Edited] " if is_edit(post) else "") + forwarded + said,
        channel=NAME, timestamp=(post.edit_at or post.create_at) // 1000,
        thread_ts=root or None, interruption_scope_id=post.root_id or None,
        attachments=tuple(attachments), sender_name=sender_name,
        labels=(*(("forwarded",) if forwarded else ()),
                *((ATTACHMENT,) if any(r.kind != "voice" for r in refs)
                  else ())), private=channel_type == DIRECT)
