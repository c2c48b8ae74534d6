"""Sending: parts, and the calls that deliver them.

Text goes first, in cards, then each file: it is brought (im/v1/images,
im/v1/files), and a message names it by the key that it got. Every message
has a key of ours (`uuid`): for an hour the platform sends one with the same
key once. The key of what was brought is kept in the channel's marks, so that
a file in doubt goes out again as the same message, and is found in a
history. In a thread an answer replies to its first message.
Source: im/v1/messages, create and reply; im/v1/images and im/v1/files.
"""

import asyncio
import html
import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

from claw.channels.lark.answers import GONE, RefusedCallError
from claw.channels.lark.api import LarkApi
from claw.channels.lark.cards import (
    MOST_BUTTONS,
    draw_key,
    escape,
    make_card,
    split_markdown,
    text_body,
)
from claw.channels.outfiles import (
    OutFile,
    OutFiles,
    OutsideError,
    mark_received,
)
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    ClawError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.files import safe_name
from claw.core.value import replace
from claw.net.http import tell_leaving

IMAGE_BYTES, UPLOAD_BYTES = 10 * 1024 * 1024, 30 * 1024 * 1024
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tiff", ".heic")
_TYPES = {".pdf": "pdf", ".doc": "doc", ".docx": "doc", ".xls": "xls",
          ".xlsx": "xls", ".ppt": "ppt", ".pptx": "ppt"}
_UPLOAD, _UPLOADS = "upload:", 50
_CARD, _CARDS = "card:", 30
_BAD_CARD = 230099
_RECIPIENTS = (("oc_", "chat_id"), ("ou_", "open_id"), ("on_", "union_id"))
_RECIPIENT = re.compile(r"[!-~]{1,200}")


def read_recipient(recipient: str) -> tuple[str, str]:
    """(id, what kind of id). Raises RequestRefusedError for none."""
    given = recipient.strip()
    if _RECIPIENT.fullmatch(given):
        for start, kind in _RECIPIENTS:
            if given.startswith(start):
                return given, kind
        if "@" in given.strip("@"):
            return given, "email"
    raise RequestRefusedError(
        f"{recipient[:80]!a} is nobody's id there", status=400,
        hint="a chat is oc_..., a person ou_... or an email address")


class Sender:
    """The sending half of one app; `now` is Unix seconds."""

    def __init__(self, api: LarkApi, deps: ChannelDeps,
                 now: Callable[[], float]) -> None:
        self._api = api
        self._deps = deps
        self._now = now
        self._files = OutFiles(deps, partial(mark_received, api.brand.name))

    # -- parts

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        text, files = message.content, list[OutFile]()
        if message.files:
            text, files = self._files.split(text, message.recipient.strip())
        parts = [*self._texts(text, message.links), *(
            part for file in (*files, *self._files.attached(
                message.attachments))
            for part in self._file(file, message.links))]
        buttons = self._buttons(message)
        if buttons and parts:
            # Buttons stand under the last text.
            at = max((n for n, part in enumerate(parts)
                      if part.kind == "text"), default=-1)
            if at < 0:
                parts.append(self._part("text", "Choose:", text="Choose:"))
            parts[at] = replace(parts[at], data={**parts[at].data,
                                                 "buttons": buttons})
        return parts

    def _part(self, kind: str, shown: str, /, **data: Any) -> Part:
        return Part(kind, shown, {"key": draw_key(self._now()), **data})

    def _texts(self, markdown: str, links: Collection[str] | None
               ) -> Iterator[Part]:
        for piece in split_markdown(markdown, links):
            yield self._part("text", html.unescape(piece), text=piece)

    def _file(self, file: OutFile, links: Collection[str] | None
              ) -> Iterator[Part]:
        if file.path:
            yield self._part("file", file.text, path=file.path,
                             name=file.name, form=file.kind)
        else:  # people get the address, or why there is none
            yield from self._texts(escape(file.text) if file.problem
                                   else file.text, links)

    def _buttons(self, message: SendMessage) -> list[tuple[str, str]]:
        found = []
        for button in message.buttons:
            if button.label.strip() and 1 <= len(button.action) <= 100:
                found.append((button.label, button.action))
            else:
                self._deps.log("button_left_out", label=button.label,
                               reason="its action has no 1 to 100 "
                                      "characters")
        return found[:MOST_BUTTONS]

    # -- the calls

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] | None = None) -> str | None:
        """Deliver one part; the id of its message. `leaving` is called
        before each request that could deliver it."""
        read_recipient(message.recipient)
        if part.kind == "file":
            try:
                body = await self._bring(part)
            except (OutsideError, OSError, RequestRefusedError) as error:
                part = _say(part, error)
            else:
                return await self._post(message, body, leaving)
        try:
            found = await self._post(message, text_body(part.data), leaving)
        except RefusedCallError as error:
            if error.code != _BAD_CARD:
                raise
            found = await self._post(
                message, text_body(part.data, bare=True), leaving)
        if part.data.get("buttons"):
            self._keep(_CARD, _CARDS, found, json.dumps({
                "thread": message.thread_ts, "card": make_card(
                    {**part.data, "buttons": ()})}, ensure_ascii=False))
        return found

    async def _post(self, message: SendMessage, body: dict[str, Any],
                    leaving: Callable[[], None] | None) -> str:
        recipient, kind = read_recipient(message.recipient)
        with tell_leaving(leaving) if leaving else nullcontext():
            found = None
            if message.thread_ts:
                found = await self._reply(message.thread_ts, recipient, body)
            if found is None:
                found = await self._api.call(
                    "POST", "im/v1/messages", {"receive_id": recipient,
                                               **body},
                    query={"receive_id_type": kind}, chat=recipient)
        number = found.get("message_id")
        if not isinstance(number, str) or not number:
            raise UnavailableError(f"{self._api.brand.title} answered "
                                   "im/v1/messages without a message_id")
        return number

    async def _reply(self, root: str, chat: str, body: dict[str, Any]
                     ) -> dict[str, Any] | None:
        """None where the thread is gone: no reason to lose an answer."""
        if not re.fullmatch(r"om_\w{1,100}", root):
            return None
        try:
            return await self._api.call(
                "POST", f"im/v1/messages/{root}/reply",
                {**body, "reply_in_thread": True}, chat=chat)
        except RefusedCallError as error:
            if error.code not in GONE:
                raise
        return None

    # -- files

    async def _bring(self, part: Part) -> dict[str, Any]:
        """The message that names a file. Raises OutsideError, OSError and
        what calls raise."""
        name = safe_name(str(part.data["name"]), "file")
        content = await asyncio.to_thread(
            self._files.read, str(part.data["path"]), UPLOAD_BYTES)
        kind, path, fields, field = _choose(
            str(part.data.get("form")), name, content)
        key = self.read_upload(part.data["key"])
        if key is None:
            key = await self._api.upload(path, fields, name, field, content)
            self._keep(_UPLOAD, _UPLOADS, str(part.data["key"]), key)
        return {"msg_type": kind, "uuid": part.data["key"],
                "content": json.dumps({f"{field}_key": key})}

    def read_upload(self, key: Any) -> str | None:
        """The platform's key of a part's file; None: none was brought."""
        return self._deps.marks.get(f"{_UPLOAD}{key}")

    def read_card(self, message_id: str) -> dict[str, Any] | None:
        """What is known of a card with buttons: `card` is it without them,
        `thread` where it stands."""
        try:
            found = json.loads(
                self._deps.marks.get(_CARD + message_id) or "null")
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def forget_card(self, message_id: str) -> None:
        self._deps.marks.set(_CARD + message_id, None)

    def _keep(self, kind: str, most: int, name: str, value: str) -> None:
        """A mark, among the latest of its kind."""
        marks = self._deps.marks
        names = marks.keys()
        old = [key for key in names if key.startswith(kind)]
        for key in old[:len(old) - most + 1]:
            marks.set(key, None)
        marks.set(kind + name, value)


def _choose(form: str, name: str, content: bytes
            ) -> tuple[str, str, dict[str, str], str]:
    """A file's type of message, path, fields and field."""
    suffix = "." + name.rpartition(".")[2].lower()
    if form == "image" and suffix in _IMAGES \
            and 0 < len(content) <= IMAGE_BYTES:
        return "image", "im/v1/images", {"image_type": "message"}, "image"
    fields = {"file_type": _TYPES.get(suffix, "stream"), "file_name": name}
    kind = "file"
    length_ms = measure_opus(content)
    if form == "voice" and length_ms is not None:
        kind = "audio"
        fields.update(file_type="opus", duration=str(length_ms))
    elif form == "video" and suffix == ".mp4":
        kind, fields["file_type"] = "media", "mp4"
    return kind, "im/v1/files", fields, "file"


def measure_opus(data: bytes) -> int | None:
    """Milliseconds of a recording; None for what is no Ogg with Opus."""
    if data[:4] != b"OggS" or data[28:36] != b"OpusHead":
        return None
    at = data.rfind(b"OggS")
    return max(0, int.from_bytes(data[at + 6:at + 14], "little",
                                 signed=True)) // 48


def _say(part: Part, why: Exception) -> Part:
    """In the place of a file, why it is not there."""
    text = why.message if isinstance(why, ClawError) else str(why)
    said = f"({part.text} can not be sent: {text})"
    return Part("text", said, {"key": part.data["key"], "text": said,
                               "plain": True})


def mark(part: Part, note: str) -> Part:
    """The part with a note in front: of its text, or of a file's name. An
    image shows no name, and is a file then."""
    if part.kind == "file":
        return replace(part, text=note + part.text, data={
            **part.data, "form": "document",
            "name": note + str(part.data["name"])})
    return replace(part, text=note + part.text, data={
        **part.data, "text": note + str(part.data["text"])})
