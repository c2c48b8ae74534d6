"""An answer as the calls that deliver it. Pure but for looking where a file
lies.

Text goes first, in pieces of at most 4,096 UTF-16 units with their mark, then
each file of a marker or an attachment; every call is one Part. `data` holds
text and entities, or `path` and `name` or `url` of a file and its `caption`,
and perhaps `keyboard`.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

from claw.channels.outfiles import OutFile, OutFiles
from claw.channels.splitting import utf16_len
from claw.channels.telegram.entities import (
    TEXT_UNITS,
    disarm_entities,
    split_markdown,
)
from claw.core.channel import (
    Button,
    ChannelDeps,
    Part,
    SendMessage,
)
from claw.core.errors import RequestRefusedError
from claw.core.value import replace

BUTTON_BYTES = 64
NOTE_UNITS = 32  # kept free in a text, for the mark of one that repeats
# of a poll
QUESTION_UNITS, OPTION_UNITS, MOST_OPTIONS = 300, 100, 10
UPLOAD_BYTES = 50 * 1024 * 1024  # what a bot may upload, by the Bot API


class PartMaker:
    """Makes the parts of messages."""

    def __init__(self, deps: ChannelDeps) -> None:
        self._log = deps.log
        self.files = OutFiles(deps, lambda chat: f"telegram_{chat}_")

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        chat = message.recipient.strip().partition(":")[0]
        text, files = (self.files.split(message.content, chat)
                       if message.files else (message.content, []))
        parts = [*text_parts(text, message.links), *(
            _file_part(file, message.links) for file in (
                *files, *self.files.attached(message.attachments)))]
        keyboard = self._keyboard(message.buttons)
        if keyboard is not None and parts:
            # Buttons stand under the last text, else under the last file.
            at = max((n for n, part in enumerate(parts)
                      if part.kind == "text"), default=len(parts) - 1)
            parts[at] = replace(parts[at], data={
                **parts[at].data, "keyboard": keyboard})
        return parts

    def _keyboard(self, buttons: Sequence[Button]) -> Any:
        rows = []
        for button in buttons:
            if not 1 <= len(button.action.encode()) <= BUTTON_BYTES \
                    or not button.label.strip():
                self._log("button_left_out", label=button.label,
                               reason="its action has no 1 to 64 bytes")
                continue
            rows.append([{"text": button.label,
                          "callback_data": button.action}])
        return {"inline_keyboard": rows} if rows else None


def poll_part(message: SendMessage) -> Part | None:
    """A message's poll; None for one that is too long for a poll."""
    question, *options = message.poll
    if not 1 <= utf16_len(question) <= QUESTION_UNITS - NOTE_UNITS \
            or not 2 <= len(options) <= MOST_OPTIONS \
            or len({*options}) < len(options) \
            or not all(option.strip() and utf16_len(option) <= OPTION_UNITS
                       for option in options):
        return None
    return Part("poll", message.content,
                {"question": question, "options": options})


def text_parts(markdown: str, links: Collection[str] | None = None
               ) -> list[Part]:
    """A text as parts; [] for a blank one."""
    return [Part("text", piece, {"text": piece, "entities": entities})
            for piece, entities in split_markdown(
                markdown, TEXT_UNITS - NOTE_UNITS, links)]


def _file_part(file: OutFile, links: Collection[str] | None) -> Part:
    """A file as a call. Only `links` are fetched, where not all are."""
    method = "photo" if file.kind == "image" else file.kind
    known = links is None or file.url in links
    if file.problem or (file.url and not known):
        return Part("text", file.text, {
            "text": file.text, "entities": [] if links is None
            else disarm_entities(file.text, (), links)})
    if file.url:
        return Part(method, f"{method.capitalize()}: {file.url}",
                    {"url": file.url})
    return Part(method, f"{method.capitalize()}: {file.name}",
                {"path": file.path, "name": file.name})


def parse_recipient(recipient: str, thread_ts: str | None = None
                 ) -> tuple[int | str, int | None]:
    """chat_id and message_thread_id of `<chat>` or `<chat>:<thread>`.
    Raises RequestRefusedError for what is no chat."""
    chat, _, thread = recipient.strip().partition(":")
    thread = thread or (thread_ts or "")
    known = thread.isascii() and thread.isdigit() and len(thread) < 16
    digits = chat.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 19:
        return int(chat), int(thread) if known else None
    if chat.startswith("@") and len(chat) > 1:
        return chat, int(thread) if known else None
    raise RequestRefusedError(
        f"{json.dumps(recipient[:80])} is no Telegram chat", status=400,
        hint="a chat is a number, or @name of a channel; a topic of a "
             "group is written <chat>:<topic>")
