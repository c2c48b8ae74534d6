"""Sending: parts, and the messages of drafts.

A text is sent with entities; if the server refuses those, without. A file
that is refused as a photo, video or voice goes out as a document. A topic
that is gone is no reason to lose an answer: it goes to the chat.
"""

import asyncio
from typing import Any

from claw.channels.outfiles import OutsideError
from claw.channels.telegram.api import BotApi
from claw.channels.telegram.entities import cover_code
from claw.channels.telegram.parts import (
    UPLOAD_BYTES,
    PartMaker,
    parse_recipient,
    poll_part,
)
from claw.channels.telegram.upload import Upload
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    ClawError,
    NotFoundError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.files import safe_name

_GONE = ("message to delete not found", "message_id_invalid")


class Sender:
    """The sending half of one bot."""

    def __init__(self, api: BotApi, deps: ChannelDeps) -> None:
        self._api = api
        self._maker = PartMaker(deps)

    def parts(self, message: SendMessage) -> list[Part]:
        return self._maker.parts(message)

    def poll_part(self, message: SendMessage) -> Part | None:
        return poll_part(message)

    async def part(self, message: SendMessage, part: Part) -> str:
        """Deliver one part; its message id."""
        if part.kind == "text":
            if "note" in part.data:
                await self._say(message, part, part.data["note"])
            return await self._post(message, "sendMessage", {
                "text": part.data["text"],
                "entities": part.data.get("entities") or None,
                "reply_markup": part.data.get("keyboard")})
        if part.kind == "poll":
            return await self._post(message, "sendPoll", {
                "question": part.data["question"],
                "options": [{"text": option}
                            for option in part.data["options"]]})
        return (await self._url(message, part) if "url" in part.data
                else await self._file(message, part))

    async def send_silently(self, message: SendMessage) -> str:
        """Send the content as it is, so that no phone rings; its id."""
        return await self._post(message, "sendMessage", {
            "text": message.content, "disable_notification": True})

    async def delete(self, recipient: str, message_id: str) -> None:
        """Remove a message; one that is gone is removed."""
        chat, _ = parse_recipient(recipient)
        try:
            await self._api.call("deleteMessage", {
                "chat_id": chat, "message_id": parse_number(message_id)})
        except RequestRefusedError as error:
            if not any(words in error.message.lower() for words in _GONE):
                raise

    # -- the kinds of parts

    async def _url(self, message: SendMessage, part: Part) -> str:
        """Telegram fetches the address; if it can't, people get it."""
        try:
            return await self._post(message, f"send{part.kind.capitalize()}", {
                part.kind: part.data["url"], **_beside(part)})
        except RequestRefusedError:
            return await self._say(message, part, part.text)

    async def _file(self, message: SendMessage, part: Part) -> str:
        name = safe_name(str(part.data.get("name", "")), part.kind)
        try:
            content = await asyncio.to_thread(
                self._maker.files.read, str(part.data["path"]), UPLOAD_BYTES)
        except (ClawError, OutsideError, OSError) as error:
            return await self._say(
                message, part, f"({part.text} can not be sent: {error})")
        try:
            return await self._post(
                message, f"send{part.kind.capitalize()}", _beside(part),
                Upload(part.kind, name, content))
        except RequestRefusedError as error:
            if part.kind == "document" or error.status not in (400, 413):
                raise
        return await self._post(message, "sendDocument", _beside(part),
                                Upload("document", name, content))

    async def _say(self, message: SendMessage, part: Part, text: str) -> str:
        return await self._post(message, "sendMessage", {
            "text": text[:4000], "reply_markup": part.data.get("keyboard")})

    # -- the call

    async def _post(self, message: SendMessage, method: str,
                    params: dict[str, Any], upload: Upload | None = None
                    ) -> str:
        chat, thread = parse_recipient(message.recipient, message.thread_ts)
        sent = {"chat_id": chat, "message_thread_id": thread, **params}
        try:
            result = await self._with_entities(method, sent, upload)
        except RequestRefusedError as error:
            if thread is None or "thread not found" not in \
                    error.message.lower():
                raise
            sent["message_thread_id"] = None
            result = await self._with_entities(method, sent, upload)
        number = result.get("message_id") if isinstance(result, dict) \
            else None
        if not isinstance(number, int):
            raise UnavailableError(f"Telegram answered {method} without a "
                                   "message id")
        return str(number)

    async def _with_entities(self, method: str, params: dict[str, Any],
                             upload: Upload | None = None) -> Any:
        """Call; what the server can't make of the entities goes as plain
        text, or as code where some of it was code: bare, an address in it
        would become a link."""
        try:
            return await self._api.call(method, params, upload=upload)
        except RequestRefusedError as error:
            if not params.get("entities") \
                    or "entit" not in error.message.lower():
                raise
        simpler = cover_code(params["text"], params["entities"])
        return await self._api.call(
            method, {**params, "entities": simpler or None}, upload=upload)


def _beside(part: Part) -> dict[str, Any]:
    """What goes with a file."""
    return {"caption": part.data.get("caption"),
            "reply_markup": part.data.get("keyboard")}


def parse_number(message_id: str) -> int:
    """The platform's number. Raises NotFoundError for anything else."""
    if message_id.isascii() and message_id.isdigit() \
            and len(message_id) < 16:
        return int(message_id)
    raise NotFoundError(f"no message of Telegram has the id {message_id!r}")
