"""What a webhook holds, as far as claw reads it: frozen records. Pure.

    {"destination": "U...", "events": [{"type", "webhookEventId",
      "timestamp", "source", "replyToken", "message", "deliveryContext"}]}

Whatever is missing, null or new does no harm; one event that can't be read
loses no other.
Source: developers.line.biz/en/reference/messaging-api, read 2026-11.
"""

import json
import re
from typing import Any

import msgspec

NAME = "line"
_ID = re.compile(r"[!-~]{1,200}", re.ASCII)
# A user, a group, a room of several people.
_CHAT = re.compile(r"[UCR][0-9a-f]{32}", re.ASCII)
_MOST = 1000  # events in one webhook


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON object of LINE's."""


class Source(Record, frozen=True):
    type: str = ""
    user_id: str | None = None
    group_id: str | None = None
    room_id: str | None = None

    @property
    def chat(self) -> str:
        """The address that answers go to; "" for none."""
        return self.group_id or self.room_id or self.user_id or ""

    @property
    def is_private(self) -> bool:
        return not self.group_id and not self.room_id


class Mentionee(Record, frozen=True):
    """Somebody who is mentioned; places in UTF-16 units."""

    index: int = 0
    length: int = 0
    is_self: bool | None = None


class Mention(Record, frozen=True):
    mentionees: list[Mentionee] = []


class Provider(Record, frozen=True):
    type: str = "line"


class Message(Record, frozen=True):
    id: str = ""
    type: str = ""
    text: str | None = None
    quote_token: str | None = None
    quoted_message_id: str | None = None
    mention: Mention | None = None
    file_name: str | None = None
    file_size: int | None = None
    content_provider: Provider | None = None
    title: str | None = None
    address: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    keywords: list[str] | None = None


class Postback(Record, frozen=True):
    data: str = ""


class Unsend(Record, frozen=True):
    message_id: str = ""


class Context(Record, frozen=True):
    is_redelivery: bool = False


class Event(Record, frozen=True):
    """An event; `timestamp` in milliseconds."""

    webhook_event_id: str
    type: str = ""
    timestamp: int = 0
    mode: str = "active"
    reply_token: str | None = None
    source: Source | None = None
    message: Message | None = None
    postback: Postback | None = None
    unsend: Unsend | None = None
    delivery_context: Context | None = None

    @property
    def own_id(self) -> str:
        """Our id of it: LINE's, which a redelivery keeps."""
        return f"{NAME}_{self.webhook_event_id}"

    @property
    def is_redelivery(self) -> bool:
        context = self.delivery_context
        return context is not None and context.is_redelivery


def read_events(body: bytes) -> tuple[list[Event], int]:
    """The events, and how many could not be read. Raises ValueError for
    what is no webhook."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is not JSON: {error}") from error
    rows = found.get("events") if isinstance(found, dict) else None
    if not isinstance(rows, list):
        raise ValueError("the body holds no events")
    read = [_read(row) for row in rows[:_MOST]]
    return [event for event in read if event is not None], read.count(None)


def _read(row: Any) -> Event | None:
    try:
        event = msgspec.convert(row, Event)
    except (ValueError, RecursionError):  # also msgspec's
        return None
    return event if is_id(event.webhook_event_id) else None


def is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_chat(value: object) -> bool:
    """Whether it is an address: a user, a group or a room."""
    return isinstance(value, str) and _CHAT.fullmatch(value) is not None


def is_user(value: str) -> bool:
    return is_chat(value) and value.startswith("U")
