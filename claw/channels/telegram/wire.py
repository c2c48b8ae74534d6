"""What the Bot API sends, as far as claw reads it: frozen records.

Only what every message has is required; whatever else is missing or new
does no harm. Source: core.telegram.org/bots/api, "Available types", 10.1.
"""

from typing import Any

import msgspec

from claw.core.value import Value


class Bot(Value):
    """Who we are there."""

    id: int
    username: str = ""


class User(msgspec.Struct, frozen=True):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    username: str = ""


class Chat(msgspec.Struct, frozen=True):
    """Where a message stands; `type` is private, group, supergroup or
    channel."""

    id: int
    type: str = "private"
    title: str = ""
    username: str = ""
    first_name: str = ""


class Origin(msgspec.Struct, frozen=True):
    """MessageOrigin: where a forwarded message came from."""

    type: str = ""
    sender_user: User | None = None
    sender_user_name: str = ""
    sender_chat: Chat | None = None
    chat: Chat | None = None


class Quote(msgspec.Struct, frozen=True):
    """TextQuote: the part of a message that is replied to."""

    text: str = ""


class Entity(msgspec.Struct, frozen=True):
    """MessageEntity; `user` for a mention of somebody without a name."""

    type: str = ""
    user: User | None = None


class File(msgspec.Struct, frozen=True):
    """Any of PhotoSize, Document, Voice, Audio, Video ..."""

    file_id: str = ""
    file_name: str = ""
    mime_type: str = ""
    file_size: int = 0


class ExternalReply(msgspec.Struct, frozen=True):
    """A message of another chat that is replied to."""

    origin: Origin = Origin()


class Message(msgspec.Struct, frozen=True):
    """A message, as much of it as is read by name."""

    message_id: int
    chat: Chat
    user: User | None = msgspec.field(default=None, name="from")
    sender_chat: Chat | None = None
    date: int = 0
    edit_date: int | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    media_group_id: str | None = None
    forward_origin: Origin | None = None
    forward_date: int | None = None  # of servers before forward_origin
    reply_to_message: "Message | None" = None
    external_reply: ExternalReply | None = None
    quote: Quote | None = None
    via_bot: User | None = None
    text: str = ""
    entities: tuple[Entity, ...] = ()
    caption: str = ""
    caption_entities: tuple[Entity, ...] = ()
    voice: File | None = None
    audio: File | None = None
    video: File | None = None
    video_note: File | None = None
    animation: File | None = None
    document: File | None = None
    live_photo: File | None = None
    photo: tuple[File, ...] = ()
    sticker: dict[str, Any] | None = None
    forum_topic_created: dict[str, Any] | None = None
    migrate_to_chat_id: int | None = None  # the supergroup it is from now on


class Callback(msgspec.Struct, frozen=True):
    """CallbackQuery: a pressed button."""

    id: str
    user: User = msgspec.field(name="from")
    message: Message | None = None
    data: str | None = None


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """An update that somebody wrote or pressed. `raw` is the message as it
    came; exactly one of `message` and `callback` is set."""

    update_id: int
    message: Message | None = None
    callback: Callback | None = None
    edited: bool = False
    raw: dict[str, Any] = {}
