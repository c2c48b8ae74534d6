"""Names that belong to a message, and what kind of message it is.

Pure. Source: the seeds' history, memory and interruption keys.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from claw.channels import answers
from claw.core.channel import ChannelMessage
from claw.core.value import replace

ACTION = "action"
CONTROL = "control:"

# Words that are seen before order and permits, like a pressed button.
_CONTROL_WORDS = frozenset({"/stop", "/estop", "/approve", "/deny",
                            "/reply"})


def history_key(message: ChannelMessage) -> str:
    """Whose conversation this is: its history and its order."""
    thread = f"_{_place(message.thread_ts)}" if message.thread_ts else ""
    return (f"{message.channel}_{_place(message.reply_target)}{thread}"
            f"_{message.sender}")


def _place(name: str) -> str:
    """A chat or thread as a piece of a key: without the sign between the
    pieces, or c in a_b would be b_c in a, and read what b_c wrote."""
    return name.replace("%", "%25").replace("_", "%5F")


def memory_key(message: ChannelMessage) -> str:
    """The key under which this one message is remembered."""
    thread = f"_{message.thread_ts}" if message.thread_ts else ""
    return f"{message.channel}{thread}_{message.sender}_{message.id}"


def scope_key(message: ChannelMessage) -> str:
    """What `/stop` and an interrupting message cancel."""
    scope = (f"_{message.interruption_scope_id}"
             if message.interruption_scope_id else "")
    return (f"{message.channel}_{_place(message.reply_target)}"
            f"_{message.sender}{scope}")


def read_place(key: str, channels: Iterable[str]
               ) -> tuple[str, str] | None:
    """Channel and chat of a conversation on one of these; None for a key
    of none of them."""
    for name in sorted(channels, key=len, reverse=True):
        found = re.match(rf"({re.escape(name)}(?::[^_]*)?)_([^_]+)_", key)
        if found is not None:
            place = found[2].replace("%5F", "_").replace("%25", "%")
            return registered_name(found[1]), place
    return None


class NamedKey(NamedTuple):
    """A key of before people were their ids: the conversation of `name` in
    `chat`; `start` is everything before the name."""

    start: str
    chat: str
    name: str


def read_named_key(key: str, channel: str) -> NamedKey | None:
    """The parts of such a key; None for any other. A username begins with
    a letter, an id and a thread with none."""
    found = re.fullmatch(
        rf"({re.escape(channel)}(?::[^_]*)?_([^_]+)(?:_[0-9]+)?_)"
        r"([A-Za-z]\w*)", key, re.ASCII)
    return None if found is None else NamedKey(*found.groups())


def find_person(chat: str, name: str, holders: Mapping[str, str], *,
                chat_is_person: bool) -> str | None:
    """The id of who went by `name` in a chat: that of a private chat where
    it is its person's, else the holder's of the name; None: not known."""
    number = chat.partition(":")[0]
    if chat_is_person and number.isdigit():
        return number
    return holders.get(name)


def move_key(key: str, channel: str, old: str, new: str) -> str | None:
    """The key of a conversation whose person, or chat, has another id now;
    None for any other."""
    found = re.fullmatch(
        rf"({re.escape(channel)}(?::[^_]*)?_)([^_]+)((?:_[^_]+)?_)"
        rf"{re.escape(old)}", key)
    if found is not None:
        place = _place(new) if found[2] == _place(old) else found[2]
        return f"{found[1]}{place}{found[3]}{new}"
    found = re.fullmatch(rf"({re.escape(channel)}(?::[^_]*)?_)"
                         rf"{re.escape(_place(old))}(_.+)", key)
    return found and f"{found[1]}{_place(new)}{found[2]}"


def registered_name(channel: str) -> str:
    """The registered name: "chat" of "chat:room"."""
    return channel.partition(":")[0]


def command_word(text: str) -> str | None:
    """The command of a message: first word, cut at "@", lower case; None
    where it does not begin with "/"."""
    words = text.split(None, 1)
    return (words[0].partition("@")[0].lower()
            if words and words[0].startswith("/") else None)


def is_control(message: ChannelMessage) -> bool:
    """Whether this passes order and permits."""
    if message.kind == ACTION:
        return True
    if answers.is_answer(message.content):
        return True
    word = command_word(message.content)
    # A terminal has Ctrl-C.
    return word in _CONTROL_WORDS and not (
        word == "/stop" and registered_name(message.channel) == "cli")


def order_key(message: ChannelMessage, *, is_alone: bool = False) -> str:
    """The key that orders it in the queue; a control message is alone."""
    return (f"{CONTROL}{message.channel}:{message.id}"
            if is_alone or is_control(message) else history_key(message))


def merge_messages(messages: list[ChannelMessage],
                   joint: str = "\n") -> ChannelMessage:
    """Several messages of one conversation as one; the last says where
    the answer goes."""
    last = messages[-1]
    if len(messages) == 1:
        return last
    texts = [m.content for m in messages if m.content.strip()]
    return replace(
        last, content=joint.join(texts),
        attachments=tuple(a for m in messages for a in m.attachments),
        labels=tuple(dict.fromkeys(n for m in messages for n in m.labels)))
