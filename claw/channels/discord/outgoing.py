"""Sending: parts, and the silent messages of drafts.

Every message has a nonce with enforce_nonce, mentions nobody and shows no
preview. A recording goes out as a voice message; where that is refused, as a
file.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from claw.channels.discord.api import GONE, Api, RefusedError
from claw.channels.discord.markup import TEXT_CHARS, escape
from claw.channels.discord.messages import read_chat
from claw.channels.discord.nonces import draw_nonce
from claw.channels.discord.parts import UPLOAD_BYTES, PartMaker
from claw.channels.discord.upload import Upload
from claw.channels.discord.voice import measure_voice
from claw.channels.discord.wire import NO_EMBEDS, SILENT, VOICE, is_id
from claw.channels.outfiles import OutsideError
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    ClawError,
    NotFoundError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.files import safe_name

_POLL_HOURS = 24
_MOST_CHATS = 1000


class Sender:
    """The sending half of one bot."""

    def __init__(self, api: Api, deps: ChannelDeps,
                 now: Callable[[], float]) -> None:
        self._api = api
        self._maker = PartMaker(deps, now)
        self._now = now
        self._chats: dict[str, str] = {}  # person -> direct messages
        self.parts = self._maker.parts
        self.poll_part = self._maker.poll_part

    async def part(self, message: SendMessage, part: Part) -> str | None:
        """Deliver one part; its message id. None where Discord says that
        it came, and that somebody has deleted it."""
        if part.kind in ("file", "voice"):
            return await self._file(message, part)
        body: dict[str, Any] = {"content": part.data.get("text")}
        if part.kind == "poll":
            body = {"poll": {
                "question": {"text": part.data["question"]},
                "answers": [{"poll_media": {"text": option}}
                            for option in part.data["options"]],
                "duration": _POLL_HOURS, "allow_multiselect": False}}
        return await self._post(message, part, body)

    async def send_silently(self, recipient: str, text: str) -> str:
        """Send a text so that no phone rings; its id."""
        found = await self._post(SendMessage(text, recipient),
                                 Part("text", text), silent_body(text))
        if found is None:
            raise UnavailableError("Discord has no message of the draft")
        return found

    async def edit(self, recipient: str, message_id: str,
                   body: dict[str, Any]) -> None:
        await self._api.call("PATCH", await self.locate(
            recipient, message_id), body)

    async def locate(self, recipient: str, message_id: str) -> str:
        """The path of a message. Raises NotFoundError, and what looking
        for its chat does."""
        if not is_id(message_id):
            raise NotFoundError(f"no message of Discord has the id "
                                f"{message_id[:40]!r}")
        chat = await self.find_chat(recipient)
        return f"/channels/{chat}/messages/{message_id}"

    async def find_chat(self, recipient: str) -> str:
        """The channel of `<channel>` or `user:<id>`. Raises
        RequestRefusedError for what is none."""
        found = read_chat(recipient)
        if found is None:
            raise RequestRefusedError(
                f"{recipient[:80]!a} is no Discord channel", status=400,
                hint="a channel is a number (Developer Mode, Copy Channel "
                     "ID), a person user:<number>")
        number, is_person = found
        if not is_person:
            return number
        if number not in self._chats:
            room = await self._api.call("POST", "/users/@me/channels",
                                        {"recipient_id": number})
            if not isinstance(room, dict) or not is_id(room.get("id")):
                raise UnavailableError("Discord opened no direct messages")
            if len(self._chats) >= _MOST_CHATS:
                self._chats.clear()
            self._chats[number] = room["id"]
        return self._chats[number]

    # -- the kinds of parts

    async def _file(self, message: SendMessage, part: Part) -> str | None:
        name = safe_name(str(part.data.get("name", "")), "file")
        try:
            content = await asyncio.to_thread(
                self._maker.files.read, str(part.data["path"]), UPLOAD_BYTES)
        except (ClawError, OutsideError, OSError) as error:
            text = escape(f"({part.text} can not be sent: {error})")
            return await self._post(message, part, {
                "content": text[:TEXT_CHARS]})
        voice = measure_voice(content) if part.kind == "voice" else None
        if voice is not None and not part.data.get("components"):
            try:
                return await self._voice(message, part, content, *voice)
            except RefusedError as error:
                if error.status not in (400, 403, 413):
                    raise
        return await self._post(
            message, part, {"content": part.data.get("text") or "",
                            "attachments": [{"id": "0", "filename": name}]},
            Upload(name, content))

    async def _voice(self, message: SendMessage, part: Part, content: bytes,
                     seconds: float, waveform: str) -> str | None:
        name = "voice-message.ogg"
        return await self._post(
            message, part, {"attachments": [{
                "id": "0", "filename": name, "duration_secs": seconds,
                "waveform": waveform}], "flags": VOICE},
            Upload(name, content, "audio/ogg"))

    # -- the call

    async def _post(self, message: SendMessage, part: Part,
                    body: dict[str, Any], upload: Upload | None = None
                    ) -> str | None:
        chat = await self.find_chat(message.recipient)
        sent = {"flags": NO_EMBEDS, "allowed_mentions": {"parse": []},
                "nonce": part.data.get("nonce") or draw_nonce(self._now()),
                "enforce_nonce": True, **body}
        if part.data.get("components"):
            sent["components"] = part.data["components"]
        try:
            result = await self._api.call(
                "POST", f"/channels/{chat}/messages", sent, upload=upload)
        except RefusedError as error:
            if error.code == GONE:  # it came before, and was deleted
                return None
            raise
        number = result.get("id") if isinstance(result, dict) else None
        if not is_id(number):
            raise UnavailableError("Discord answered a new message without "
                                   "its id")
        return str(number)


def silent_body(text: str) -> dict[str, Any]:
    """A text that rings no phone, previews and mentions nothing."""
    return {"content": text, "flags": NO_EMBEDS | SILENT,
            "allowed_mentions": {"parse": []}}
