"""An answer as the calls that deliver it. Pure but for looking where a file
lies.

Text goes first, in pieces of at most 4,096 UTF-16 units with their mark, then
each file of a marker or an attachment; every call is one Part. `data` holds
text and entities, or `path` and `name` or `url` of a file and its `caption`,
and perhaps `keyboard`.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from claw.channels.markers import lone_attachment, parse_markers
from claw.channels.telegram.entities import (
    TEXT_UNITS,
    disarm_text,
    split_markdown,
    utf16_len,
)
from claw.core.channel import (
    Attachment,
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
_KINDS = {"image": "photo", "photo": "photo", "document": "document",
          "file": "document", "video": "video", "audio": "audio",
          "voice": "voice"}
_PHOTOS = ("image/jpeg", "image/png", "image/webp", "image/bmp")
_VOICES = ("audio/ogg", "audio/opus")
_SAVED = re.compile(r"telegram_(-?[0-9]+)_", re.ASCII)  # see intake.py
_AUDIOS = ("audio/mpeg", "audio/mp4", "audio/x-m4a")


class OutsideError(Exception):
    """A file that lies where nothing may be sent from."""


class PartMaker:
    """Makes the parts of messages. Files must lie in the workspace, or
    where received ones are kept, and be none of claw's own. A file that
    was received goes back to its own chat only, when a text names it: a
    text is a model's, and each chat asks for what it likes."""

    def __init__(self, deps: ChannelDeps) -> None:
        self._deps = deps
        self._roots = (deps.workspace, deps.files)

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        chat = message.recipient.strip().partition(":")[0]
        parts = [*(self._content(message.content, chat) if message.files
                   else text_parts(message.content)), *(
            self._file(_guess_kind(file), file.path, file.file_name)
            for file in message.attachments)]
        if message.links is not None:
            parts = [disarm(part, message.links) for part in parts]
        keyboard = self._keyboard(message.buttons)
        if keyboard is not None and parts:
            # Buttons stand under the last text, else under the last file.
            at = max((n for n, part in enumerate(parts)
                      if part.kind == "text"), default=len(parts) - 1)
            parts[at] = replace(parts[at], data={
                **parts[at].data, "keyboard": keyboard})
        return parts

    def _content(self, content: str, chat: str) -> Iterator[Part]:
        lone = self._lone(content, chat)
        if lone is not None:
            yield lone
            return
        text, markers = parse_markers(content)
        yield from text_parts(text)
        for marker in markers:
            yield self._file(marker.kind, marker.target, chat=chat)

    def _lone(self, content: str, chat: str) -> Part | None:
        """A message that is nothing but the place of a file: the file."""
        marker = lone_attachment(content)
        if marker is None:
            return None
        if not marker.target.startswith(("http://", "https://")):
            try:
                if not self.locate(marker.target).is_file():
                    return None
            except (OutsideError, OSError, ValueError):
                return None
        return self._file(marker.kind, marker.target, chat=chat)

    def _file(self, kind: str, target: str, name: str = "",
              chat: str | None = None) -> Part:
        method = _KINDS.get(kind.lower(), "document")
        title = method.capitalize()
        if target.startswith(("http://", "https://")):
            return Part(method, f"{title}: {target}", {"url": target})
        name = name or PurePosixPath(target).name
        try:
            path = self.locate(target)
            saved = _SAVED.match(path.name)
            if chat is not None and saved and saved[1] != chat \
                    and path.is_relative_to(self._deps.files.resolve()):
                raise OutsideError("it was sent in another chat")
            if path.is_file():
                return Part(method, f"{title}: {name}", {
                    "path": str(path), "name": name})
            why = "there is no such file"
        except OutsideError as error:
            why = str(error)
        except (OSError, ValueError) as error:
            why = type(error).__name__
        text = f"({title} {name} can not be sent: {why})"
        return Part("text", text, {"text": text, "entities": []})

    def locate(self, target: str) -> Path:
        """Where a file really is. Raises OutsideError."""
        root, name = self.split(target)
        return root / name

    def split(self, target: str) -> tuple[Path, str]:
        """The folder that it may be sent from, and its name from there.
        Raises OutsideError."""
        path = Path(target.removeprefix("file://"))
        if path.parts[:2] == ("/", "workspace") \
                and not path.is_relative_to(self._deps.workspace):
            path = self._deps.workspace.joinpath(*path.parts[2:])
        real = (self._deps.workspace / path).resolve()
        root = next((found for found in map(Path.resolve, self._roots)
                     if real.is_relative_to(found)), None)
        if root is None:
            raise OutsideError("it lies outside the workspace")
        if not self._deps.may_send(real):
            raise OutsideError("it is not for sending")
        return root, str(real.relative_to(root))

    def _keyboard(self, buttons: Sequence[Button]) -> Any:
        rows = []
        for button in buttons:
            if not 1 <= len(button.action.encode()) <= BUTTON_BYTES \
                    or not button.label.strip():
                self._deps.log("button_left_out", label=button.label,
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


def text_parts(markdown: str) -> list[Part]:
    """A text as parts; [] for a blank one."""
    return [Part("text", piece, {"text": piece, "entities": entities})
            for piece, entities in split_markdown(
                markdown, TEXT_UNITS - NOTE_UNITS)]


def disarm(part: Part, links: Collection[str]) -> Part:
    """A part that is no link and fetches nothing but `links`."""
    url = part.data.get("url")
    if url is not None and url not in links:
        part = Part("text", part.text, {"text": part.text})
    if part.kind != "text":
        return part
    text = str(part.data["text"])
    return replace(part, data={**part.data, "entities": disarm_text(
        text, part.data.get("entities") or [], links)})


def _guess_kind(attachment: Attachment) -> str:
    """By its type; where that is not known by its name."""
    mime = (attachment.mime_type or "").lower().partition(";")[0]
    for kind, types in (("image", _PHOTOS), ("voice", _VOICES),
                        ("audio", _AUDIOS), ("video", ("video/mp4",))):
        if mime in types:
            return kind
    if mime:
        return "document"
    marker = lone_attachment(f"/{attachment.file_name or attachment.path}")
    return marker.kind if marker is not None else "document"


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
