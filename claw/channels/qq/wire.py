"""What QQ sends, as far as claw reads it: typed records. Pure.

Only what every message has is required; whatever else is missing or new does
no harm. Source: bot.q.qq.com/wiki, API v2: message/send-receive/event,
message/trans/msg-btn, user/manage, group/manage.
"""

import base64
import re
from datetime import datetime
from typing import Any

import msgspec

from claw.channels.client import read_json
from claw.channels.media import FileRef
from claw.core.files import safe_name
from claw.core.value import Value

USER, GROUP, CHANNEL, DMS = "user", "group", "channel", "dms"
# Kinds of events -> kind of chat.
MESSAGES = {"C2C_MESSAGE_CREATE": USER,
            "GROUP_AT_MESSAGE_CREATE": GROUP, "GROUP_MESSAGE_CREATE": GROUP,
            "AT_MESSAGE_CREATE": CHANNEL, "MESSAGE_CREATE": CHANNEL,
            "DIRECT_MESSAGE_CREATE": DMS}
# Those that come without a mention, to bots that may hear everything.
UNADDRESSED = ("GROUP_MESSAGE_CREATE", "MESSAGE_CREATE")
_QUOTES = 103  # message_type of one that answers another
_PRIVATE = 2  # chat_type of a pressed button
_ID = re.compile(r"[A-Za-z0-9_.:!~=+-]{1,200}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_FACE = re.compile(r'<faceType=\d+,faceId="([^"<>]*)",ext="([^"<>]*)">')
_SUFFIXES = {"image": ("png", "jpg", "jpeg", "gif", "webp", "bmp"),
             "video": ("mp4", "mov", "avi", "mkv"),
             "voice": ("silk", "slk", "amr"),
             "audio": ("mp3", "wav", "ogg", "flac", "m4a")}


class Author(msgspec.Struct, frozen=True):
    user_openid: str = ""
    member_openid: str = ""
    id: str = ""
    username: str = ""
    bot: bool = False


class File(msgspec.Struct, frozen=True):
    """`asr_refer_text` is what QQ heard in a recording, `voice_wav_url` the
    recording as wav."""

    url: str = ""
    filename: str = ""
    content_type: str = ""
    size: int = 0
    voice_wav_url: str = ""
    asr_refer_text: str = ""


class Element(msgspec.Struct, frozen=True):
    """A message that is answered."""

    content: str = ""
    attachments: list[File] = []


class Message(msgspec.Struct, frozen=True):
    id: str
    author: Author
    content: str = ""
    timestamp: str = ""
    group_openid: str = ""
    channel_id: str = ""
    guild_id: str = ""
    attachments: list[File] = []
    mentions: list[dict[str, Any]] = []
    message_type: int = 0
    msg_elements: list[Element] = []


class Pressed(msgspec.Struct, frozen=True):
    button_data: str = ""
    user_id: str = ""


class PressData(msgspec.Struct, frozen=True):
    resolved: Pressed = Pressed()


class Interaction(msgspec.Struct, frozen=True):
    """A pressed button."""

    id: str
    data: PressData = PressData()
    chat_type: int = 0
    user_openid: str = ""
    group_openid: str = ""
    group_member_openid: str = ""
    channel_id: str = ""
    timestamp: str = ""


class Place(Value):
    """A chat: its kind and QQ's id."""

    kind: str
    id: str

    @property
    def recipient(self) -> str:
        return f"{self.kind}:{self.id}"

    @property
    def path(self) -> str:
        """Of its messages."""
        return {USER: f"/v2/users/{self.id}", GROUP: f"/v2/groups/{self.id}",
                CHANNEL: f"/channels/{self.id}",
                DMS: f"/dms/{self.id}"}[self.kind]

    @property
    def has_keys(self) -> bool:
        """Whether messages there carry a msg_seq, and may carry files."""
        return self.kind in (USER, GROUP)


def is_id(text: Any) -> bool:
    """Whether this can be the id of a message or an event."""
    return isinstance(text, str) and bool(_ID.fullmatch(text))


def is_name(text: Any) -> bool:
    """Whether this can be the id of a person or a chat."""
    return isinstance(text, str) and bool(_NAME.fullmatch(text))


def read_place(recipient: str) -> Place | None:
    """The chat of user:<openid>, group:<openid>, channel:<id>, dms:<id> or
    a bare openid; None for what is no address here."""
    kind, _, number = recipient.strip().rpartition(":")
    kind = kind or USER
    if kind in (USER, GROUP, CHANNEL, DMS) and is_name(number):
        return Place(kind, number)
    return None


def read_message(event: str, data: Any) -> tuple[Message, Place, str]:
    """The message of an event, its chat and its author's id. Raises
    ValueError."""
    message = msgspec.convert(_known(data), Message)
    author, kind = message.author, MESSAGES[event]
    sender = {USER: author.user_openid or author.id,
              GROUP: author.member_openid or author.id}.get(kind, author.id)
    place = Place(kind, {USER: sender, GROUP: message.group_openid,
                         CHANNEL: message.channel_id,
                         DMS: message.guild_id}[kind])
    if not is_id(message.id) or not is_name(sender) \
            or not is_name(place.id):
        raise ValueError("a message whose ids are none")
    return message, place, sender


def read_press(data: Any) -> tuple[Interaction, Place, str]:
    """A pressed button, its chat and who pressed it. Raises ValueError."""
    press = msgspec.convert(_known(data), Interaction)
    sender = press.user_openid or (  # in private one of them is there
        press.data.resolved.user_id if press.chat_type == _PRIVATE else "")
    place = Place(USER, sender)
    if press.group_openid:
        place, sender = Place(GROUP, press.group_openid), \
            press.group_member_openid
    elif press.channel_id:
        place, sender = Place(CHANNEL, press.channel_id), \
            press.data.resolved.user_id
    if not is_id(press.id) or not is_name(sender) or not is_name(place.id):
        raise ValueError("a pressed button whose ids are none")
    return press, place, sender


def _known(data: Any) -> Any:
    """Without what is null: QQ writes null for what is not there."""
    if isinstance(data, dict):
        return {key: _known(value) for key, value in data.items()
                if value is not None}
    if isinstance(data, list):
        return [_known(value) for value in data if value is not None]
    return data


def read_time(text: str) -> int | None:
    """Unix seconds of an RFC 3339 time."""
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        return None


def read_text(message: Message, bot_id: str) -> str:
    """Its words: without the mention of us, faces by their names."""
    text = message.content
    if bot_id:
        text = re.sub(rf"[ \t]*<@!?{re.escape(bot_id)}>[ \t]*", " ", text)
    return _FACE.sub(_name_face, text).strip()


def _name_face(found: "re.Match[str]") -> str:
    try:
        said = read_json(base64.b64decode(found[2]).decode())["text"]
        return f"[{str(said).strip('/[]')[:40]}]"
    except (ValueError, LookupError, TypeError):
        return f"[Face {found[1][:10]}]"


def mentions_us(message: Message, bot_id: str) -> bool:
    return any(user.get("is_you") is True
               or (bot_id and user.get("id") == bot_id)
               for user in message.mentions) \
        or bool(bot_id and re.search(rf"<@!?{re.escape(bot_id)}>",
                                     message.content))


def quoted(message: Message) -> Element | None:
    """What it answers, as far as QQ shows it."""
    if message.message_type == _QUOTES and message.msg_elements:
        return message.msg_elements[0]
    return None


def read_file(file: File) -> FileRef:
    """A file to fetch. A recording is had as wav where QQ gives that."""
    mime = file.content_type.partition(";")[0].strip().lower()
    suffix = file.filename.rpartition(".")[2].lower()
    kind = mime.partition("/")[0]
    if kind not in ("image", "video", "voice", "audio"):
        kind = next((kind for kind, known in _SUFFIXES.items()
                     if suffix in known), "document")
    url, name = file.url, safe_name(file.filename, kind)
    if kind == "voice" and file.voice_wav_url:
        url, mime = file.voice_wav_url, "audio/wav"
        name = f"{name.rpartition('.')[0] or name}.wav"
    return FileRef(kind, f"https:{url}" if url.startswith("//") else url,
                   name, mime if "/" in mime else None, max(0, file.size))
