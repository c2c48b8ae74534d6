"""From a callback of DingTalk's to a message of claw. Pure.

`read_message` reads what is there, without trust; `compose` makes the
ChannelMessage once the files are there.
Source: open.dingtalk.com/document/development/robot-message-type.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from claw.channels.answers import is_answer
from claw.channels.dingtalk.answers import read_text
from claw.channels.dingtalk.markup import read_button
from claw.channels.dingtalk.sessions import Session
from claw.channels.media import FileRef
from claw.core.channel import Attachment, ChannelMessage
from claw.core.files import safe_name
from claw.core.labels import ATTACHMENT, UNKNOWN
from claw.core.value import Value

NAME = "dingtalk"
MOST_FILES = 20
_MOST_LINES = 200  # of what is forwarded
_DAY_S = 86_400
_GROUP = re.compile(r"cid[\w+/=-]{6,200}", re.ASCII)
_ID = re.compile(r"[^\s\0-\x1f\x7f]{1,200}")
_OWN_ID = re.compile(r"dingtalk_([^\s|]+)\|([^\s|]+)\|(\S*)")
_KINDS = {"picture": "image", "audio": "voice", "video": "video",
          "file": "document"}
_NAMES = {"picture": "image.jpg", "audio": "voice.amr", "video": "video.mp4",
          "file": "file"}
_THINGS = {"picture": "[Photo]", "audio": "[Voice message]",
           "video": "[Video]", "file": "[File]"}


class Incoming(Value):
    """A message as DingTalk told it. `sender` is the user id where the
    person belongs to the organisation (`staff`), else DingTalk's own id,
    the `platform_id`.
    `foreign` is what others wrote in it, `labels` say whose that is."""

    message_id: str
    conversation: str
    group: bool
    sender: str
    staff: bool
    platform_id: str
    name: str
    at: int
    text: str
    mentioned: bool
    session: Session
    foreign: str = ""
    files: tuple[FileRef, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def chat(self) -> str:
        """Where it is answered."""
        return self.conversation if self.group else self.sender

    @property
    def own_id(self) -> str:
        return (f"{NAME}_{self.conversation}|{self.message_id}|"
                f"{self.sender if self.staff else ''}")


def parse_id(own: str) -> tuple[str, str, str] | None:
    """Conversation, message and user id ("" for none) in one of our ids;
    None for any other."""
    found = _OWN_ID.fullmatch(own)
    return found and (found[1], found[2], found[3])


def is_group(chat: str) -> bool:
    """Whether an address is a group's and no person's."""
    return _GROUP.fullmatch(chat) is not None


def is_staff(chat: str) -> bool:
    """Whether an address can be written to at any time: that of somebody
    of the organisation."""
    return _ID.fullmatch(chat) is not None and not chat.startswith("$")


def read_message(data: Any) -> Incoming:
    """Raises ValueError for what can't be read."""
    if isinstance(data, str | bytes):
        try:
            data = json.loads(data)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
    if not isinstance(data, dict):
        raise ValueError("a message that is no object")
    kind = read_text(data, "conversationType")
    if kind not in ("", "1", "2"):
        raise ValueError("a message from a kind of chat that is not known")
    # What is said in a group must not be answered as if in private.
    group = kind == "2" or bool(not kind
                                and read_text(data, "conversationTitle"))
    conversation = read_text(data, "conversationId")
    sender, staff = _read_sender(data)
    message_id = read_text(data, "msgId")
    if not _ID.fullmatch(message_id) or not _ID.fullmatch(conversation):
        raise ValueError("a message without an id or a conversation")
    if (group and not is_group(conversation)) or not _ID.fullmatch(sender) \
            or is_group(sender):
        raise ValueError("a message without a sender or a group")
    kind = read_text(data, "msgtype")
    text, files, described = _read_content(kind, data)
    quote, quoted = _read_quote(data, sender)
    if text.startswith("/") or is_answer(text):
        quote, quoted = "", False  # a command, or the answer to a question
    forwarded = _read_record(data) if kind == "chatRecord" else ""
    labels = (("quoted", quoted), ("forwarded", kind == "chatRecord"),
              (ATTACHMENT, any(ref.kind == "document" for ref in files)),
              (UNKNOWN, described and not forwarded))
    return Incoming(
        message_id, conversation, group, sender, staff,
        read_text(data, "senderId"),
        " ".join(read_text(data, "senderNick").split())[:100],
        _read_number(data, "createAt") // 1000, text,
        data.get("isInAtList") is not False,
        Session(read_text(data, "sessionWebhook"),
                _read_number(data, "sessionWebhookExpiredTime") / 1000),
        quote + forwarded, tuple(files),
        tuple(label for label, here in labels if here))


def _read_sender(data: dict[str, Any]) -> tuple[str, bool]:
    """The stable id, and whether it is one of the organisation: another
    one's user ids may be the same."""
    staff = read_text(data, "senderStaffId")
    theirs, ours = (read_text(data, key)
                    for key in ("senderCorpId", "chatbotCorpId"))
    if staff and (not theirs or not ours or theirs == ours) \
            and not staff.startswith("$"):
        return staff, True
    return read_text(data, "senderId"), False


def _read_number(data: dict[str, Any], key: str) -> int:
    text = read_text(data, key)
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else 0


def _read_content(kind: str, data: dict[str, Any]
                  ) -> tuple[str, list[FileRef], bool]:
    """Its own words, its files, and whether the words only describe it."""
    content = _object(data.get("content"))
    if kind == "text":
        return read_text(_object(data.get("text")), "content").strip(), [], \
            False
    if kind == "richText":
        return _join_rich(content), [
            _ref("picture", item, f"image_{number}.jpg")
            for number, item in enumerate(_items(content.get("richText")), 1)
            if read_text(item, "downloadCode")], False
    if kind == "audio" and (said := " ".join(
            read_text(content, "recognition").split())):
        return f"[Voice] {said}", [], False  # DingTalk has heard it
    if kind in _KINDS:
        return "", [_ref(kind, content, _NAMES[kind])], False
    if kind == "chatRecord":
        return "", [], True
    words = read_text(content, "text") or read_text(
        _object(data.get("text")), "content")
    if kind == "markdown":
        return words.strip(), [], False
    return (words.strip() or f"[Message of the kind "
            f"{safe_name(kind, 'unknown')}]"), [], True


def _ref(kind: str, content: dict[str, Any], name: str) -> FileRef:
    told = read_text(content, "fileName")
    return FileRef(_KINDS[kind], read_text(content, "downloadCode"),
                   safe_name(told or name, name))


def _join_rich(content: dict[str, Any]) -> str:
    found = []
    for item in _items(content.get("richText")):
        if read_text(item, "type") == "at":
            name = read_text(item, "atName")
            found.append(f"@{name.removeprefix('@')} " if name else "")
        else:
            found.append(read_text(item, "text")
                         or read_text(item, "content"))
    return "".join(found).strip()


def _object(value: Any) -> dict[str, Any]:
    """An object, also where it is written as a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


# -- what other people wrote

def _read_quote(data: dict[str, Any], sender: str) -> tuple[str, bool]:
    """The message that is answered, quoted, and whether its words are
    another one's."""
    said = _object(data.get("text")) or _object(data.get("content"))
    replied = _object(said.get("repliedMsg"))
    if not replied:
        return "", False
    content, kind = _object(replied.get("content")), read_text(
        replied, "msgType")
    words = (read_text(content, "text") or _join_rich(content)
             or read_text(content, "recognition")
             or read_text(content, "summary")
             or _THINGS.get(kind, "[Message]"))
    lines = "\n".join(f"> {line}" for line in words.splitlines())
    who = read_text(replied, "senderId")
    own = bool(who) and who in (sender, read_text(data, "senderId"))
    return f"{lines}\n\n", not own


def _read_record(data: dict[str, Any]) -> str:
    """What is forwarded, a line for each message."""
    content = _object(data.get("content"))
    lines = []
    for item in _items(content.get("chatRecord") or content.get("records")
                       or content.get("messages")):
        who = next(filter(None, (read_text(item, key) for key in (
            "senderName", "senderNick", "sender"))), "somebody")
        body = read_text(item, "content") or read_text(item, "text") \
            or read_text(_object(item.get("content")), "text")
        lines.append(f"[Forwarded from {who}] {body or '[Message]'}")
    title = read_text(content, "title") or read_text(content, "summary")
    return "\n".join(lines[:_MOST_LINES]) or f"[Forwarded] {title}".strip()


# -- as claw has it

def compose(incoming: Incoming, lines: Sequence[str],
            attachments: Sequence[Attachment], labels: Sequence[str],
            now: float) -> ChannelMessage:
    """`lines` stand for its files."""
    action = read_button(incoming.text) if not incoming.foreign else None
    words = "\n\n".join(filter(None, ("\n".join(lines), incoming.text)))
    return ChannelMessage(
        id=incoming.own_id, sender=incoming.sender,
        reply_target=incoming.chat,
        content=action or f"{incoming.foreign}{words}".strip()
        or "[Empty message]", channel=NAME,
        timestamp=incoming.at if 0 < incoming.at <= now + _DAY_S
        else int(now), attachments=tuple(attachments),
        kind="action" if action else "message",
        labels=tuple(dict.fromkeys((*incoming.labels, *labels))),
        sender_name=incoming.name)
