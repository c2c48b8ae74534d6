"""From a message to what is put in the inbox: who may, which files.

A person is his user id where WhatsApp tells one, else his number; a number
in the allow-list belongs to the first person who comes with it. Who may not
write is answered here (pairing, one hint) and goes no further. Nothing is
fetched of them, nor of strangers, who have no tools to read it.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.answers import is_answer
from claw.channels.media import (
    FileRef,
    FileSaver,
    describe_file,
    name_strangers,
)
from claw.channels.outfiles import name_received
from claw.channels.talks import Talks
from claw.channels.whatsapp.api import FILE_BYTES, Api
from claw.channels.whatsapp.content import (
    find_file,
    is_forwarded,
    list_labels,
    put_together,
    read_words,
)
from claw.channels.whatsapp.parts import parse_recipient, text_part
from claw.channels.whatsapp.settings import (
    TABLE,
    WhatsappSettings,
    spell_person,
)
from claw.channels.whatsapp.wire import NAME, Message, Who, read_message
from claw.core.abilities import TakesReplies, WebhookRefused
from claw.core.channel import (
    Attachment,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import RequestRefusedError, UnavailableError
from claw.text.segment import clean

# Meta waits for an answer, and the gateway gives a call 30 s.
FILES_S = 20.0
_ACTION_CHARS = 256
YOUNG_S = 600.0  # so long a message is asked for again for its file's sake


class Intake:
    """Makes ChannelMessages of allowed people's messages. `inbox` is set
    while it listens; `now` is Unix seconds."""

    def __init__(self, settings: WhatsappSettings, deps: ChannelDeps,
                 api: Api, talks: Talks, *, clock: Callable[[], float],
                 now: Callable[[], float] = time.time) -> None:
        self.door = Door(map(spell_person, settings.allowed_users), deps,
                         table=TABLE, clock=clock,
                         tells=settings.show_hint_to_strangers)
        self.inbox: Inbox | None = None
        self._told = Hints(clock)  # who has sent a code for nothing
        self._deps = deps
        self._api = api
        self._talks = talks
        self._now = now

    async def read(self, message: Message, raw: dict[str, Any], who: Who
                   ) -> ChannelMessage | None:
        """A message; None for what is not for us. Raises WebhookRefused
        (503) where its file can't be had yet."""
        person = identify(who)
        words = read_words(message, raw) if message.type == "text" else ""
        if not self.door.allows(person):
            if answer := await self.door.answer(str(person.id), person,
                                                words):
                await self._reply(message, str(person.id), answer)
            return None
        if read_code(words) is not None:
            if self._told.is_due(person.id):
                await self._reply(message, str(person.id),
                                  "You are already allowed.")
            return None
        pressed = _read_press(message)
        if pressed:
            return self._build(message, who, pressed, kind="action")
        edited = message.type == "edit"
        if edited:
            message, raw = read_edit(message)
        return await self._compose(message, raw, who, edited=edited)

    async def _compose(self, message: Message, raw: dict[str, Any],
                       who: Who, *, edited: bool) -> ChannelMessage | None:
        person = identify(who)
        words, ref = read_words(message, raw), find_file(message)
        labels = list_labels(message, ref)
        quoted = "" if words.startswith("/") or is_answer(words) \
            else self._quote(message, labels)
        lines: list[str] = []
        files: list[Attachment] = []
        if ref is not None:
            lines, files = (
                name_strangers([ref])
                if self.door.allowed.is_stranger(person)
                else await self._fetch(message, ref, str(person.id)))
        said = put_together(message, lines, words, quoted, edited=edited)
        if not said.strip():
            return None
        self._talks.note_theirs((who.user_id, who.number), message.id,
                                words or " ".join(lines))
        return self._build(message, who, said, files=tuple(files),
                           labels=tuple(labels))

    def _build(self, message: Message, who: Who, content: str, *,
               kind: str = "message", files: tuple[Attachment, ...] = (),
               labels: tuple[str, ...] = ()) -> ChannelMessage:
        person = identify(who)
        return ChannelMessage(
            id=f"{NAME}_{message.id}", sender=str(person.id),
            reply_target=str(person.id), content=clean(content),
            channel=NAME, timestamp=message.at or int(self._now()),
            attachments=files, kind=kind, sender_name=who.name,
            labels=(*labels, *self.door.labels(person)))

    def _quote(self, message: Message, labels: list[str]) -> str:
        """The words that a message answers, as far as they are known."""
        context = message.context
        if context is None or not context.id or is_forwarded(message):
            return ""
        labels.append("quoted")
        return self._talks.quote(context.id)

    # -- files

    async def _fetch(self, message: Message, ref: FileRef, chat: str
                     ) -> tuple[list[str], list[Attachment]]:
        """The line and the file of a message. While it is young, Meta is
        asked to send it again where the file can't be had."""
        name = name_received(NAME, chat, message.id, ref.name)
        failed: list[str] = []

        async def download(media_id: str) -> bytes:
            try:
                return await self._api.download(media_id)
            except RequestRefusedError:
                raise
            except UnavailableError as error:
                failed.append(error.message)
                raise
        saver = FileSaver(self._deps, download, most_bytes=FILE_BYTES,
                          sleep=self._api.sleep)
        file, why = saver.find(ref, name), ""
        if file is None:
            try:
                async with asyncio.timeout(FILES_S):
                    file, why = await saver.save(ref, name)
            except TimeoutError:
                why = f"it did not arrive within {FILES_S:g} s"
                failed.append(why)
        if file is None and failed \
                and self._now() - message.at < YOUNG_S:
            raise WebhookRefused(
                503, "a file could not be fetched yet; send it again",
                {"Retry-After": "5"})
        return [describe_file(ref, file.path if file else None, why)], \
            [file] if file else []

    # -- strangers

    async def _reply(self, message: Message, chat: str, text: str) -> None:
        part = text_part(text)
        if isinstance(self.inbox, TakesReplies):
            await self.inbox.reply(f"{chat}:{message.id}",
                                   SendMessage(text, chat), part)
            return
        await self._api.cosmetic({
            "recipient_type": "individual", **parse_recipient(chat),
            "type": "text", "text": {"body": text, "preview_url": False}})


def identify(who: Who) -> Person:
    """Whom the allow-list judges: the user id, else the number."""
    return Person(who.user_id or who.number,
                  who.number if who.user_id else "")


def read_edit(message: Message) -> tuple[Message, dict[str, Any]]:
    """The new text of an edited message, under the id and the time of the
    edit."""
    inner = (message.edit.message if message.edit else None) or {}
    raw = {**inner, "id": message.id, "from": message.sender,
           "timestamp": message.timestamp}
    return read_message(raw) or message, raw


def _read_press(message: Message) -> str:
    """The action of a pressed button of ours; "" for anything else."""
    inner = message.interactive
    pressed = inner and (inner.button_reply or inner.list_reply)
    return clean(pressed.id[:_ACTION_CHARS]) if pressed else ""
