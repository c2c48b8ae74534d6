"""Sending: parts, and the calls that deliver them.

Text goes to the conversation's session webhook while that lives, which
needs no right; else, as every file, by the robot API. Neither takes a key,
and nothing can be looked up afterwards: the robot API tells the name of a
message only with its answer, a webhook tells none. So one part at a time is
on its way, and one in doubt goes out again with a note.
Source: open.dingtalk.com/document/development (robot-message-type,
the-robot-sends-a-group-message,
chatbots-send-one-on-one-chat-messages-in-batches, upload-media-files).
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from claw.channels.dingtalk.answers import read_text
from claw.channels.dingtalk.api import FILE_BYTES, DingtalkApi
from claw.channels.dingtalk.markup import (
    draw_buttons,
    escape,
    split_markdown,
    title,
)
from claw.channels.dingtalk.messages import (
    NAME,
    is_group,
    is_staff,
    parse_id,
)
from claw.channels.dingtalk.sessions import Sessions
from claw.channels.dingtalk.voice import measure_ms
from claw.channels.outfiles import (
    OutFile,
    OutFiles,
    OutsideError,
    mark_received,
)
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    ClawError,
    RateLimitedError,
    RequestRefusedError,
)
from claw.core.files import safe_name
from claw.core.value import replace
from claw.net.http import tell_leaving

# msgParam may have 15,000 bytes with its escapes, a webhook's body 20,000;
# long ones are cut by phones, and read by nobody.
TEXT_BYTES = 6_000
VOICE_BYTES = 2 * 1024 * 1024
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")


class Sender:
    """The sending half of one robot."""

    def __init__(self, api: DingtalkApi, sessions: Sessions,
                 deps: ChannelDeps, *, mentions: bool) -> None:
        self._api = api
        self._sessions = sessions
        self._mentions = mentions
        self._log = deps.log
        self._files = OutFiles(deps, partial(mark_received, NAME))

    # -- parts

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls, in order; [] for a blank message without files."""
        text, files = message.content, list[OutFile]()
        if message.files:
            text, files = self._files.split(text, message.recipient.strip())
        files += self._files.attached(message.attachments)
        lines = [file.text for file in files if not file.path]
        texts = [_make_part(piece) for piece in split_markdown(
            "\n\n".join(filter(str.strip, (text, *lines))), TEXT_BYTES,
            message.links)]
        if message.buttons:
            texts = texts or [_make_part("Choose:")]
            texts[-1] = replace(texts[-1], data={
                **texts[-1].data, "buttons": draw_buttons(message.buttons)})
        if texts and self._mentions and is_group(message.recipient.strip()):
            asked = parse_id(message.answers or "")
            if asked is not None and asked[2]:
                texts[0] = replace(texts[0], data={
                    **texts[0].data, "at": asked[2]})
        return [*texts, *(Part("file", file.text, {
            "path": file.path, "name": file.name, "kind": file.kind})
            for file in files if file.path)]

    def mark(self, part: Part, note: str) -> Part:
        """The part with a note in front: of its text, or in a message
        before a file."""
        if part.kind == "text":
            return replace(part, text=note + part.text, data={
                **part.data, "text": note + str(part.data.get("text", ""))})
        return replace(part, text=note + part.text,
                       data={**part.data, "marked": True})

    # -- the calls

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] | None = None) -> str | None:
        """Deliver one part; the name that DingTalk gives it, if any.
        `leaving` is called before each request that could deliver it."""
        chat = message.recipient.strip()
        if part.kind == "text":
            return await self._text(chat, part, leaving)
        return await self._file(chat, part, leaving)

    async def _text(self, chat: str, part: Part,
                    leaving: Callable[[], None] | None) -> str | None:
        text = str(part.data.get("text", ""))
        body = {"title": title(part.text), "text": "\n\n".join(
            filter(None, (text, str(part.data.get("buttons", "")))))}
        session = self._sessions.find(chat)
        if session is not None:
            try:
                with tell_leaving(leaving) if leaving else nullcontext():
                    await self._api.post_session(
                        session.url, chat, _address(body, part))
                return None
            except RequestRefusedError as error:
                if not _can_robot(chat):
                    raise
                self._log("session_refused", error=error.message)
                self._sessions.forget(chat)
        return await self._robot(chat, "sampleMarkdown", body, leaving)

    async def _robot(self, chat: str, key: str, body: dict[str, Any],
                     leaving: Callable[[], None] | None) -> str | None:
        """A message by the robot API. Raises RequestRefusedError where it
        can't reach the chat."""
        if not _can_robot(chat):
            raise RequestRefusedError(
                f"{chat[:80]!r} can't be written to now", status=400,
                hint="a person is a user id, a group its conversation id "
                     "(cid...); whoever is not of the organisation has to "
                     "write first")
        sent = {"robotCode": self._api.robot_code, "msgKey": key,
                "msgParam": json.dumps(body, ensure_ascii=False)}
        await self._api.token()  # no request of its own below
        with tell_leaving(leaving) if leaving else nullcontext():
            if is_group(chat):
                found = await self._api.call(
                    "robot/groupMessages/send",
                    {**sent, "openConversationId": chat}, "a message",
                    chat=chat)
            else:
                found = await self._api.call(
                    "robot/oToMessages/batchSend",
                    {**sent, "userIds": [chat]}, "a message", chat=chat)
        _check_taken(found, chat)
        return read_text(found, "processQueryKey") or None

    # -- files

    async def _file(self, chat: str, part: Part,
                    leaving: Callable[[], None] | None) -> str | None:
        """The file, or in its place why it is not there."""
        try:
            content = await asyncio.to_thread(
                self._files.read, str(part.data["path"]), FILE_BYTES)
        except (ClawError, OutsideError, OSError) as error:
            return await self._say(chat, part, error, leaving)
        try:
            key, body = await self._upload(chat, part, content)
            if part.data.get("marked"):
                await self._text(chat, text_part(part.text), None)
            return await self._robot(chat, key, body, leaving)
        except RequestRefusedError as error:
            return await self._say(chat, part, error, leaving)

    async def _say(self, chat: str, part: Part, why: Exception,
                   leaving: Callable[[], None] | None) -> str | None:
        return await self._text(chat, text_part(
            f"({part.text} can not be sent: {why})"), leaving)

    async def _upload(self, chat: str, part: Part, content: bytes
                      ) -> tuple[str, dict[str, Any]]:
        """The file at DingTalk: the message that shows it. Raises
        RequestRefusedError for what DingTalk does not take."""
        if not _can_robot(chat):
            raise RequestRefusedError(
                "DingTalk takes files for people of the organisation only")
        if not content:
            raise RequestRefusedError("it is empty")
        name = safe_name(str(part.data["name"]), "file")
        kind = part.data.get("kind")
        if kind == "image" and name.lower().endswith(_IMAGES):
            media = await self._api.upload("image", name, content)
            return "sampleImageMsg", {"photoURL": media}
        length = measure_ms(content) if kind in ("voice", "audio") \
            and len(content) <= VOICE_BYTES else None
        if length is not None:
            media = await self._api.upload("voice", name, content)
            return "sampleAudio", {"mediaId": media, "duration": str(length)}
        media = await self._api.upload("file", name, content)
        _, dot, suffix = name.rpartition(".")
        return "sampleFile", {"mediaId": media, "fileName": name,
                              "fileType": suffix if dot else "file"}


def text_part(text: str) -> Part:
    """What claw itself says, as one part."""
    return _make_part(escape(text))


def _make_part(piece: str) -> Part:
    return Part("text", piece, {"text": piece})


def _address(body: dict[str, Any], part: Part) -> dict[str, Any]:
    """What a session webhook is posted; whom it mentions stands in it."""
    if asked := part.data.get("at"):
        body = {**body, "text": f"{body['text']}\n\n@{asked}"}
    return {"msgtype": "markdown", "markdown": body, "at": {
        "atUserIds": [asked] if asked else [], "isAtAll": False}}


def _can_robot(chat: str) -> bool:
    return is_group(chat) or is_staff(chat)


def _check_taken(found: dict[str, Any], chat: str) -> None:
    """Raises where DingTalk says 200 and did not send it."""
    for key, error in (
            ("invalidStaffIdList", RequestRefusedError(
                f"DingTalk knows nobody with the user id {chat[:80]!r}, or "
                "he may not use the app", status=404,
                hint="open-dev.dingtalk.com, Version management, says for "
                     "whom the app is")),
            ("flowControlledStaffIdList", RateLimitedError(
                "DingTalk asked to slow down with this person", status=429,
                retry_after_s=60.0))):
        listed = found.get(key)
        if isinstance(listed, list) and chat in listed:
            raise error
