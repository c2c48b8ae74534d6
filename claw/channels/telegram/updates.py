"""From an update of the Bot API to a message of claw. Pure.

`read_update` says what came, `address` whether it is for us, `compose` makes
the ChannelMessage once its files are there. A `chat` is written `<id>`, a
topic of a forum `<id>:<thread>`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from claw.channels.telegram.content import (
    OWN_WORDS,
    describe_message,
    find_files,
    forward_prefix,
    is_foreign,
    is_forward,
    is_told_by_others,
    list_set,
    read_quote,
)
from claw.channels.telegram.wire import (
    Bot,
    Callback,
    Incoming,
    Message,
)
from claw.core.channel import Attachment, ChannelMessage
from claw.core.labels import ATTACHMENT, UNKNOWN

ALLOWED = ["message", "edited_message", "callback_query"]
_GROUPS = ("group", "supergroup")
_OWN_ID = re.compile(r"telegram_(-?[0-9]{1,20})_([0-9]{1,20})"
                     r"(?:_(?:edit|album)_[0-9]+)*", re.ASCII)
# What a message is reduced to when another field of it can't be read.
_CORE = ("message_id", "chat", "from", "date", "edit_date", "text", "caption",
         "message_thread_id", "is_topic_message")


def read_update(update: Any) -> Incoming | None:
    """What somebody wrote or pressed; None for another kind of update.
    Raises ValueError for what is no update."""
    number = read_number(update)
    if number is None:
        raise ValueError("an update without an update_id")
    if "callback_query" in update:
        return Incoming(update_id=number, callback=msgspec.convert(
            update["callback_query"], Callback))
    for kind in ("message", "edited_message"):
        if kind in update:
            raw = update[kind]
            return Incoming(update_id=number, message=_read_message(raw),
                            edited=kind == "edited_message", raw=raw)
    return None


def read_number(update: Any) -> int | None:
    """The update_id; None where there is none."""
    number = update.get("update_id") if isinstance(update, dict) else None
    fits = isinstance(number, int) and not isinstance(number, bool)
    return number if fits else None


def _read_message(raw: Any) -> Message:
    try:
        return msgspec.convert(raw, Message)
    except msgspec.ValidationError:
        if not isinstance(raw, dict):
            raise
        core = {key: raw[key] for key in _CORE if key in raw}
        return msgspec.convert(core, Message)


def sender_id(message: Message) -> str:
    """The id of who wrote it; of the chat in whose name it stands, where
    nobody is named. Usernames change hands."""
    author = message.user or message.sender_chat
    return "unknown" if author is None else str(author.id)


def chat_key(message: Message) -> str:
    """The address of answers: `<chat>` or `<chat>:<thread>`."""
    thread = find_thread(message)
    return f"{message.chat.id}:{thread}" if thread else str(message.chat.id)


def find_thread(message: Message) -> str | None:
    """The topic; elsewhere message_thread_id only names a reply."""
    if message.is_topic_message and message.message_thread_id:
        return str(message.message_thread_id)
    return None


def is_group(message: Message) -> bool:
    return message.chat.type in _GROUPS


def own_text(message: Message) -> str:
    return message.text or message.caption


def address(message: Message, bot: Bot) -> str | None:
    """The text of a group's message without the mention of us; None where
    it is not for us.

    For us are: `@name` with no word character beside it, a command
    `/x@name` (kept as it is), a mention without a name, and an answer to
    a message of ours.
    """
    text = own_text(message)
    if bot.username:
        name = re.escape(bot.username)
        mention = re.compile(rf"[ \t]*(?<!\w)@{name}(?!\w)[ \t]*",
                             re.I | re.ASCII)
        if mention.search(text):
            return mention.sub(" ", text).strip()
        if re.match(rf"/\w+@{name}(?!\w)", text, re.I | re.ASCII):
            return text
    named = (*message.entities, *message.caption_entities)
    if any(e.user is not None and e.user.id == bot.id for e in named):
        return text
    replied = message.reply_to_message
    if replied is not None and replied.user is not None \
            and replied.user.id == bot.id:
        return text
    return None


def compose(incoming: Sequence[Incoming], text: str,
            lines: Sequence[str], attachments: Sequence[Attachment],
            quoted: Attachment | None = None) -> ChannelMessage | None:
    """The message of one update, or of an album's. `text` is its own
    words, `lines` stand for its files, `quoted` is the voice message that
    it answers. None where nobody said anything."""
    first = incoming[0]
    message = first.message
    assert message is not None
    own = "\n\n".join(part for part in ("\n".join(lines), text) if part)
    said = own or describe_message(first.raw)
    if not said:
        return None
    quote = read_quote(message, quoted.path if quoted else None)
    forward = forward_prefix(message)
    edited = "[Edited] " if first.edited else ""
    thread = find_thread(message)
    return ChannelMessage(
        id=message_id(incoming), sender=sender_id(message),
        reply_target=chat_key(message),
        content=f"{edited}{forward}{quote}{said}", channel="telegram",
        timestamp=message.edit_date or message.date, thread_ts=thread,
        interruption_scope_id=thread, attachments=tuple(
            attachments if quoted is None else (quoted, *attachments)),
        labels=_labels(incoming, described=not own),
        sender_name=message.user.username if message.user else "",
        private=message.chat.type == "private")


def _labels(incoming: Sequence[Incoming], *, described: bool
            ) -> tuple[str, ...]:
    """The origins of foreign text in it, as the updates say it themselves:
    a field that can't be read, or that only older servers send, counts.
    `described`: it had no words of its own."""
    origins = []
    for one in incoming:
        assert one.message is not None
        origins += [
            ("forwarded", is_forward(one.raw)),
            ("quoted", _quotes_others(one.message, one.raw)),
            (ATTACHMENT, any(map(is_foreign, find_files(one.message)))),
            (UNKNOWN, described and is_told_by_others(one.raw))]
    return tuple(dict.fromkeys(label for label, here in origins if here))


def _quotes_others(message: Message, raw: Mapping[str, Any]) -> bool:
    """Whether it answers more than the sender's own plain words. What we
    wrote may repeat what we have read."""
    if not any(key.startswith("reply_to_")
               or key in ("external_reply", "quote") for key in list_set(raw)):
        return False
    replied, quoted = message.reply_to_message, raw.get("reply_to_message")
    if replied is None or not isinstance(quoted, dict) \
            or raw.get("external_reply") is not None:
        return True
    if replied.forum_topic_created is not None:
        return False  # the head of a topic, which every message answers
    return (message.user is None or replied.user is None
            or message.user.id != replied.user.id
            or not OWN_WORDS.issuperset(list_set(quoted)))


def message_id(incoming: Sequence[Incoming]) -> str:
    """Ours, for recognising redeliveries. An album carries its last
    member: should more of it arrive after a restart, it is a new one."""
    message = incoming[0].message
    assert message is not None
    found = f"telegram_{message.chat.id}_{message.message_id}"
    last = incoming[-1].message
    if len(incoming) > 1 and last is not None:
        found += f"_album_{last.message_id}"
    if incoming[0].edited:
        found += f"_edit_{message.edit_date or 0}"
    return found


def parse_id(own: str) -> tuple[int, int] | None:
    """Chat and message of an id of ours; None for any other."""
    found = _OWN_ID.fullmatch(own)
    return (int(found[1]), int(found[2])) if found else None


def build_action(callback: Callback, now: float) -> ChannelMessage | None:
    """A pressed button; None where it stands under no message of a chat
    or says nothing."""
    if callback.message is None or not callback.data:
        return None
    thread = find_thread(callback.message)
    return ChannelMessage(
        id=f"telegram_cb_{callback.id}", sender=str(callback.user.id),
        reply_target=chat_key(callback.message), content=callback.data,
        channel="telegram", timestamp=int(now), thread_ts=thread,
        interruption_scope_id=thread, kind="action",
        sender_name=callback.user.username)


def sort_batch(batch: Sequence[Incoming]) -> list[Incoming]:
    """A batch with the new messages of each chat in the order in which
    they were written; everything else keeps its place. Telegram gives
    them so; a server that lists the newest first does not."""
    places: dict[int, list[int]] = {}
    for place, incoming in enumerate(batch):
        if incoming.message is not None and not incoming.edited:
            places.setdefault(incoming.message.chat.id, []).append(place)
    ordered = list(batch)
    for here in places.values():
        found = sorted((batch[place] for place in here),
                       key=lambda i: i.message.message_id)  # type: ignore[union-attr]
        for place, incoming in zip(here, found, strict=True):
            ordered[place] = incoming
    return ordered


def group_albums(batch: Sequence[Incoming]) -> list[list[Incoming]]:
    """A batch with the members of each album together, at the place of
    the first."""
    albums: dict[tuple[int, str], list[Incoming]] = {}
    found: list[list[Incoming]] = []
    for incoming in batch:
        message = incoming.message
        album = message.media_group_id if message else None
        if message is None or album is None or incoming.edited:
            found.append([incoming])
            continue
        members = albums.setdefault((message.chat.id, album), [])
        if not members:
            found.append(members)
        members.append(incoming)
    return found
