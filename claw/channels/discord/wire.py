"""What Discord sends, as far as claw reads it: frozen records.

Only what every message has is required; whatever else is missing or new
does no harm. Source: docs.discord.com/developers, resources/message and
interactions/receiving-and-responding, API v10, read 2026-11.
"""

from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

_EPOCH_MS = 1_420_070_400_000  # the first second of 2015
_LOW_BITS = 22

# Types of messages that people write (message types): plain and replies.
WRITTEN = (0, 19)
THREADS = (10, 11, 12)  # types of channels: announcement, public, private
FORWARD = 1  # type of a message_reference
VOICE, SILENT, NO_EMBEDS, EPHEMERAL = 1 << 13, 1 << 12, 1 << 2, 1 << 6


class User(msgspec.Struct, frozen=True):
    """A person or a bot."""

    id: str
    username: str = ""
    global_name: str | None = None
    bot: bool = False


class File(msgspec.Struct, frozen=True):
    """An attachment."""

    id: str
    filename: str = ""
    url: str = ""
    size: int = 0
    content_type: str | None = None


class Reference(msgspec.Struct, frozen=True):
    """message_reference: what is answered, or forwarded."""

    type: int = 0
    message_id: str | None = None


class Said(msgspec.Struct, frozen=True):
    """The words and files of a message: all that a forwarded one has."""

    content: str = ""
    flags: int = 0
    attachments: tuple[File, ...] = ()


class Snapshot(msgspec.Struct, frozen=True):
    """A forwarded message, as it was."""

    message: Said = Said()


class Message(msgspec.Struct, frozen=True):
    """A message. One that REST gives names no guild_id."""

    id: str
    channel_id: str
    author: User
    content: str = ""
    type: int = 0
    flags: int = 0
    guild_id: str | None = None
    channel_type: int | None = None
    timestamp: str = ""
    edited_timestamp: str | None = None
    webhook_id: str | None = None
    mentions: tuple[User, ...] = ()
    mention_roles: tuple[str, ...] = ()
    attachments: tuple[File, ...] = ()
    message_reference: Reference | None = None
    referenced_message: "Message | None" = None
    message_snapshots: tuple[Snapshot, ...] = ()
    sticker_items: tuple[dict[str, Any], ...] = ()
    embeds: tuple[dict[str, Any], ...] = ()
    poll: dict[str, Any] | None = None
    nonce: str | int | None = None


class Member(msgspec.Struct, frozen=True):
    """Who acts in a guild."""

    user: User | None = None


class Interaction(msgspec.Struct, frozen=True):
    """A pressed button (type 3) or a slash command (type 2)."""

    id: str
    token: str
    type: int
    channel_id: str | None = None
    guild_id: str | None = None
    channel: dict[str, Any] | None = None
    member: Member | None = None
    user: User | None = None
    data: dict[str, Any] = {}

    @property
    def person(self) -> User | None:
        return self.user if self.member is None else self.member.user


_NEEDED = ("id", "channel_id", "author")


def read_message(raw: Any) -> Message:
    """A message, without the fields that can't be read. Raises ValueError
    for what is none of somebody's."""
    try:
        fields = _drop_nulls(raw)
    except RecursionError as error:
        raise ValueError("a message that is nested too deeply") from error
    try:
        return msgspec.convert(fields, Message)
    except msgspec.ValidationError:
        if not isinstance(fields, dict):
            raise
    good = {key: fields[key] for key in _NEEDED if key in fields}
    found = msgspec.convert(good, Message)
    for key in fields:
        with suppress(msgspec.ValidationError):
            found = msgspec.convert({**good, key: fields[key]}, Message)
            good[key] = fields[key]
    return found


def _drop_nulls(value: Any) -> Any:
    """To leave a field out and to set it to null is the same here."""
    if isinstance(value, dict):
        return {key: _drop_nulls(inner) for key, inner in value.items()
                if inner is not None}
    return [_drop_nulls(inner) for inner in value] \
        if isinstance(value, list) else value


def is_id(text: Any) -> bool:
    """Whether this can be an id: a snowflake."""
    return isinstance(text, str) and 0 < len(text) <= 20 \
        and text.isascii() and text.isdigit() and int(text) < 1 << 63


def snowflake(seconds: float) -> int:
    """The lowest id that is given out at this Unix time."""
    return max(0, int(seconds * 1000) - _EPOCH_MS) << _LOW_BITS


def read_time(iso: str | None) -> float | None:
    """Unix seconds of a timestamp."""
    try:
        return datetime.fromisoformat(iso).timestamp() if iso else None
    except (ValueError, OverflowError):
        return None
