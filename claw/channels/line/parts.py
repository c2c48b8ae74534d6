"""A message as parts, each the messages of one call. Pure but for looking
where a file lies, and for keys and tokens, which are drawn.

LINE shows text as it is: there is no markup. It previews addresses by
itself, so those that may not be live are written so that they are none.
Source: developers.line.biz/en/reference/messaging-api, message objects:
five messages a call, 5,000 UTF-16 units a text, four actions of a template,
thirteen quick replies, 20 characters a label, 300 of an action's data.
"""

import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from claw.channels.line.replies import Replies
from claw.channels.line.wire import NAME
from claw.channels.outfiles import OutFile, OutFiles, mark_received
from claw.channels.rendering import disarm, render_plain
from claw.channels.splitting import split_text, utf16_len
from claw.core.channel import Button, ChannelDeps, Part, SendMessage
from claw.core.value import replace

Json = dict[str, Any]

TEXT_UNITS = 5000
NOTE_UNITS = 40  # kept free, for the mark of one that repeats
MESSAGES = 5
BUTTONS, QUICK = 4, 13
_LABEL, _DATA = 20, 300
_PICTURE = re.compile(r"https://[!-~]{1,1900}", re.ASCII)
_SUFFIXES = (".jpg", ".jpeg", ".png")
_ONLY = "LINE takes pictures at an https address alone"


class PartMaker:
    """Makes the parts of messages. `now` is Unix seconds."""

    def __init__(self, deps: ChannelDeps, replies: Replies,
                 now: Callable[[], float]) -> None:
        self._files = OutFiles(deps, lambda chat: mark_received(NAME, chat))
        self._log = deps.log
        self._replies = replies
        self._now = now

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files. The
        first goes by a reply token, where the chat has one."""
        text, files = message.content, list[OutFile]()
        if message.files:
            text, files = self._files.split(text, message.recipient)
        files += self._files.attached(message.attachments)
        shown = [file for file in files if _is_picture(file, message.links)]
        text = render_plain("\n".join([text, *(
            _say_why(file) for file in files if file not in shown)]))
        if message.links is not None:
            text = disarm(text, message.links)
        found = [{"type": "text", "text": piece} for piece, _ in split_text(
            text, limit=TEXT_UNITS - NOTE_UNITS, length=utf16_len)]
        found += [build_picture(file.url) for file in shown]
        if choices := self._list_buttons(message.buttons):
            found += build_buttons(choices)
        parts = [self._make(group) for group in _group(found)]
        token = self._replies.give(message.recipient) if parts else None
        if parts:
            parts[0] = replace(parts[0], data={**parts[0].data, "first": True})
        if token is not None:
            parts[0] = replace(parts[0], data={
                **parts[0].data, "reply": token.value, "until": token.until})
        return parts

    def _make(self, messages: Sequence[Json]) -> Part:
        words = "\n".join(map(_read, messages))
        return Part("text", words, {
            "messages": list(messages), "key": str(uuid.uuid4()),
            "at": self._now()})

    def _list_buttons(self, buttons: Iterable[Button]) -> list[Button]:
        found = list(buttons)
        good = [b for b in found if b.label.strip()
                and 0 < len(b.action) <= _DATA][:QUICK]
        if len(good) != len(found):
            self._log("buttons_left_out", count=len(found) - len(good))
        return good


def mark(part: Part, note: str) -> Part:
    """The part with a note in front, as a push."""
    first, *rest = part.data["messages"]
    noted = [{**first, "text": note + first["text"]}] \
        if first["type"] == "text" else [
            {"type": "text", "text": note.strip()}, first]
    data = {key: value for key, value in part.data.items()
            if key not in ("reply", "until")}
    return replace(part, text=note + part.text, data={
        **data, "messages": [*noted, *rest]})


def build_picture(url: str) -> Json:
    return {"type": "image", "originalContentUrl": url,
            "previewImageUrl": url}


def build_buttons(buttons: Sequence[Button]) -> list[Json]:
    """Up to four stay under the text, more are offered until somebody
    writes."""
    actions = [{"type": "postback", "label": _cut(b.label, _LABEL),
                "data": b.action, "displayText": b.label[:_DATA]}
               for b in buttons]
    if len(actions) <= BUTTONS:
        return [{"type": "template", "altText": " / ".join(
            b.label for b in buttons)[:400], "template": {
                "type": "buttons", "text": "Choose:", "actions": actions}}]
    return [{"type": "text", "text": "Choose:", "quickReply": {"items": [
        {"type": "action", "action": action} for action in actions]}}]


def _group(messages: Sequence[Json]) -> Iterable[Sequence[Json]]:
    """As many as go in one call; there is room for the mark of one that
    repeats."""
    at = 0
    while at < len(messages):
        most = MESSAGES - (messages[at]["type"] != "text")
        yield messages[at:at + most]
        at += most


def _is_picture(file: OutFile, links: Sequence[str] | None) -> bool:
    return bool(file.kind == "image" and _PICTURE.fullmatch(file.url)
                and file.url.partition("?")[0].lower().endswith(_SUFFIXES)
                and (links is None or file.url in links))


def _say_why(file: OutFile) -> str:
    return replace(file, problem=_ONLY).text if file.path else file.text


def _read(message: Json) -> str:
    """What a person reads of a message."""
    if message["type"] == "image":
        return f"Image: {message['originalContentUrl']}"
    return str(message.get("altText") or message.get("text"))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most - 1] + "…"
