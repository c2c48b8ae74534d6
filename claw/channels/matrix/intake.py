"""From an event to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint) and goes no further.
Nothing is fetched of them, nor of strangers, who have no tools to read it.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.matrix import parts
from claw.channels.matrix.api import FILE_BYTES, MatrixApi
from claw.channels.matrix.encryption import Encryption
from claw.channels.matrix.events import (
    ENCRYPTED,
    MESSAGE,
    STICKER,
    Event,
    find_edited,
    find_file,
    find_replied,
    find_thread,
    is_foreign,
    is_mentioned,
    is_silent,
    read_event,
    read_words,
    strip_address,
    strip_mention,
    table,
    text,
)
from claw.channels.matrix.machine import is_installed, missing, unlock_file
from claw.channels.matrix.outgoing import Sender
from claw.channels.matrix.rooms import Rooms
from claw.channels.matrix.settings import MatrixSettings
from claw.channels.media import (
    FileRef,
    FileSaver,
    describe_file,
    mark_voice,
)
from claw.channels.outfiles import name_received
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    Attachment,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import (
    MissingPartError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.labels import ATTACHMENT
from claw.core.value import Value

_MOST = 1000  # threads and events that are remembered


class Origin(Value):
    """Where an event stands: its room, and whether that is a chat with
    one person."""

    room_id: str
    is_private: bool


def person(user: str) -> Person:
    """Ids are compared in lower case."""
    return Person(user.lower())


class Intake:
    """Makes ChannelMessages of allowed people's events."""

    def __init__(self, settings: MatrixSettings, deps: ChannelDeps,
                 api: MatrixApi, rooms: Rooms, encryption: Encryption,
                 sender: Sender, *, clock: Callable[[], float]) -> None:
        self.door = Door(
            map(settings.spell, map(str, settings.allowed_users)), deps,
            clock=clock,
            table="channels_config.matrix",
            tells=settings.show_hint_to_strangers)
        self._needs_name = settings.mention_only
        self._told = Hints(clock)  # who has sent a code for nothing
        self._api = api
        self._rooms = rooms
        self._encryption = encryption
        self._sender = sender
        self._log = deps.log
        self._saver = FileSaver(deps, self._download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)
        self._threads: OrderedDict[str, tuple[str, str | None]] = \
            OrderedDict()

    async def message(self, event: Event, origin: Origin, inbox: Inbox,
                      heard: Callable[[], None]) -> ChannelMessage | None:
        """One event; None for what is not for us."""
        me = await self._api.me()
        edited = find_edited(event.content)
        content = (table(event.content, "m.new_content") if edited
                   else event.content)
        if event.type not in (MESSAGE, STICKER) \
                or event.sender == me.user_id or not event.event_id \
                or (event.type == MESSAGE and is_silent(content)):
            return None
        author = person(event.sender)
        if not self.door.allows(author):
            await self._answer_stranger(event, origin, content, inbox)
            return None
        writer, thread = await self._stand(event, edited, origin)
        if writer != event.sender:
            return None  # nobody changes another one's words: not shown
        name = await self._rooms.name(origin.room_id, event.sender)
        words = read_words(event.type, content, name)
        if origin.is_private and read_code(words) is not None:
            if self._told.is_due(event.sender):
                await self.reply(event, origin, "You are already allowed.",
                                 inbox)
            return None
        replied = await self._find_replied(event, origin)
        mine = await self._rooms.name(origin.room_id, me.user_id)
        if self._needs_name and not origin.is_private:
            for_us = is_mentioned(event.content, me.user_id, mine) or (
                replied is not None and replied.sender == me.user_id)
            if not for_us:
                return None
            words = strip_mention(words, me.user_id, mine)
        words = strip_address(words, me.user_id, mine)
        stranger = self.door.allowed.is_stranger(author)
        quote, quoted, labels = await self._quote(
            event, replied, origin, stranger=stranger)
        ref = find_file(event, content)
        if ref is not None and is_foreign(ref):
            labels.append(ATTACHMENT)
        lines, files = await self._files(event, ref, origin,
                                         stranger=stranger)
        heard()
        said = "\n\n".join(filter(None, ("\n".join(lines), words)))
        if not said.strip():
            return None
        return ChannelMessage(
            id=own_id(event.event_id, edited), sender=event.sender,
            reply_target=origin.room_id,
            content=f"{'[Edited] ' if edited else ''}{quote}{said}",
            channel="matrix", timestamp=event.timestamp, thread_ts=thread,
            interruption_scope_id=thread, attachments=(*quoted, *files),
            labels=(*labels, *self.door.labels(author)), sender_name=name,
            private=origin.is_private)

    # -- what it stands on

    async def _stand(self, event: Event, edited: str | None,
                     origin: Origin) -> tuple[str, str | None]:
        """Who has written the message, and the thread's root; an edit
        stands in that of what it changes, and does not say so."""
        if edited is None:
            found = event.sender, find_thread(event.content)
        elif edited in self._threads:
            found = self._threads[edited]
        else:
            first = await self._look(edited, origin)
            found = (first.sender, find_thread(first.content)) if first \
                else (event.sender, None)
        self._threads[edited or event.event_id] = found
        while len(self._threads) > _MOST:
            self._threads.popitem(last=False)
        return found

    async def _find_replied(self, event: Event, origin: Origin
                            ) -> Event | None:
        number = find_replied(event.content)
        return await self._look(number, origin) if number else None

    async def _look(self, event_id: str, origin: Origin) -> Event | None:
        """An event of the room; None where it can't be had."""
        try:
            event = read_event(await self._api.call(
                "GET", "rooms", origin.room_id, "event", event_id,
                room=origin.room_id))
            if event.type == ENCRYPTED:
                return await self._encryption.decrypt(origin.room_id, event)
            return event
        except (UnavailableError, MissingPartError, ValueError) as error:
            self._log("event_unknown", room=origin.room_id, id=event_id,
                      error=str(error)[:300])
            return None

    async def _quote(self, event: Event, replied: Event | None,
                     origin: Origin, *, stranger: bool
                     ) -> tuple[str, list[Attachment], list[str]]:
        """The answered message as `> ` lines, a recording in it, and the
        label of foreign words."""
        if find_replied(event.content) is None:
            return "", [], []
        if replied is None:
            return "> [Message]\n\n", [], ["quoted"]
        who = await self._rooms.name(origin.room_id, replied.sender)
        words, found = read_words(replied.type, replied.content, who), []
        ref = find_file(replied, replied.content)
        if ref is not None and ref.kind == "voice" and not stranger:
            saved = _name_file(origin, replied, ref)
            voice = self._saver.find(ref, saved) \
                or (await self._saver.save(ref, saved))[0]
            if voice is not None:
                found.append(voice)
                words = mark_voice(voice.path)
        words = words or (f"[{ref.kind.capitalize()}]" if ref
                          else "[Message]")
        lines = "\n".join(f"> {line}" for line in words.splitlines())
        own = (replied.sender == event.sender and ref is None
               and find_replied(replied.content) is None
               and replied.type == MESSAGE)
        return f"> {who}:\n{lines}\n\n", found, [] if own else ["quoted"]

    async def _files(self, event: Event, ref: FileRef | None,
                     origin: Origin, *, stranger: bool
                     ) -> tuple[list[str], list[Attachment]]:
        if ref is None:
            return [], []
        if stranger:
            return [describe_file(ref, None, "files of strangers are not "
                                             "kept")], []
        attachment, why = await self._saver.save(
            ref, _name_file(origin, event, ref))
        line = describe_file(ref, attachment.path if attachment else None,
                             why)
        return [line], [attachment] if attachment else []

    async def _download(self, file_id: str) -> bytes:
        """The bytes of a FileRef, decrypted where they have to be."""
        if not file_id.startswith("{"):
            return await self._api.download(file_id)
        if not is_installed():
            raise RequestRefusedError(missing().message)
        keys = json.loads(file_id)
        return await asyncio.to_thread(
            unlock_file, await self._api.download(text(keys, "url")), keys)

    # -- strangers

    async def _answer_stranger(self, event: Event, origin: Origin,
                               content: dict[str, Any], inbox: Inbox
                               ) -> None:
        if not origin.is_private or event.type == ENCRYPTED:
            return
        answer = await self.door.answer(event.sender, person(event.sender),
                                        text(content, "body"))
        if answer is not None:
            await self.reply(event, origin, answer, inbox)

    async def reply(self, event: Event, origin: Origin, words: str,
                    inbox: Inbox) -> None:
        """Say something of our own, once for an event."""
        (part,) = parts.text_parts(words)
        message = SendMessage(words, origin.room_id)
        if isinstance(inbox, TakesReplies):
            await inbox.reply(event.event_id, message, part)
            return
        try:
            await self._sender.part(message, part)
        except UnavailableError as error:
            self._log("reply_failed", room=origin.room_id,
                      error=error.message)


def _name_file(origin: Origin, event: Event, ref: FileRef) -> str:
    number = event.event_id.removeprefix("$").replace("/", "_")
    return name_received("matrix", origin.room_id, number, ref.name)


def own_id(event_id: str, edited: str | None = None) -> str:
    """Ours, for recognising redeliveries: an edit carries both ids, since
    people react to the message that it changes."""
    return f"matrix_{edited}|{event_id}" if edited else f"matrix_{event_id}"


def parse_id(own: str) -> str | None:
    """The event that people see under an id of ours."""
    if not own.startswith("matrix_$"):
        return None
    return own.removeprefix("matrix_").partition("|$")[0]
