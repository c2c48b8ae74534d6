"""Messages, parts and records as text that a database can hold.

Payloads are JSON in ASCII, so that every string (lone surrogates, NUL)
comes back as it was. Fields that this version does not know are ignored:
a newer one wrote them. Short texts in columns of their own are kept as
they are; those that SQLite or PostgreSQL can't hold become JSON too.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from claw.core.channel import (
    Attachment,
    Button,
    ChannelMessage,
    Part,
    SendMessage,
)
from claw.core.errors import StorageError, UsageError
from claw.core.value import Value

V = TypeVar("V", bound=Value)


def fields(value: Value) -> dict[str, Any]:
    """A value as a dict of its fields."""
    return {name: getattr(value, name) for name in _names(type(value))}


def _names(kind: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = kind.__match_args__
    return names


def _plain(value: object) -> object:
    if isinstance(value, Value):
        return fields(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON type")


def _lenient(value: object) -> object:
    if isinstance(value, Value | Mapping):
        return _plain(value)
    return list(value) if isinstance(value, set | frozenset) else str(value)


_STRICT = json.JSONEncoder(separators=(",", ":"), default=_plain)
_LENIENT = json.JSONEncoder(separators=(",", ":"), default=_lenient)


def encode(value: object, what: str, *, lenient: bool = False) -> str:
    """JSON in ASCII. `lenient` writes what JSON doesn't know as text.
    Raises UsageError, naming `what`."""
    try:
        return (_LENIENT if lenient else _STRICT).encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} can't be stored as JSON: {error}"
                         ) from error


def decode(text: str | None, what: str) -> dict[str, Any]:
    """The object that `encode` wrote. Raises StorageError."""
    try:
        data = json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise _explain_damage(what, error) from error
    if not isinstance(data, dict):
        raise StorageError(f"{what} is damaged: an object was expected")
    return data


# What a list shows in the place of a row that can't be read.
DAMAGED = "(damaged)"


def message(text: str | None, what: str, *,
            lenient: bool = False) -> ChannelMessage:
    """A message that came in. Raises StorageError; `lenient` shows a
    damaged one as such."""
    try:
        data = decode(text, what)
        data["attachments"] = _all(Attachment, data.get("attachments"),
                                   what)
        data["labels"] = tuple(data.get("labels") or ())
        return decode_known(ChannelMessage, data, what)
    except StorageError:
        if not lenient:
            raise
        return ChannelMessage(DAMAGED, "", "", DAMAGED, "", 0)


def send(text: str | None, what: str, *,
         lenient: bool = False) -> SendMessage:
    """A message that goes out, as `message`."""
    try:
        data = decode(text, what)
        data["attachments"] = _all(Attachment, data.get("attachments"),
                                   what)
        data["buttons"] = _all(Button, data.get("buttons"), what)
        links = data.get("links")
        data["links"] = links if links is None else tuple(links)
        data["poll"] = tuple(data.get("poll") or ())
        return decode_known(SendMessage, data, what)
    except StorageError:
        if not lenient:
            raise
        return SendMessage(DAMAGED, "")


def part(text: str | None, what: str, *, lenient: bool = False) -> Part:
    """A part, as `message`."""
    try:
        return decode_known(Part, decode(text, what), what)
    except StorageError:
        if not lenient:
            raise
        return Part(DAMAGED, DAMAGED)


def decode_known(kind: type[V], data: Any, what: str) -> V:
    """A value from the fields of it that are in `data`."""
    try:
        return kind(**{name: data[name] for name in _names(kind)
                       if name in data})
    except (TypeError, KeyError) as error:
        raise _explain_damage(what, error) from error


def _all(kind: type[V], data: Any, what: str) -> tuple[V, ...]:
    try:
        return tuple(decode_known(kind, one, what) for one in data or ())
    except TypeError as error:
        raise _explain_damage(what, error) from error


def _explain_damage(what: str, error: Exception) -> StorageError:
    return StorageError(f"{what} is damaged: {error}")


def pack(text: str) -> str:
    """A text as a column holds it; two texts never become one."""
    if not isinstance(text, str):
        raise UsageError(f"{text!r:.80} is a {type(text).__name__}; "
                         "the queue needs text here")
    if not text.startswith('"') and "\0" not in text and (
            text.isascii() or _is_utf8(text)):
        return text
    return json.dumps(text)


def unpack(column: str) -> str:
    """The text that `pack` was given."""
    return str(json.loads(column)) if column.startswith('"') else column


def pack_or_none(text: str | None) -> str | None:
    return None if text is None else pack(text)


def unpack_or_none(column: str | None) -> str | None:
    return None if column is None else unpack(column)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
