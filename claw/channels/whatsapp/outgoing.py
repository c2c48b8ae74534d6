"""Sending: one call for each part.

A file is uploaded before, and sent by its id. Free text may go within 24
hours of a person's last message; later a template carries it, where one is
set. An answer to a message that is no longer the last one quotes it.
"""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from claw.channels.outfiles import OutsideError
from claw.channels.talks import Talks
from claw.channels.whatsapp.api import Api
from claw.channels.whatsapp.errors import WINDOW, WINDOW_ERROR, GraphError
from claw.channels.whatsapp.parts import (
    MOST_BYTES,
    PartMaker,
    build_buttons,
    build_file,
    build_template,
    build_text,
    choose_type,
    mark,
    parse_recipient,
)
from claw.channels.whatsapp.sent import Deliveries
from claw.channels.whatsapp.settings import WhatsappSettings, spell_person
from claw.channels.whatsapp.wire import parse_id
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import ClawError, RequestRefusedError
from claw.core.files import safe_name
from claw.net.http import tell_leaving
from claw.text.segment import clean

_NO_CONTEXT = (100, 131009)  # what is quoted is not there


class Sender:
    """The sending half of one number."""

    def __init__(self, api: Api, settings: WhatsappSettings,
                 deps: ChannelDeps, deliveries: Deliveries,
                 talks: Talks) -> None:
        self._api = api
        self._template = settings.template.strip()
        self._language = settings.template_language.strip()
        self._deliveries = deliveries
        self._talks = talks
        self._maker = PartMaker(deps)

    def parts(self, message: SendMessage) -> list[Part]:
        return self._maker.parts(message)

    def mark(self, part: Part, note: str) -> Part:
        return mark(part, note)

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] | None = None) -> str:
        """Deliver one part; its message's id."""
        to = parse_recipient(message.recipient)
        chat = spell_person(message.recipient)
        key = str(part.data.get("key") or "")
        window = self._deliveries.judge_window(chat)
        if window == "closed" or (window == "unknown" and self._template):
            content = self._build_template(part)
        else:
            content = await self._build(part)
        body = {"messaging_product": "whatsapp",
                "recipient_type": "individual", **to,
                "biz_opaque_callback_data": key, **content}
        quoted = parse_id(message.answers or "")
        if part.data.get("first") and content["type"] != "template" \
                and quoted and self._talks.is_old(chat, quoted):
            body["context"] = {"message_id": quoted}
        with tell_leaving(leaving) if leaving else nullcontext():
            sent = await self._post(body, part)
        self._deliveries.settle(key, sent)
        self._talks.note_ours(sent, part.text)
        return sent

    async def _post(self, body: dict[str, Any], part: Part) -> str:
        try:
            return await self._api.send(body)
        except GraphError as error:
            if error.code in _NO_CONTEXT and "context" in body:
                del body["context"]
            elif error.code == WINDOW and self._template \
                    and body["type"] != "template":
                body = {key: value for key, value in body.items()
                        if key not in ("context", body["type"])}
                body |= self._build_template(part)
            else:
                raise
        return await self._api.send(body)

    def _build_template(self, part: Part) -> dict[str, Any]:
        """Raises GraphError where nothing may go."""
        if not self._template:
            raise GraphError(WINDOW_ERROR, WINDOW)
        if "text" not in part.data:
            raise GraphError("the person has not written for 24 hours, and "
                             "a template carries no file", WINDOW)
        return build_template(self._template, self._language,
                              clean(str(part.data["text"])))

    async def _build(self, part: Part) -> dict[str, Any]:
        """What a part is as a message; its file is uploaded."""
        data = part.data
        if part.kind == "buttons":
            return build_buttons(clean(str(data["text"])), data["buttons"])
        if "path" not in data:
            return build_text(clean(str(data.get("text", part.text))))
        caption = clean(str(data.get("caption") or ""))
        name = safe_name(str(data.get("name") or ""), "file")
        try:
            content = await asyncio.to_thread(
                self._maker.files.read, str(data["path"]),
                MOST_BYTES["document"])
            sent_as, mime = choose_type(part.kind, name, len(content),
                                        captioned=bool(caption))
            media_id = await self._api.upload(name, mime, content)
        except (OutsideError, OSError, RequestRefusedError) as error:
            return self._say_why(part, error)
        except ClawError as error:
            if error.kind in ("not_found", "refused", "denied", "storage"):
                return self._say_why(part, error)
            raise
        return build_file(sent_as, media_id, name=name, caption=caption,
                          voice=part.kind == "voice")

    def _say_why(self, part: Part, why: Exception) -> dict[str, Any]:
        """In the place of a file, why it is not there."""
        return build_text(f"({clean(part.text)} can not be sent: {why})"
                          [:1000])
