"""What the server sends, as far as claw reads it: frozen records.

Only ids are required; whatever else is missing, null or new does no harm.
Source: api/v4/source/definitions.yaml of mattermost/mattermost.
"""

import re
from typing import Annotated, Any, TypeVar

import msgspec

from claw.core.value import Value
from claw.text.segment import clean

T = TypeVar("T")
Millis = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]

DIRECT, GROUP = "D", "G"  # types of channels; O and P are those of teams
# The server's have 26 characters; what goes into an address has no others.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class Me(Value):
    """Who we are there."""

    id: str
    username: str = ""
    is_bot: bool = True


class File(msgspec.Struct, frozen=True):
    """FileInfo."""

    id: str
    name: str = ""
    mime_type: str = ""
    size: int = 0


class Embed(msgspec.Struct, frozen=True):
    """What a post shows beside its words; `data` of a "permalink" is the
    post that it leads to."""

    type: str = ""
    data: Any = None


class Metadata(msgspec.Struct, frozen=True):
    """PostMetadata."""

    files: tuple[File, ...] | None = None
    embeds: tuple[Embed, ...] | None = None


class Post(msgspec.Struct, frozen=True):
    """A post; times are milliseconds."""

    id: str
    channel_id: str
    user_id: str = ""
    root_id: str = ""
    message: str = ""
    type: str = ""
    create_at: Millis = 0
    update_at: Millis = 0
    edit_at: Millis = 0
    delete_at: Millis = 0
    props: dict[str, Any] | None = None
    file_ids: tuple[str, ...] | None = None
    metadata: Metadata | None = None


class Channel(msgspec.Struct, frozen=True):
    """A channel that we are in."""

    id: str
    type: str = ""
    display_name: str = ""
    last_post_at: int = 0


def is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_whole_id(text: str) -> bool:
    """Whether it is written as the server writes its ids."""
    return re.fullmatch("[a-z0-9]{26}", text, re.ASCII) is not None


def read_post(raw: Any) -> Post | None:
    """A post as it came; None for what is none."""
    found = _read(raw, Post) or _read(_drop_bad(raw), Post)
    if found is None or not all(map(is_id, (
            found.id, found.channel_id, found.user_id))) \
            or not (found.root_id == "" or is_id(found.root_id)):
        return None
    return msgspec.structs.replace(found, message=clean(found.message))


def _drop_bad(raw: Any) -> dict[str, Any]:
    """The fields of a post that can be read."""
    good: dict[str, Any] = {}
    needed = {"id": "", "channel_id": ""}
    for key in Post.__struct_fields__ if isinstance(raw, dict) else ():
        if key in raw and _read({**needed, key: raw[key]}, Post) is not None:
            good[key] = raw[key]
    return good


def read_channel(raw: Any) -> Channel | None:
    found = _read(raw, Channel)
    return found if found is not None and is_id(found.id) else None


def read_file(raw: Any) -> File | None:
    found = _read(raw, File)
    return found if found is not None and is_id(found.id) else None


def _read(raw: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(raw, kind)
    except (ValueError, RecursionError):  # also msgspec's
        return None
