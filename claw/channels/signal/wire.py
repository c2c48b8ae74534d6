"""What the daemon says, typed: only what is read. Pure.

All that came is hostile: a field of another form costs its message no more
than that field.
"""

import json
import re
from typing import Annotated, Any

import msgspec

from claw.text.segment import clean

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
NUMBER = re.compile(r"\+[0-9]{2,15}", re.ASCII)
GROUP = re.compile(r"[A-Za-z0-9+/_-]{22,64}={0,2}", re.ASCII)
Moment = Annotated[int, msgspec.Meta(ge=0, lt=2**46)]  # in ms
_CORE = ("timestamp", "message", "groupInfo")


class Wire(msgspec.Struct, rename="camel"):
    """A record of the daemon's."""


class GroupInfo(Wire):
    group_id: str
    group_name: str | None = None


class Mention(Wire):
    start: int
    length: int
    number: str | None = None
    uuid: str | None = None


class Quote(Wire):
    """`id` is when the quoted message was sent."""

    id: int
    author_number: str | None = None
    author_uuid: str | None = None
    text: str | None = None
    mentions: tuple[Mention, ...] | None = None
    attachments: tuple[Any, ...] | None = None


class File(Wire):
    """An attachment; `is_voice_note` since 0.14."""

    id: str | None = None
    content_type: str | None = None
    filename: str | None = None
    size: int | None = None
    is_voice_note: bool | None = None


class Data(Wire):
    """What somebody wrote."""

    timestamp: Moment
    message: str | None = None
    view_once: bool | None = None
    quote: Quote | None = None
    mentions: tuple[Mention, ...] | None = None
    attachments: tuple[File, ...] | None = None
    group_info: GroupInfo | None = None


class Envelope(Wire):
    """Who sent it and when; `timestamp` is the sender's clock."""

    timestamp: Moment
    source_number: str | None = None
    source_uuid: str | None = None
    source: str | None = None
    source_name: str | None = None
    server_received_timestamp: Moment = 0


class Incoming(msgspec.Struct):
    """Something that somebody wrote. `account` is ours, `edits` the moment
    of the message that it takes the place of, `raw` its dataMessage."""

    account: str
    envelope: Envelope
    data: Data
    raw: dict[str, Any]
    edits: int | None = None
    story: bool = False

    @property
    def sender(self) -> str:
        """The ACI, which nobody loses with his number; else the number."""
        uuid = self.envelope.source_uuid or ""
        if UUID.fullmatch(uuid):
            return uuid.lower()
        number = self.envelope.source_number or self.envelope.source or ""
        return number if NUMBER.fullmatch(number) else ""

    @property
    def number(self) -> str:
        number = self.envelope.source_number or ""
        return number if NUMBER.fullmatch(number) else ""

    @property
    def name(self) -> str:
        """What the sender calls himself, on one line: it stands in the
        midst of what others say."""
        return " ".join((self.envelope.source_name or "").split())[:80]

    @property
    def group(self) -> str:
        info = self.data.group_info
        return info.group_id if info is not None else ""


def load(text: str) -> dict[str, Any]:
    """An event's JSON. Raises ValueError for what is no object."""
    try:
        found = json.loads(clean(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def read_event(event: dict[str, Any]) -> Incoming | None:
    """What somebody wrote; None for receipts, typing, calls and what our
    own devices report. Raises ValueError for what can't be read."""
    raw = event.get("envelope")
    if not isinstance(raw, dict):
        return None
    edit, story = raw.get("editMessage"), raw.get("storyMessage")
    data, edits = raw.get("dataMessage"), None
    if isinstance(edit, dict):
        data = edit.get("dataMessage")
        edits = msgspec.convert(edit.get("targetSentTimestamp"), Moment)
    elif isinstance(story, dict):
        data = _read_story(raw, story)
    if not isinstance(data, dict):
        return None
    account = event.get("account")
    return Incoming(
        account if isinstance(account, str) else "",
        _convert(raw, Envelope, ("timestamp", "sourceUuid", "sourceNumber")),
        _convert(data, Data, _CORE), data, edits, isinstance(story, dict)
        or isinstance(data.get("storyContext"), dict))


def _read_story(raw: dict[str, Any], story: dict[str, Any]
                ) -> dict[str, Any]:
    """A story of words as a message."""
    words = story.get("textAttachment")
    text = words.get("text") if isinstance(words, dict) else None
    return {"timestamp": raw.get("timestamp"), "message":
            f"[Story] {text}" if isinstance(text, str) and text else None}


def _convert(raw: dict[str, Any], kind: Any, core: tuple[str, ...]) -> Any:
    """A record; without its other fields where one of them can't be
    read."""
    raw = _mend(raw)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError:
        return msgspec.convert(
            {key: raw[key] for key in core if key in raw}, kind)


def _mend(value: Any) -> Any:
    """Without halves of characters, which JSON may escape."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _mend(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mend(inner) for inner in value]
    return value
