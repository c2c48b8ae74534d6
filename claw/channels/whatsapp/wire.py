"""What a webhook holds, as far as claw reads it: frozen records. Pure.

    {"object": "whatsapp_business_account", "entry": [{"id", "changes": [
      {"field": "messages", "value": {"metadata", "contacts", "messages",
       "statuses", "errors"}}]}]}

Whatever is missing, null or new does no harm; one part that can't be read
loses no other.
Source: developers.facebook.com/documentation/business-messaging/whatsapp,
webhooks reference, read 2026-11.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from claw.core.value import Value
from claw.text.segment import clean

T = TypeVar("T")

NAME = "whatsapp"
MEDIA = ("image", "document", "audio", "video", "sticker")
_ID = re.compile(r"[!-~]{1,500}", re.ASCII)
_DIGITS = re.compile(r"\+?([0-9]{5,20})", re.ASCII)
# Two letters, a dot, up to 128 letters and digits; with ENT. it is that of
# several businesses.
_USER_ID = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}", re.ASCII)
_OWN_ID = re.compile(rf"{NAME}_([!-~]{{1,500}})", re.ASCII)
_MOST = 1000  # of anything in one webhook


class Media(msgspec.Struct, frozen=True):
    id: str = ""
    mime_type: str = ""
    filename: str = ""
    caption: str = ""
    voice: bool = False


class Text(msgspec.Struct, frozen=True):
    body: str = ""


class Context(msgspec.Struct, frozen=True):
    """The message that this one answers; `forwarded` is one passed on."""

    id: str = ""
    forwarded: bool = False
    frequently_forwarded: bool = False


class Reply(msgspec.Struct, frozen=True):
    id: str = ""
    title: str = ""


class Interactive(msgspec.Struct, frozen=True):
    button_reply: Reply | None = None
    list_reply: Reply | None = None


class Button(msgspec.Struct, frozen=True):
    """A pressed button of a template."""

    text: str = ""


class System(msgspec.Struct, frozen=True):
    """A report about a person, e.g. of a new number."""

    type: str = ""
    body: str = ""
    wa_id: str = ""
    new_wa_id: str = ""
    customer: str = ""
    user_id: str = ""
    previous_user_id: str = ""


class Edit(msgspec.Struct, frozen=True):
    message: dict[str, Any] | None = None


class Message(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """A message; what has no field here is read from the raw one."""

    id: str
    sender: str = ""
    from_user_id: str = ""
    group_id: str = ""
    timestamp: str | int = ""
    type: str = ""
    text: Text | None = None
    image: Media | None = None
    document: Media | None = None
    audio: Media | None = None
    video: Media | None = None
    sticker: Media | None = None
    interactive: Interactive | None = None
    button: Button | None = None
    system: System | None = None
    edit: Edit | None = None
    context: Context | None = None

    @property
    def at(self) -> int:
        return read_time(self.timestamp)

    @property
    def media(self) -> Media | None:
        return getattr(self, self.type) if self.type in MEDIA else None


class Status(msgspec.Struct, frozen=True):
    """What became of a message of ours."""

    id: str
    status: str = ""
    timestamp: str | int = ""
    recipient_id: str = ""
    recipient_user_id: str = ""
    biz_opaque_callback_data: str = ""
    errors: list[Any] | None = None


class Who(Value):
    """A person as a webhook names him: a number as +4917..., a user id;
    "" for what it does not tell."""

    number: str = ""
    user_id: str = ""
    name: str = ""


class Change(Value):
    """The `value` of one change: messages as they came and as they are
    read."""

    phone_number_id: str
    contacts: tuple[Who, ...]
    messages: tuple[tuple[dict[str, Any], Message], ...]
    statuses: tuple[Status, ...]
    unread: int


def read_changes(body: bytes) -> list[Change]:
    """The changes of the field "messages". Raises ValueError for what is no
    JSON object."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError("the body is no JSON object")
    return [_read_change(change["value"]) for entry in _list(found, "entry")
            for change in _list(entry, "changes")
            if change.get("field", "messages") == "messages"
            and isinstance(change.get("value"), dict)]


def _read_change(value: dict[str, Any]) -> Change:
    metadata = value.get("metadata")
    number = metadata.get("phone_number_id") \
        if isinstance(metadata, dict) else None
    raw = _list(value, "messages")
    messages = [(one, read_message(one)) for one in raw]
    statuses = [convert(one, Status) for one in _list(value, "statuses")]
    read = tuple((one, found) for one, found in messages
                 if found is not None)
    return Change(
        str(number or ""),
        tuple(map(_read_contact, _list(value, "contacts"))), read,
        tuple(s for s in statuses if s is not None and is_id(s.id)),
        len(raw) - len(read) + statuses.count(None))


def read_message(raw: dict[str, Any]) -> Message | None:
    """A message; of one with fields of another form what can be read."""
    found = convert(raw, Message)
    if found is None:
        good = {key: raw[key] for key in ("id", *raw)
                if key in raw and convert(
                    {"id": "", key: raw[key]}, Message) is not None}
        found = convert(good, Message)
    return found if found is not None and is_id(found.id) else None


def _read_contact(raw: dict[str, Any]) -> Who:
    profile = raw.get("profile")
    name = profile.get("name") if isinstance(profile, dict) else None
    return Who(read_number(raw.get("wa_id")), read_user_id(raw.get("user_id")),
               " ".join(clean(name).split())[:80]
               if isinstance(name, str) else "")


def find_sender(message: Message, contacts: tuple[Who, ...]) -> Who:
    """Who wrote it. User ids came in 2026: some messages have none, others
    no number; the contacts beside them may tell what is missing."""
    number = read_number(message.sender)
    # "from" may be a user id where there is no number.
    user_id = read_user_id(message.from_user_id) or read_user_id(
        message.sender)
    for contact in contacts:
        if (user_id and contact.user_id == user_id) or (
                number and contact.number == number
                and (not user_id or not contact.user_id)):
            return Who(number or contact.number, user_id or contact.user_id,
                       contact.name)
    return Who(number, user_id)


def read_time(value: str | int | None) -> int:
    """Unix seconds; 0 for what is none."""
    text = str(value)
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) else 0


def read_number(value: Any) -> str:
    found = _DIGITS.fullmatch(value) if isinstance(value, str) else None
    return f"+{found[1]}" if found else ""


def read_user_id(value: Any) -> str:
    return value if isinstance(value, str) and _USER_ID.fullmatch(
        value) else ""


def is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def parse_id(own: str) -> str | None:
    """The platform's id in one of ours; None for any other."""
    found = _OWN_ID.fullmatch(own)
    return found[1] if found else None


def convert(raw: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(raw, kind)
    except (ValueError, RecursionError):  # also msgspec's
        return None


def _list(holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    def walk() -> Iterator[dict[str, Any]]:
        found = holder.get(key)
        for item in found[:_MOST] if isinstance(found, list) else ():
            if isinstance(item, dict):
                yield item
    return list(walk())
