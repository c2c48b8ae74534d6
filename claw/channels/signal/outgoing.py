"""Sending: parts, and the calls of `send` that they become.

The daemon answers with the moment of the message, which is its name; it takes
no key, and what was sent does not come back to the device that sent it.

Texts are cut at 2,000 bytes, where signal-cli would send the rest as a file:
phones show that behind "read more", and it is fetched or lost by itself.
Files go as data URIs, so that the daemon needs no eyes on our disk.
Source: SendCommand, ServiceConfig (MAX_MESSAGE_SIZE_BYTES), 0.14.6.
"""

import asyncio
import mimetypes
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any
from urllib.parse import quote

from claw.channels.outfiles import (
    OutFile,
    OutFiles,
    OutsideError,
    mark_received,
)
from claw.channels.signal.api import (
    FILE_BYTES,
    SEND_S,
    SignalApi,
    address,
    list_results,
)
from claw.channels.signal.messages import parse_id, parse_recipient
from claw.channels.signal.styles import (
    count_units,
    move_range,
    split_markdown,
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
from claw.text.segment import clean

TEXT_BYTES = 2000
NOTE_BYTES = 32  # kept free, for the mark of one that repeats
QUOTED_CHARS = 300


class Sender:
    """The sending half of one account. `texts` are the first words of
    messages of groups, by their ids, for quotes."""

    def __init__(self, api: SignalApi, deps: ChannelDeps,
                 texts: Mapping[str, str]) -> None:
        self._api = api
        self._log = deps.log
        self._texts = texts
        self._files = OutFiles(deps, partial(mark_received, "signal"))

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        try:
            chat = parse_recipient(message.recipient)
        except RequestRefusedError:  # who sends it is told
            chat = message.recipient
        text, files = (self._files.split(message.content, chat)
                       if message.files else (message.content, []))
        return [*text_parts(text, message.links), *(
            part for file in (*files, *self._files.attached(
                message.attachments))
            for part in _file_parts(file, message.links))]

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] | None = None) -> str:
        """Deliver one part; its moment."""
        chat = parse_recipient(message.recipient)
        params = {**address(chat), **(
            await self._make_file(part) if "path" in part.data
            else {"message": part.data["text"],
                  "textStyle": part.data.get("styles", [])}),
            **self._make_quote(message, chat)}
        with tell_leaving(leaving) if leaving else nullcontext():
            found = await self._api.call("send", params, chat=chat,
                                         timeout_s=SEND_S)
        moment = found.get("timestamp") if isinstance(found, dict) else None
        if not isinstance(moment, int) or isinstance(moment, bool):
            raise UnavailableError("signal-cli answered send without the "
                                   "moment of the message")
        self._note_failures(chat, found)
        return str(moment)

    def _make_quote(self, message: SendMessage, chat: str
                    ) -> dict[str, Any]:
        """What an answer in a group answers: there several may have asked.
        Only where its words are known, since those go along."""
        own = message.answers or ""
        found = parse_id(own) if chat.startswith("group:") else None
        if found is None or own not in self._texts:
            return {}
        return {"quoteTimestamp": found[1], "quoteAuthor": found[0],
                "quoteMessage": self._texts[own]}

    async def _make_file(self, part: Part) -> dict[str, Any]:
        """A file as parameters; what can't be sent is said in its place."""
        name = safe_name(str(part.data.get("name", "")), part.kind)
        try:
            data = await asyncio.to_thread(
                self._files.read, str(part.data["path"]), FILE_BYTES)
        except (ClawError, OutsideError, OSError) as error:
            return {"message": f"({part.text} can not be sent: {error})"}
        mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
        coded = (await asyncio.to_thread(b64encode, data)).decode()
        # A daemon before 0.14.2 does not know `voiceNote` and leaves it.
        return {"message": part.data.get("note", ""), "attachment": [
            f"data:{mime};filename={quote(name, safe='')};base64,{coded}"],
            **({"voiceNote": True} if part.kind == "voice" else {})}

    def _note_failures(self, chat: str, found: dict[str, Any]) -> None:
        """Of a group that has it, those that have not."""
        failed = [str(r.get("type"))[:40] for r in list_results(found)
                  if r.get("type") != "SUCCESS"]
        if failed:
            self._log("sent_to_some", chat=chat, failed=len(failed),
                      why=", ".join(sorted({*failed})))


def text_parts(markdown: str, links: Sequence[str] | None = None
               ) -> list[Part]:
    """A text as parts; [] for a blank one."""
    return [text_part(text, styles) for text, styles in split_markdown(
        clean(markdown), TEXT_BYTES - NOTE_BYTES, links)]


def text_part(text: str, styles: list[str]) -> Part:
    return Part("text", text, {"text": text, "styles": styles})


def _file_parts(file: OutFile, links: Sequence[str] | None) -> list[Part]:
    if not file.path:  # nothing is fetched: people get the address
        return text_parts(file.text, links)
    return [Part(file.kind, file.text, {"path": file.path,
                                        "name": file.name})]


def mark(part: Part, note: str) -> Part:
    """The part with a note in front of what people read of it."""
    if "path" in part.data:
        return replace(part, text=note + part.text,
                       data={**part.data, "note": note.strip()})
    return replace(part, text=note + part.text, data={
        "text": note + str(part.data["text"]),
        "styles": [move_range(style, count_units(note))
                   for style in part.data.get("styles", [])]})
