"""From an event of Slack to a message of claw. Pure.

`read_event` says what came, `compose` makes the ChannelMessage once its
files are there; `build_action` and `build_command` read buttons and slash
commands. A ts is the id of a message in its channel, and its time.
Source: docs.slack.dev/reference/events/message and
/reference/interaction-payloads.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from claw.channels.media import FileRef
from claw.channels.slack.reading import decode, find_people, read_blocks
from claw.core.channel import Attachment, ChannelMessage
from claw.core.files import safe_name
from claw.core.labels import ATTACHMENT
from claw.core.value import Value

MOST_FILES = 8
_TS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?", re.ASCII)
_PLACE = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_OWN_ID = re.compile(
    r"slack_([A-Za-z0-9_-]{1,64})_([0-9]{1,12}(?:\.[0-9]{1,9})?)"
    r"(?:_edit_[0-9.]+)?", re.ASCII)
# Kinds of messages that people write; the others are reports, bots, or
# (message_deleted) take something away.
_WRITTEN = frozenset(("", "file_share", "thread_broadcast"))
# What Slack itself calls files that were recorded or pasted.
_OUR_NAMES = frozenset(("image.png", "image.jpg", "file"))
_VOICES = ("slack_audio", "slack_voice")
_IMAGES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"))
# What people can also say as words behind one command of the app.
_OWN_COMMAND = "/claw"
_COMMANDS = frozenset(("new", "stop", "model", "models", "help", "config",
                       "approve", "deny"))


class Incoming(Value):
    """A message that a person wrote. `thread_ts` is set where it stands in
    a thread, `edited_ts` where it is an edit of one."""

    channel: str
    user: str
    ts: str
    text: str = ""
    thread_ts: str = ""
    edited_ts: str = ""
    files: tuple[Mapping[str, Any], ...] = ()
    attachments: tuple[Mapping[str, Any], ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What two deliveries of it have in common."""
        return self.channel, self.ts, self.edited_ts


def read_event(event: Any, channel: str = "") -> Incoming | None:
    """What somebody wrote; None for anything else. `channel` is where it
    stood, for one of a history, which does not say. Raises ValueError for
    a message that can't be read."""
    if not isinstance(event, dict) \
            or event.get("type") not in ("message", "app_mention"):
        return None
    channel = _text(event, "channel") or channel
    subtype, edited = _text(event, "subtype"), ""
    if subtype == "message_changed":
        before, event = event.get("previous_message"), event.get("message")
        if not isinstance(event, dict) or (
                isinstance(before, dict)
                and before.get("text") == event.get("text")):
            return None  # a preview was added, a thread has grown
        subtype, mark = _text(event, "subtype"), event.get("edited")
        edited = _text(mark, "ts") if isinstance(mark, dict) else ""
        if not edited:
            return None
    user = _text(event, "user")
    if subtype not in _WRITTEN or not user or event.get("bot_id") \
            or event.get("bot_profile"):
        return None
    thread = _text(event, "thread_ts")
    found = Incoming(
        channel, user, _text(event, "ts"),
        _text(event, "text") or read_blocks(event.get("blocks")),
        "" if thread == _text(event, "ts") else thread, edited,
        _dicts(event.get("files")), _dicts(event.get("attachments")))
    if not _PLACE.fullmatch(channel) or not _PLACE.fullmatch(user) or not all(
            _TS.fullmatch(ts) for ts in (
                found.ts, *filter(None, (thread, edited)))):
        raise ValueError("a message without a channel, a person or a ts")
    return found


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def _dicts(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(item for item in value if isinstance(item, dict)) \
        if isinstance(value, list) else ()


def is_ts(text: str) -> bool:
    return _TS.fullmatch(text) is not None


def order(ts: str) -> tuple[int, int]:
    """A ts as numbers: as texts, 9.5 would come after 10.5."""
    whole, _, rest = ts.partition(".")
    return int(whole or 0), int(rest[:9].ljust(9, "0"))


def is_group(channel: str) -> bool:
    """A channel or a group message; a private message begins with D."""
    return channel[:1] in ("C", "G")


# -- files

def find_files(incoming: Incoming) -> list[FileRef]:
    """The files of a message. Only what a person recorded in Slack is a
    "voice", whose words are his own."""
    return [_read_file(file) for file in incoming.files[:MOST_FILES]]


def _read_file(file: Mapping[str, Any]) -> FileRef:
    name = safe_name(_text(file, "name") or _text(file, "title"), "file")
    mime = _text(file, "mimetype") or None
    size = file.get("size")
    return FileRef(
        _kind(file, name, mime or ""),
        find_address(file) or _text(file, "id"),
        name, mime, size if isinstance(size, int) else 0)


def find_address(file: Mapping[str, Any]) -> str:
    return _text(file, "url_private_download") or _text(file, "url_private")


def _kind(file: Mapping[str, Any], name: str, mime: str) -> str:
    major = mime.partition("/")[0]
    if _text(file, "subtype") in _VOICES or (
            major == "audio" and name.startswith("audio_message")):
        return "voice"
    if major in ("audio", "video"):
        return major
    shown = major == "image" and not mime.endswith("svg+xml")
    return ("image" if shown
            or PurePosixPath(name).suffix.lower() in _IMAGES else "document")


# -- messages

def mentioned(incoming: Incoming) -> list[str]:
    """The ids of people whose names its text needs."""
    return list(dict.fromkeys(
        person for text in (incoming.text, *(
            _text(foreign, "text") for foreign in incoming.attachments))
        for person in find_people(text)))


def compose(incoming: Incoming, text: str, names: Mapping[str, str],
            lines: Sequence[str], attachments: Sequence[Attachment], *,
            thread_replies: bool) -> ChannelMessage | None:
    """The message; `text` is its own words, `lines` stand for its files.
    None where nobody said anything."""
    foreign = "".join(_quote(one, names) for one in incoming.attachments)
    own = "\n\n".join(part for part in (
        "\n".join(lines), decode(text, names)) if part)
    if not own.strip() and not foreign:
        return None
    edited = "[Edited] " if incoming.edited_ts else ""
    inside = incoming.thread_ts or None
    return ChannelMessage(
        id=message_id(incoming), sender=incoming.user,
        reply_target=incoming.channel,
        content=(edited + foreign + own).rstrip("\n"), channel="slack",
        timestamp=order(incoming.edited_ts or incoming.ts)[0],
        thread_ts=inside or (incoming.ts if thread_replies else None),
        interruption_scope_id=inside, attachments=tuple(attachments),
        labels=_labels(incoming), sender_name=names.get(incoming.user, ""),
        private=incoming.channel.startswith("D"))


def message_id(incoming: Incoming) -> str:
    found = f"slack_{incoming.channel}_{incoming.ts}"
    return found + (f"_edit_{incoming.edited_ts}" if incoming.edited_ts
                    else "")


def parse_id(own: str) -> tuple[str, str] | None:
    """Channel and ts of an id of ours; None for any other."""
    found = _OWN_ID.fullmatch(own)
    return (found[1], found[2]) if found else None


def _labels(incoming: Incoming) -> tuple[str, ...]:
    """The origins of foreign text in it."""
    shared = [bool(one.get("is_share")) for one in incoming.attachments]
    origins = (
        ("forwarded", any(shared)), ("quoted", not all(shared)),
        (ATTACHMENT, any(ref.kind == "audio" or (
            ref.kind != "voice" and ref.name not in _OUR_NAMES)
            for ref in find_files(incoming))))
    return tuple(label for label, here in origins if here)


def _quote(foreign: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """A message that was shared or quoted, or what else hangs on one."""
    said = _text(foreign, "text") or read_blocks(
        foreign.get("message_blocks") or foreign.get("blocks")) \
        or _text(foreign, "fallback") or _text(foreign, "title")
    who = decode(_text(foreign, "author_name")
                 or _text(foreign, "author_subname")
                 or _text(foreign, "service_name"), names) or "somebody"
    said = decode(said, names)
    if foreign.get("is_share"):
        return f"[Forwarded from {who}] {said or '[Message]'}\n\n"
    lines = "\n".join(f"> {line}" for line in said.splitlines())
    return f"> {who}:\n{lines or '> [Message]'}\n\n"


# -- buttons and commands

def build_action(payload: Any, now: float) -> ChannelMessage | None:
    """A pressed button; None for another interaction. Raises ValueError
    for one that can't be read."""
    if not isinstance(payload, dict) \
            or payload.get("type") != "block_actions":
        return None
    action = next(iter(_dicts(payload.get("actions"))), {})
    user, place, message, container = (
        value if isinstance(value := payload.get(key), dict) else {}
        for key in ("user", "channel", "message", "container"))
    channel = _text(place, "id") or _text(container, "channel_id")
    ts = _text(message, "ts") or _text(container, "message_ts")
    said = _text(action, "value")
    if not said:
        return None  # a link, or a menu of another program
    if not _PLACE.fullmatch(channel) or not _text(user, "id"):
        raise ValueError("a pressed button without a channel or a person")
    thread = (_text(message, "thread_ts") or _text(container, "thread_ts"))
    pressed = _text(action, "action_ts") or _text(payload, "trigger_id")
    return ChannelMessage(
        id=f"slack_action_{channel}_{ts}_{_text(user, 'id')}_{pressed}",
        sender=_text(user, "id"), reply_target=channel, content=said,
        channel="slack", timestamp=int(now), thread_ts=thread or None,
        interruption_scope_id=thread or None, kind="action",
        sender_name=_text(user, "name") or _text(user, "username"))


def build_command(payload: Any, envelope_id: str, now: float
                  ) -> ChannelMessage:
    """A slash command as the text that it stands for. Raises ValueError
    for one that can't be read."""
    if not isinstance(payload, dict):
        raise ValueError("a command without a payload")
    channel, user = _text(payload, "channel_id"), _text(payload, "user_id")
    command = _text(payload, "command")
    if not _PLACE.fullmatch(channel) or not user or not command:
        raise ValueError("a command without a channel or a person")
    words = decode(_text(payload, "text"), {}).strip()
    if command == _OWN_COMMAND:
        known = words.partition(" ")[0].lower() in _COMMANDS
        said = "/" + words if known else words or "/help"
    else:
        said = f"{command} {words}".strip()
    return ChannelMessage(
        id=f"slack_command_{_text(payload, 'trigger_id') or envelope_id}",
        sender=user, reply_target=channel, content=said, channel="slack",
        timestamp=int(now), sender_name=_text(payload, "user_name"))
