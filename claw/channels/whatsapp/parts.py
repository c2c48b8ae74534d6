"""A message as parts, and a part as the body of a call. Pure but for looking
where a file lies.

Source: developers.facebook.com/documentation/business-messaging/whatsapp,
message types; limits: text 4,096, the body under buttons 1,024 characters,
three buttons of 20 characters, ten rows of a list of 24.
"""

import mimetypes
import re
import secrets
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from claw.channels.outfiles import OutFile, OutFiles, mark_received
from claw.channels.splitting import utf16_len
from claw.channels.whatsapp.markup import TEXT_UNITS, split_markdown
from claw.channels.whatsapp.settings import spell_person
from claw.channels.whatsapp.wire import NAME, read_user_id
from claw.core.channel import Button, ChannelDeps, Part, SendMessage
from claw.core.errors import RequestRefusedError
from claw.core.value import replace

NOTE_UNITS = 40  # kept free, for the mark of one that repeats
BODY_UNITS = 1024
CAPTION_UNITS = 1024
TEMPLATE_CHARS = 900
BUTTONS, ROWS = 3, 10
_TITLE, _ROW_TITLE, _ROW_WORDS = 20, 24, 72
_ACTION_CHARS = 200
_MIB = 1024 * 1024
# By suffix: the type that goes with it.
_TYPES = {
    "image": {"jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png"},
    "audio": {"mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac",
              "amr": "audio/amr", "ogg": "audio/ogg", "oga": "audio/ogg",
              "opus": "audio/ogg"},
    "video": {"mp4": "video/mp4", "3gp": "video/3gpp"},
}
MOST_BYTES = {"image": 5 * _MIB, "audio": 16 * _MIB, "video": 16 * _MIB,
              "document": 100 * _MIB}


class PartMaker:
    """Makes the parts of messages."""

    def __init__(self, deps: ChannelDeps) -> None:
        self.files = OutFiles(deps, lambda chat: mark_received(NAME, chat))
        self._log = deps.log

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        text, files = message.content, list[OutFile]()
        if message.files:
            text, files = self.files.split(
                text, spell_person(message.recipient))
        files += self.files.attached(message.attachments)
        lines = [file.text for file in files if not file.path]
        markdown = "\n".join([text, *lines]) if lines else text
        pieces = split_markdown(markdown, TEXT_UNITS - NOTE_UNITS,
                                message.links)
        buttons = self._list_buttons(message.buttons)
        if buttons and pieces \
                and utf16_len(pieces[-1]) > BODY_UNITS - NOTE_UNITS:
            pieces = split_markdown(markdown, BODY_UNITS - NOTE_UNITS,
                                    message.links)
        parts = [_make_part("text", piece, text=piece) for piece in pieces]
        if buttons:
            last = parts.pop() if parts else _make_part(
                "text", "Choose:", text="Choose:")
            parts.append(replace(last, kind="buttons", data={
                **last.data, "buttons": buttons}))
        parts += [_make_part(file.kind, file.text, path=file.path,
                             name=file.name) for file in files if file.path]
        if parts:
            parts[0] = replace(parts[0], data={**parts[0].data,
                                               "first": True})
        return parts

    def _list_buttons(self, buttons: Iterable[Button]
                      ) -> list[tuple[str, str]]:
        found = [(b.label.strip(), b.action) for b in buttons]
        good = [(label, action) for label, action in found
                if label and 0 < len(action) <= _ACTION_CHARS]
        if len(good) != len(found) or len(good) > ROWS:
            self._log("buttons_left_out",
                      count=len(found) - len(good[:ROWS]))
        return good[:ROWS]


def _make_part(kind: str, shown: str, **data: Any) -> Part:
    return Part(kind, shown, {**data, "key": secrets.token_hex(8)})


def text_part(text: str) -> Part:
    """What claw itself says, as one part."""
    return _make_part("text", text, text=text)


def mark(part: Part, note: str) -> Part:
    """The part with a note in front: of its text, or as a file's caption."""
    if "text" in part.data:
        return replace(part, text=note + part.text, data={
            **part.data, "text": note + str(part.data["text"])})
    caption = (note + str(part.data.get("caption") or "")).strip()
    return replace(part, text=note + part.text,
                   data={**part.data, "caption": caption})


def parse_recipient(recipient: str) -> dict[str, str]:
    """Whom a call is for: a number, or a user id. Raises
    RequestRefusedError for what is neither."""
    person = spell_person(recipient)
    if re.fullmatch(r"\+[0-9]{5,20}", person, re.ASCII):
        return {"to": person[1:]}
    if read_user_id(person):
        return {"recipient": person}
    raise RequestRefusedError(
        f"{recipient[:80]!a} is no address of WhatsApp", status=400,
        hint="write to a number with its country, +4917012345, or to a user "
             "id (US.1349...)")


def build_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": {"body": text, "preview_url": False}}


def build_buttons(text: str, buttons: Iterable[Iterable[str]]
                  ) -> dict[str, Any]:
    """Up to three as buttons, more as a list that opens."""
    pairs = [tuple(pair) for pair in buttons]
    kind = "button" if len(pairs) <= BUTTONS else "list"
    action: dict[str, Any] = {"buttons": [
        {"type": "reply", "reply": {"id": given, "title": _cut(
            label, _TITLE)}} for label, given in pairs]} \
        if kind == "button" else {"button": "Choose", "sections": [{
            "title": "Choose", "rows": [_build_row(*p) for p in pairs]}]}
    return {"type": "interactive", "interactive": {
        "type": kind, "body": {"text": text}, "action": action}}


def _build_row(label: str, given: str) -> dict[str, str]:
    row = {"id": given, "title": _cut(label, _ROW_TITLE)}
    if len(label) > _ROW_TITLE:
        row["description"] = _cut(label, _ROW_WORDS)
    return row


def build_template(name: str, language: str, text: str) -> dict[str, Any]:
    """A template with the text in its one variable: those take one line."""
    line = " ".join(text.split())
    if len(line) > TEMPLATE_CHARS:
        more = len(line) - TEMPLATE_CHARS
        line = f"{line[:TEMPLATE_CHARS]}… (+{more} characters)"
    return {"type": "template", "template": {
        "name": name, "language": {
            "policy": "deterministic", "code": language}, "components": [{
            "type": "body", "parameters": [{"type": "text",
                                            "text": line}]}]}}


def choose_type(kind: str, name: str, size: int, *, captioned: bool
                ) -> tuple[str, str]:
    """What a file is sent as, and its MIME type: as a document what
    WhatsApp would not show, and a recording that needs words beside it."""
    suffix = PurePosixPath(name).suffix.lower().removeprefix(".")
    wanted = "audio" if kind == "voice" else kind
    mime = _TYPES.get(wanted, {}).get(suffix)
    if mime and size <= MOST_BYTES[wanted] \
            and not (captioned and wanted == "audio"):
        return wanted, mime
    return "document", mimetypes.guess_type(name)[0] \
        or "application/octet-stream"


def build_file(sent_as: str, media_id: str, *, name: str, caption: str,
               voice: bool) -> dict[str, Any]:
    media: dict[str, Any] = {"id": media_id}
    if caption:
        media["caption"] = caption[:CAPTION_UNITS]
    if sent_as == "document":
        media["filename"] = name
    if sent_as == "audio" and voice:
        media["voice"] = True
    return {"type": sent_as, sent_as: media}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most - 1] + "…"
