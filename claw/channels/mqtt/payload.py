"""What a message says: JSON or plain text. Pure.

    {"content": "hello", "sender": "mina", "id": "42", "thread_id": "t1"}

Anything that is no JSON object with a text `content` is plain text. The
user properties `sender`, `id` and `thread_id` say the same for plain text.
"""

import base64
import hashlib
import json
import re
from typing import Any

from claw.channels.mqtt.packets import (
    CORRELATION,
    RESPONSE_TOPIC,
    Publish,
    is_odd,
)
from claw.core.value import Value
from claw.text.segment import clean

# In the user properties of all that claw publishes: it never answers itself,
# nor another claw.
MADE_BY = ("agent", "claw")
NAME_CHARS = 200
# Counters and names of devices are shorter; a UUID has so many bytes.
_UNIQUE_BYTES = 16
CORRELATION_BYTES = 1_024  # kept in the message's id
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b")
_ID = re.compile(r"mqtt_[0-9a-f]{32}(?:_([A-Za-z0-9_=-]*))?")


class Said(Value):
    """A message that was read. `key` is what makes it known again, "" where
    it says nothing of that kind; `is_ambiguous`: it names several senders,
    of whom a broker may have checked another one."""

    content: str
    sender: str = ""
    thread_id: str | None = None
    key: str = ""
    is_ambiguous: bool = False


def read_payload(message: Publish) -> Said | None:
    """None for what is no text: an image, the reading of a sensor."""
    text = _decode(message.payload)
    if text is None:
        return None
    user = dict(reversed(message.user))  # the first of a name counts
    senders = [value for name, value in message.user if name == "sender"]
    fields = _read_json(text)
    if fields is not None:
        user = {**user, **{name: fields[name] for name in (
            "sender", "id", "thread_id") if name in fields}}
        text = fields["content"]
        senders += [str(fields["sender"])] if "sender" in fields else []
    sender = _name(user.get("sender"))
    return Said(clean(text), sender,
                _name(user.get("thread_id")) or None,
                _make_key(message, user.get("id"), sender),
                len(set(senders)) > 1)


def _decode(payload: bytes) -> str | None:
    """UTF-8; old devices write Latin-1."""
    try:
        return payload.decode("utf-8-sig")
    except UnicodeDecodeError:
        if any(b < 32 and b not in _TEXT_CONTROLS for b in payload):
            return None
        return payload.decode("cp1252", "replace")


def _read_json(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(
        found.get("content"), str) else None


def _name(value: object) -> str:
    """A name that somebody gave, "" for what is none."""
    if isinstance(value, int) and not isinstance(value, bool) \
            and abs(value) < 10**18:
        value = str(value)
    if not isinstance(value, str):
        return ""
    return make_name(value)


def make_name(text: str) -> str:
    """A text that can stand in a property of ours: a broker hangs up on
    some, and a stranger chose it."""
    return " ".join("".join(
        " " if is_odd(letter) else letter for letter in text
    ).split())[:NAME_CHARS]


def _make_key(message: Publish, given: object, sender: str) -> str:
    """The id that a message says is its writer's own, that is its topic's
    and its sender's; 1 and "1" are two. Correlation data that is unique
    names a request."""
    if isinstance(given, str | int) and not isinstance(given, bool) \
            and str(given).strip():
        return _hash("id", type(given).__name__, message.topic, sender,
                     clean(str(given)))
    correlation = message.properties.get(CORRELATION, b"")
    if len(correlation) >= _UNIQUE_BYTES:
        return _hash("request", correlation.hex(), message.topic,
                     message.properties.get(RESPONSE_TOPIC, ""),
                     message.payload.hex())
    return ""


def _hash(*pieces: str) -> str:
    return hashlib.blake2b(json.dumps(pieces).encode(),
                           digest_size=16).hexdigest()


# -- the id of a message, and what an answer finds in it

def make_id(key: str, correlation: bytes) -> str:
    """The id of a message in the queue: with its correlation data, which
    its answer repeats, whatever process makes that."""
    coded = base64.urlsafe_b64encode(correlation).decode()
    return f"mqtt_{key}_{coded}" if coded else f"mqtt_{key}"


def find_correlation(message_id: str | None) -> bytes:
    """The correlation data of the message with this id."""
    found = _ID.fullmatch(message_id or "")
    try:
        return base64.urlsafe_b64decode(found[1] or "") if found else b""
    except ValueError:
        return b""
