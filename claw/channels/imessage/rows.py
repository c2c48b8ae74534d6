"""Rows of chat.db and what they mean. Pure.

Times are Apple's: nanoseconds since 2001 (seconds before macOS 10.13).
"""

import plistlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from claw.channels.imessage.settings import fold_handle
from claw.channels.imessage.typedstream import MOST_BYTES, read_text
from claw.channels.media import FileRef
from claw.core.errors import RequestRefusedError
from claw.core.files import safe_name
from claw.core.value import Value
from claw.text.segment import clean

NAME = "imessage"
EPOCH_S = 978_307_200  # 2001-01-01
_NS = 10**9
GROUP = "group:"
_STYLE_GROUP = 43
# The place of a file in a text.
_PLACE = "\ufffc"
_OWN_TYPES = (0, 2, 3)  # others stand on another message: tapbacks, stickers
COLUMNS = (
    "m.ROWID", "m.guid", "m.text",
    f"CASE WHEN length(m.attributedBody) <= {MOST_BYTES} THEN "
    "m.attributedBody END", "m.date", "m.is_from_me", "m.is_sent", "m.error",
    "m.service", "m.item_type", "m.associated_message_type",
    "m.is_audio_message", "m.thread_originator_guid",
    "m.destination_caller_id", "m.message_summary_info", "m.date_edited",
    "m.cache_roomnames", "h.id", "c.style", "c.chat_identifier",
    "c.account_login", "c.last_addressed_handle")


class Row(NamedTuple):
    """A message; "" and 0 for what is not there or of another type."""

    rowid: int
    guid: str
    text: str
    body: bytes
    date: int
    is_from_me: int
    is_sent: int
    error: int
    service: str
    item_type: int
    associated_type: int
    is_audio: int
    originator: str
    addressed: str
    summary: bytes
    edited: int
    room: str
    handle: str
    style: int
    identifier: str
    login: str
    last_addressed: str

    @property
    def chat(self) -> str:
        """Messages' name of the chat; "" where it is not known yet."""
        return self.identifier or self.room

    @property
    def is_group(self) -> bool:
        return self.style == _STYLE_GROUP or (
            not self.style and bool(self.room))

    @property
    def sender(self) -> str:
        return fold_handle(clean(self.handle))

    @property
    def reply_target(self) -> str:
        """Our address of the chat. A group's does not hold the service,
        which changes with the system ("any" since macOS 26)."""
        return f"{GROUP}{clean(self.chat)}" if self.is_group else self.sender

    @property
    def message_id(self) -> str:
        return f"{NAME}_{clean(self.guid)}" + (
            f"_edit_{self.edited}" if self.edited else "")

    @property
    def is_said(self) -> bool:
        """Whether a person said it: no report of a group (a new name, who
        came), no tapback and no sticker on another message."""
        return not self.item_type and self.associated_type in _OWN_TYPES

    @property
    def is_to_oneself(self) -> bool:
        """Whether the chat is the account's with itself."""
        own = {fold_handle(re.sub(r"^[A-Za-z]:", "", address)) for address in
               (self.addressed, self.login, self.last_addressed)} - {""}
        return not self.is_group and self.sender in own


class FileRow(NamedTuple):
    """A file of a message."""

    path: str
    name: str
    mime_type: str
    uti: str
    size_bytes: int


def make_row(values: Sequence[Any]) -> Row:
    """A row of COLUMNS, whatever types stand in it."""
    return Row(*map(_as, Row.__annotations__.values(), values))


def make_file(values: Sequence[Any]) -> FileRow:
    return FileRow(*map(_as, FileRow.__annotations__.values(), values))


def _as(kind: Any, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if kind is str and isinstance(value, int):
        return str(value)
    return kind()


def read_content(row: Row) -> str:
    """The words of a message; "" where it has none, or none can be read.
    Since macOS 26 they stand in the body alone, of edited ones in the
    summary."""
    text = (_read_summary(row.summary) if row.edited else "") \
        or row.text or _read_body(row.body)
    return clean(text.replace(_PLACE, "")).strip()


def _read_body(body: bytes) -> str:
    try:
        return read_text(body) if body else ""
    except ValueError:
        return ""


def _read_summary(summary: bytes) -> str:
    """The newest words of an edited message: `ec` has for each of its parts
    the versions, oldest first, their words archived in `t`."""
    if not summary or len(summary) > MOST_BYTES:
        return ""
    try:
        parts = plistlib.loads(summary, fmt=plistlib.FMT_BINARY)["ec"]
        return "".join(read_text(parts[number][-1]["t"])
                       for number in sorted(parts, key=int))
    except (ValueError, LookupError, TypeError, AttributeError,
            plistlib.InvalidFileException, RecursionError, MemoryError):
        return ""


def find_ref(file: FileRow, *, voice: bool) -> FileRef | None:
    """A file, not fetched yet; None for what no person sent (the preview of
    a link)."""
    if file.name.endswith(".pluginPayloadAttachment"):
        return None
    name = safe_name(clean(file.name or file.path), "file")
    mime = file.mime_type.lower()
    kind = ("voice" if voice and (mime.startswith("audio/")
                                  or "audio" in file.uti or not mime)
            # HEIC is not shown to models: it stays a file.
            else "document" if is_heic(file)
            else {"image": "image", "video": "video", "audio": "audio"}.get(
                mime.partition("/")[0], "document"))
    return FileRef(kind, file.path, name, mime or None,
                   max(0, file.size_bytes))


def is_heic(file: FileRow) -> bool:
    return file.mime_type.lower() in ("image/heic", "image/heif") \
        or file.name.lower().endswith((".heic", ".heif"))


def to_unix(date: int) -> int:
    """Apple's time in unix seconds."""
    return EPOCH_S + (date // _NS if abs(date) > 10**12 else date)


def to_apple(unix_s: float) -> int:
    return int((unix_s - EPOCH_S) * _NS)


class Target(Value):
    """Where something goes: `identifier` is Messages' name of the chat, a
    person's address where it is no group."""

    identifier: str
    is_group: bool


def parse_recipient(recipient: str) -> Target:
    """`+15551234567`, a mail address, `group:chat123`, or a chat's guid.
    Raises RequestRefusedError for what is no address."""
    given = recipient.strip()
    found = re.fullmatch(r"(?:any|iMessage|SMS|RCS);([+-]);(.+)",
                         given.removeprefix(GROUP))
    bare, sign = (found[2], found[1]) if found else (given, "")
    if sign == "+" or given.startswith(GROUP) or (
            not sign and re.fullmatch(r"chat[0-9]{1,40}", bare)):
        bare = bare.removeprefix(GROUP)
        if re.fullmatch(r"[!-~]{1,200}", bare):
            return Target(bare, True)
    person = fold_handle(bare)
    if re.fullmatch(r"\+[0-9]{7,15}|[0-9]{3,15}"
                    r"|[a-z0-9._%+-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+",
                    person) and len(person) < 250:
        return Target(person, False)
    raise RequestRefusedError(
        f"{recipient[:80]!a} is no address of Messages", status=400,
        hint="write to a number with its country code (+15551234567), a mail "
             "address, or a group (group:chat123..., as claw shows it)")
