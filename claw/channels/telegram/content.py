"""What a message says, as text for the model. Pure.

Forwards and quotes come first, then the files, then the person's own words.
Whatever has no words of its own (a place, a poll, a kind that does not exist
yet) becomes a bracketed description: nothing is dropped in silence.
"""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from claw.channels.media import FileRef, mark_voice
from claw.channels.telegram.wire import File, Message, Origin, User
from claw.core.files import safe_name

# What files are called that have no name of their own.
_OUR_NAMES = frozenset(("photo.jpg", "voice.ogg", "audio.mp3", "video.mp4",
                        "document"))
IMAGES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Fields that say nothing by themselves, or are read elsewhere.
_PLAIN = _words("""
message_id message_thread_id direct_messages_topic from sender_chat
sender_boost_count sender_business_bot sender_tag date guest_query_id
business_connection_id chat forward_origin is_topic_message
is_automatic_forward reply_to_message external_reply quote reply_to_story
reply_to_checklist_task_id reply_to_poll_option_id via_bot
guest_bot_caller_user guest_bot_caller_chat edit_date has_protected_content
is_from_offline is_paid_post media_group_id author_signature paid_star_count
text entities link_preview_options suggested_post_info effect_id caption
caption_entities show_caption_above_media has_media_spoiler reply_markup
voice audio video video_note animation document live_photo photo
forward_from forward_from_chat forward_from_message_id forward_signature
forward_sender_name forward_date
""")

# Reports of the platform about the chat; nobody wrote them.
_SERVICE = _words("""
new_chat_members left_chat_member chat_owner_left chat_owner_changed
new_chat_title new_chat_photo delete_chat_photo group_chat_created
supergroup_chat_created channel_chat_created
message_auto_delete_timer_changed migrate_to_chat_id migrate_from_chat_id
pinned_message connected_website write_access_allowed passport_data
proximity_alert_triggered boost_added chat_background_set
checklist_tasks_done checklist_tasks_added direct_message_price_changed
forum_topic_created forum_topic_edited forum_topic_closed
forum_topic_reopened general_forum_topic_hidden general_forum_topic_unhidden
giveaway_created giveaway_completed managed_bot_created
paid_message_price_changed poll_option_added poll_option_deleted
suggested_post_approved suggested_post_approval_failed
suggested_post_declined suggested_post_paid suggested_post_refunded
video_chat_scheduled video_chat_started video_chat_ended
video_chat_participants_invited new_chat_member new_chat_participant
left_chat_participant gift_upgrade_sent
""")


def find_files(message: Message) -> tuple[FileRef, ...]:
    """The files of a message; of a photo the largest size. Only what the
    person has recorded for us is a "voice", whose words are his own."""
    if message.photo:
        return (_ref("image", message.photo[-1], "photo.jpg", "image/jpeg"),)
    if message.voice:
        own = (message.forward_origin is None
               and message.forward_date is None)
        return (_ref("voice" if own else "audio", message.voice,
                     "voice.ogg", "audio/ogg"),)
    if message.audio:
        return (_ref("audio", message.audio, "audio.mp3", "audio/mpeg"),)
    moving = (message.video or message.animation or message.video_note
              or message.live_photo)
    if moving:
        return (_ref("video", moving, "video.mp4", "video/mp4"),)
    if message.document:
        found = _ref("document", message.document, "document", None)
        if PurePosixPath(found.name).suffix.lower() in IMAGES:
            return (FileRef("image", found.file_id, found.name,
                            found.mime_type, found.size_bytes),)
        return (found,)
    return ()


def is_foreign(ref: FileRef) -> bool:
    """Whether somebody else speaks from what is written of a file: its
    name, or a recording that is no voice message."""
    return ref.kind == "audio" or ref.name not in _OUR_NAMES


def _ref(kind: str, file: File, name: str, mime: str | None) -> FileRef:
    return FileRef(kind, file.file_id, safe_name(file.file_name, name),
                   file.mime_type or mime, file.file_size)


def describe_message(raw: Mapping[str, Any]) -> str | None:
    """What stands for a message without text and files; None for reports
    of the platform."""
    lines = []
    for kind, value in raw.items():
        if kind in _PLAIN or kind in _SERVICE:
            continue
        # A place of interest comes with its place once more.
        if kind == "location" and "venue" in raw:
            continue
        lines.append(_describe(kind, value))
    if lines:
        return "\n".join(lines)
    return None if any(kind in _SERVICE for kind in raw) \
        else "[Empty message]"


def _describe(kind: str, value: Any) -> str:
    try:
        told = _WORDS[kind](value) if kind in _WORDS else ""
    except (KeyError, TypeError, ValueError, AttributeError):
        told = ""
    name = kind.replace("_", " ").capitalize()
    if kind == "rich_message" and told:
        return told
    if kind not in _WORDS:
        return f"[Unsupported message: {name.lower()}]"
    return f"[{name}: {told}]" if told else f"[{name}]"


def _place(value: Any) -> str:
    return f"{value['latitude']}, {value['longitude']}"


def _contact(value: Any) -> str:
    name = f"{value['first_name']} {value.get('last_name', '')}".strip()
    return f"{name}, {value['phone_number']}"


def _poll(value: Any) -> str:
    options = "; ".join(str(o["text"]) for o in value["options"])
    return f"{value['question']} ({options})"


def _checklist(value: Any) -> str:
    tasks = "; ".join(
        ("done: " if t.get("completion_date") else "") + str(t["text"])
        for t in value["tasks"])
    return f"{value['title']} ({tasks})"


def _texts(value: Any) -> str:
    """Every `text` inside a rich message, a line each."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, list):
            waiting += reversed(current)
        elif isinstance(current, dict):
            text = current.get("text")
            if isinstance(text, str):
                found.append(text)
            waiting += [v for v in reversed(list(current.values()))
                        if isinstance(v, dict | list)]
    return "\n".join(found)


_WORDS: dict[str, Callable[[Any], str]] = {
    "sticker": lambda v: str(v.get("emoji", "")),
    "location": _place,
    "venue": lambda v: f"{v['title']}, {v['address']} "
                       f"({_place(v['location'])})",
    "contact": _contact,
    "poll": _poll,
    "checklist": _checklist,
    "dice": lambda v: f"{v['emoji']} {v['value']}",
    "game": lambda v: str(v["title"]),
    "story": lambda v: "",
    "invoice": lambda v: str(v["title"]),
    "successful_payment": lambda v: f"{v['total_amount']} {v['currency']}",
    "refunded_payment": lambda v: f"{v['total_amount']} {v['currency']}",
    "paid_media": lambda v: f"{v['star_count']} stars",
    "giveaway": lambda v: "", "giveaway_winners": lambda v: "",
    "gift": lambda v: "", "unique_gift": lambda v: "",
    "users_shared": lambda v: ", ".join(
        str(u["user_id"]) for u in v["users"]),
    "chat_shared": lambda v: str(v["chat_id"]),
    "web_app_data": lambda v: str(v["data"]),
    "rich_message": _texts,
}


# -- what other people wrote

# The fields of a message that says what its sender wrote, nothing else.
OWN_WORDS = _words("""
message_id message_thread_id from date chat is_topic_message edit_date
has_protected_content media_group_id text entities link_preview_options
effect_id caption caption_entities show_caption_above_media
has_media_spoiler voice audio video video_note animation document
live_photo photo sticker location dice
""")


def list_set(raw: Mapping[str, Any]) -> list[str]:
    """The fields of a message that say something."""
    return [key for key, value in raw.items()
            if value is not None and value is not False]


def is_forward(raw: Mapping[str, Any]) -> bool:
    """Whether the words are not the sender's, but another one's or a
    bot's; also where the field can't be read, or only older servers send
    it."""
    return any(key.startswith("forward_")
               or key in ("via_bot", "is_automatic_forward")
               for key in list_set(raw))


def is_told_by_others(raw: Mapping[str, Any]) -> bool:
    """Whether the description of a message repeats words that somebody
    else may have written: of a card, a poll, a list, a place's name."""
    return any(key in _WORDS and key not in OWN_WORDS
               and key != "rich_message" for key in list_set(raw))


def forward_prefix(message: Message) -> str:
    """`[Forwarded from ...] `, or nothing."""
    origin = message.forward_origin
    return "" if origin is None else f"[Forwarded from {_who(origin)}] "


def _who(origin: Origin) -> str:
    chat = origin.sender_chat or origin.chat
    if origin.sender_user is not None:
        return _name_user(origin.sender_user)
    if chat is not None:
        kind = "channel: " if origin.type == "channel" else ""
        return kind + (chat.title or chat.username or str(chat.id))
    return origin.sender_user_name or "somebody"


def _name_user(user: User) -> str:
    return f"@{user.username}" if user.username else (
        user.first_name or str(user.id))


def read_quote(message: Message, recording: str | None = None) -> str:
    """The quoted message as `> ` lines with a blank line after them; empty
    where nothing is quoted. `recording` is where a quoted voice message is
    saved: a mark with it stands for what was said."""
    replied = message.reply_to_message
    if replied is not None and replied.forum_topic_created is None:
        author = replied.user
        words = (message.quote.text if message.quote else "") \
            or replied.text or replied.caption
        if recording is not None:
            words = f"{mark_voice(recording)}\n{words}"
        words = words or _thing(replied)
        who = _name_user(author) if author else (
            replied.sender_chat.title if replied.sender_chat else "somebody")
        return _format_quote(who, words)
    if message.external_reply is not None:
        words = message.quote.text if message.quote else "[Message]"
        return _format_quote(_who(message.external_reply.origin), words)
    return ""


def _format_quote(who: str, words: str) -> str:
    lines = "\n".join(f"> {line}" for line in words.splitlines())
    return f"> {who}:\n{lines}\n\n"


def _thing(message: Message) -> str:
    for kind, words in (
            ("voice", "[Voice message]"), ("audio", "[Voice message]"),
            ("photo", "[Photo]"), ("document", "[Document]"),
            ("video", "[Video]"), ("video_note", "[Video]"),
            ("sticker", "[Sticker]")):
        if getattr(message, kind):
            return words
    return "[Message]"
