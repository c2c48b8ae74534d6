"""From an event to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint, in a private chat
alone) and goes no further. Nothing is fetched of them, nor of strangers, who
have no tools to read it.
"""

import asyncio
from collections.abc import Callable

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.answers import is_answer
from claw.channels.line.api import FILE_BYTES, Api
from claw.channels.line.content import find_file, mentions_us, read_words
from claw.channels.line.outgoing import Sender
from claw.channels.line.settings import TABLE, LineSettings
from claw.channels.line.wire import NAME, Event, Message, Source
from claw.channels.media import (
    FileRef,
    FileSaver,
    describe_file,
    name_strangers,
)
from claw.channels.names import Names
from claw.channels.outfiles import name_received
from claw.channels.talks import Talks
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    Attachment,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import ConfigError
from claw.core.labels import ATTACHMENT, UNKNOWN
from claw.text.segment import clean

_ACTION_CHARS = 300


class Intake:
    """Makes ChannelMessages of allowed people's events. `inbox` is set
    while it listens; `now` is Unix seconds."""

    def __init__(self, settings: LineSettings, deps: ChannelDeps, api: Api,
                 talks: Talks, sender: Sender, *,
                 clock: Callable[[], float],
                 now: Callable[[], float]) -> None:
        self.door = Door(settings.allowed_users, deps, table=TABLE,
                         clock=clock, tells=settings.show_hint_to_strangers)
        self.inbox: Inbox | None = None
        self._mention_only = settings.mention_only
        self._told = Hints(clock)  # what has been said for nothing
        self._log = deps.log
        self._talks = talks
        self._sender = sender
        self._now = now
        self._names = Names(
            api.name, clock=clock, log=deps.log,
            hint="LINE tells names of those who have added the account, or "
                 "are in a group with it")
        self._saver = FileSaver(deps, api.download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)

    async def read(self, event: Event, source: Source, deadline: float
                   ) -> ChannelMessage | None:
        """A message or a pressed button; None for what is not for us. Its
        file has time until `deadline`, seconds of the loop's clock."""
        if not source.user_id:
            if self._told.is_due(source.chat):
                self._log("sender_unknown", chat=source.chat, hint="LINE did "
                          "not say who wrote: their LINE is too old, or they "
                          "have not agreed")
            return None
        words = read_words(event.message) if event.message else ""
        if not self.allows(source):
            await self.answer_stranger(event, source, words)
            return None
        if event.postback is not None:
            return await self._build(
                event, source, clean(event.postback.data[:_ACTION_CHARS]),
                kind="action")
        if event.message is None:
            return None
        if source.is_private and read_code(words) is not None:
            if self._told.is_due(source.user_id):
                await self._reply(event, source, "You are already allowed.")
            return None
        if not source.is_private and self._mention_only \
                and not self._is_for_us(event.message, words):
            return None
        return await self._compose(event, source, event.message, words,
                                   deadline)

    def allows(self, source: Source) -> bool:
        return self.door.allows(Person(source.user_id or ""))

    def _is_for_us(self, message: Message, words: str) -> bool:
        quoted = self._talks.find(message.quoted_message_id or "")
        return mentions_us(message) or is_answer(words) \
            or bool(quoted and quoted.ours)

    async def _compose(self, event: Event, source: Source, message: Message,
                       words: str, deadline: float
                       ) -> ChannelMessage | None:
        ref = find_file(message)
        lines, files = ([], []) if ref is None \
            else await self._save(source, message, ref, deadline)
        said = "\n\n".join(filter(None, ("\n".join(lines), words)))
        if not said:
            return None  # a mention and nothing else
        labels = []
        if message.type == "location":
            labels.append(UNKNOWN)
        if ref is not None and ref.kind == "document":
            labels.append(ATTACHMENT)
        # Nothing may stand before a command or the answer to a question.
        if message.quoted_message_id and not words.startswith("/") \
                and not is_answer(words):
            labels.append("quoted")
            said = self._talks.quote(message.quoted_message_id) + said
        self._talks.note_theirs((source.chat,), message.id,
                                words or "\n".join(lines))
        if message.quote_token:
            self._sender.note_quote(event.own_id, message.id,
                                    message.quote_token)
        return await self._build(event, source, said, files=tuple(files),
                                 labels=tuple(labels))

    async def _build(self, event: Event, source: Source, content: str, *,
                     kind: str = "message",
                     files: tuple[Attachment, ...] = (),
                     labels: tuple[str, ...] = ()) -> ChannelMessage:
        user = source.user_id or ""
        name = await self._names.name(f"{source.chat} {user}")
        return ChannelMessage(
            id=event.own_id, sender=user, reply_target=source.chat,
            content=content, channel=NAME,
            timestamp=event.timestamp // 1000 or int(self._now()),
            attachments=files, kind=kind, sender_name=name,
            labels=(*labels, *self.door.labels(Person(user))))

    async def _save(self, source: Source, message: Message, ref: FileRef,
                    deadline: float) -> tuple[list[str], list[Attachment]]:
        if self.door.allowed.is_stranger(Person(source.user_id or "")):
            return name_strangers([ref])
        if message.content_provider is not None \
                and message.content_provider.type != "line":
            return [f"[{ref.name}: it is at another site, and is not "
                    "fetched]"], []
        name = name_received(NAME, source.chat, message.id, ref.name)
        kept = self._saver.find(ref, name)
        if kept is not None:
            return [describe_file(ref, kept.path)], [kept]
        try:
            async with asyncio.timeout_at(deadline):
                return await self._saver.save_all([(ref, name)],
                                                  lambda: None)
        except (TimeoutError, ConfigError) as error:
            why = str(error) or "it did not arrive in time"
            return [describe_file(ref, None, why)], []

    # -- strangers

    async def answer_stranger(self, event: Event, source: Source,
                              words: str) -> None:
        """Who may not write is told how he could, in private."""
        user = source.user_id or ""
        if not source.is_private:
            if self._told.is_due(user):
                self._log("stranger", id=user, chat=source.chat,
                          hint=f"to let them in add {user} to "
                               f"{TABLE}.allowed_users")
            return
        if answer := await self.door.answer(user, Person(user), words):
            await self._reply(event, source, answer)

    async def _reply(self, event: Event, source: Source, text: str) -> None:
        if isinstance(self.inbox, TakesReplies):
            message = SendMessage(text, source.chat, files=False)
            for number, part in enumerate(self._sender.parts(message)):
                await self.inbox.reply(f"{event.own_id}:{number}", message,
                                       part)
