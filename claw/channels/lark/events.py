"""Events and listed messages, typed; and the messages that are made of
them. Pure.

A message comes as an event ({"sender": ..., "message": ...}) or as a row of
the history ({"body": ...}), which names people in other places.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from claw.channels.lark.content import Mention, parse_json
from claw.core.channel import Attachment, ChannelMessage
from claw.core.value import Value, made

MESSAGE = "im.message.receive_v1"
PRESSED = "card.action.trigger"
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # they go into paths
_MOST_MENTIONS = 100


class Incoming(Value):
    """A message as it came. `root` is the first one of its thread, where
    `thread` says that it is in one; `parent` is what it answers."""

    message_id: str
    chat: str
    is_group: bool
    sender: str
    created_ms: int
    kind: str
    body: Mapping[str, Any]
    mentions: Mapping[str, Mention] = made(factory=dict)
    root: str = ""
    parent: str = ""
    thread: str = ""

    @property
    def thread_root(self) -> str:
        return (self.root or self.message_id) if self.thread else ""


class Press(Value):
    """A pressed button."""

    event_id: str
    sender: str
    chat: str
    message_id: str
    action: str


def read_header(envelope: Any) -> tuple[str, dict[str, Any]]:
    """The type of an event and what it holds; ("", {}) for what is none."""
    if not isinstance(envelope, dict):
        return "", {}
    header, event = envelope.get("header"), envelope.get("event")
    if not isinstance(header, dict) or not isinstance(event, dict):
        return "", {}
    return _text(header, "event_type"), event


def read_message(event: Mapping[str, Any]) -> Incoming | None:
    """The message of an event; None for one that no person wrote. Raises
    ValueError for what can't be read."""
    sender, message = _dict(event, "sender"), _dict(event, "message")
    if _text(sender, "sender_type") in ("app", "bot"):
        return None
    return _build(
        message, _text(_dict(sender, "sender_id"), "open_id"),
        _text(message, "message_type"), _text(message, "content"),
        is_group=_text(message, "chat_type") != "p2p")


def read_row(row: Any, *, is_group: bool) -> Incoming | None:
    """A row of the history, as `read_message`."""
    if not isinstance(row, dict):
        raise ValueError("a row that is no message")
    sender = _dict(row, "sender")
    if row.get("deleted") is True or _text(sender, "sender_type") != "user" \
            or _text(sender, "id_type") not in ("", "open_id"):
        return None
    return _build(row, _text(sender, "id"), _text(row, "msg_type"),
                  _text(_dict(row, "body"), "content"), is_group=is_group)


def _build(message: Mapping[str, Any], sender: str, kind: str, content: str,
           *, is_group: bool) -> Incoming:
    number, chat = _text(message, "message_id"), _text(message, "chat_id")
    if not (_ID.fullmatch(number) and _ID.fullmatch(chat)
            and _ID.fullmatch(sender)):
        raise ValueError("a message without its ids")
    return Incoming(
        number, chat, is_group, sender, read_ms(message.get("create_time")),
        kind, parse_json(content), _read_mentions(message.get("mentions")),
        *(found if _ID.fullmatch(found := _text(message, key)) else ""
          for key in ("root_id", "parent_id", "thread_id")))


def _read_mentions(given: Any) -> dict[str, Mention]:
    found = {}
    for one in given[:_MOST_MENTIONS] if isinstance(given, list) else ():
        if not isinstance(one, dict):
            continue
        who = one.get("id")
        open_id = _text(who, "open_id") if isinstance(who, dict) \
            else who if isinstance(who, str) else ""
        key = _text(one, "key")
        found[key] = Mention(key, open_id, _text(one, "name"))
    return found


def read_ms(given: Any) -> int:
    """A time in milliseconds, which is text or a number; 0 for none."""
    text = str(given)
    return int(text) if text.isascii() and text.isdigit() \
        and len(text) < 15 else 0


def read_press(envelope: Mapping[str, Any], event: Mapping[str, Any]
               ) -> Press | None:
    """None for a button that is not ours. Raises ValueError."""
    value = _dict(event, "action").get("value")
    action = value.get("claw") if isinstance(value, dict) else None
    if not isinstance(action, str) or not action:
        return None
    context = _dict(event, "context")
    press = Press(
        _text(_dict(envelope, "header"), "event_id"),
        _text(_dict(event, "operator"), "open_id"),
        _text(context, "open_chat_id") or _text(event, "open_chat_id"),
        _text(context, "open_message_id") or _text(event, "open_message_id"),
        action)
    if not all(_ID.fullmatch(number) for number in (
            press.event_id, press.sender, press.chat, press.message_id)):
        raise ValueError("a pressed button without its ids")
    return press


def compose(channel: str, incoming: Incoming, text: str,
            attachments: Sequence[Attachment], labels: Sequence[str],
            sender_name: str) -> ChannelMessage:
    root = incoming.thread_root or None
    return ChannelMessage(
        id=f"{channel}_{incoming.message_id}", sender=incoming.sender,
        reply_target=incoming.chat, content=text, channel=channel,
        timestamp=incoming.created_ms // 1000, thread_ts=root,
        interruption_scope_id=root, attachments=tuple(attachments),
        labels=tuple(labels), sender_name=sender_name)


def build_action(channel: str, press: Press, now: float,
                 thread: str | None) -> ChannelMessage:
    return ChannelMessage(
        id=f"{channel}_action_{press.event_id}", sender=press.sender,
        reply_target=press.chat, content=press.action, channel=channel,
        timestamp=int(now), kind="action", thread_ts=thread,
        interruption_scope_id=thread)


def parse_id(channel: str, own: str) -> str | None:
    """The platform's id of a message of `channel`; None for any other."""
    found = own.removeprefix(f"{channel}_")
    return found if found != own and _ID.fullmatch(found) \
        and not found.startswith("action_") else None


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""


def _dict(body: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = body.get(key)
    return value if isinstance(value, dict) else {}
