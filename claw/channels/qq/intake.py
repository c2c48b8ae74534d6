"""From what came to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint) and goes no further.
Nothing is fetched of them, nor of strangers, who have no tools to read it.
"""

from collections.abc import Callable

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.media import FileRef, FileSaver, name_strangers
from claw.channels.outfiles import name_received
from claw.channels.qq.api import FILE_BYTES, Api
from claw.channels.qq.outgoing import Sender
from claw.channels.qq.parts import own_id
from claw.channels.qq.settings import QqSettings
from claw.channels.qq.wire import (
    DMS,
    UNADDRESSED,
    USER,
    Interaction,
    Message,
    Place,
    mentions_us,
    quoted,
    read_file,
    read_text,
    read_time,
)
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    Attachment,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)

_TABLE = "channels_config.qq"


class Intake:
    """Makes ChannelMessages of allowed people's messages. `now` is Unix
    seconds; `heard` is called after each file."""

    def __init__(self, settings: QqSettings, deps: ChannelDeps, api: Api,
                 sender: Sender, *, clock: Callable[[], float],
                 now: Callable[[], float]) -> None:
        self.door = Door(settings.allowed_users, deps, clock=clock,
                         table=_TABLE)
        self._settings = settings
        self._sender = sender
        self._log = deps.log
        self._told = Hints(clock)
        self._now = now
        self._saver = FileSaver(deps, api.download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)

    async def message(self, event: str, message: Message, place: Place,
                      sender: str, bot_id: str, inbox: Inbox,
                      heard: Callable[[], None]) -> ChannelMessage | None:
        """None for what is not for us."""
        private = place.kind in (USER, DMS)
        if message.author.bot or (bot_id and sender == bot_id) or (
                event in UNADDRESSED and self._settings.mention_only
                and not mentions_us(message, bot_id)):
            return None
        text = read_text(message, bot_id)
        person = Person(sender)
        if not self.door.allows(person):
            if private:
                await self._answer_stranger(message, place, person, text,
                                            inbox)
            elif self._told.is_due(sender):
                self._log("stranger", id=sender, chat=place.recipient,
                          hint=f"to let them in add {sender} to "
                               f"{_TABLE}.allowed_users")
            return None
        if private and read_code(text) is not None:
            if self._told.is_due(place.recipient):
                await self._reply(message, place, "You are already allowed.",
                                  inbox)
            return None
        if not text and not message.attachments and quoted(message) is None:
            return None  # a mention and nothing else
        return await self._compose(message, place, person, text, heard)

    async def _compose(self, message: Message, place: Place, person: Person,
                       text: str, heard: Callable[[], None]
                       ) -> ChannelMessage:
        refs = [read_file(file) for file in message.attachments]
        lines, attachments = (
            name_strangers(refs) if self.door.allowed.is_stranger(person)
            else await self._save(message, place, refs, heard))
        spoken = [_hear(file.asr_refer_text) for file in message.attachments]
        content = "\n\n".join(part for part in (
            "\n".join(lines), *filter(None, spoken), text) if part)
        labels = self.door.labels(person)
        if any(ref.kind == "audio" for ref in refs):
            labels = ("attachment", *labels)
        answered = _quote(message)
        if answered:
            labels = ("quoted", *labels)
        return ChannelMessage(
            id=own_id(message.id), sender=str(person.id),
            reply_target=place.recipient, content=answered + content,
            channel="qq", timestamp=read_time(message.timestamp)
            or int(self._now()), attachments=tuple(attachments),
            labels=labels, sender_name=message.author.username)

    async def _save(self, message: Message, place: Place,
                    refs: list[FileRef], heard: Callable[[], None]
                    ) -> tuple[list[str], list[Attachment]]:
        return await self._saver.save_all((
            (ref, name_received("qq", place.recipient,
                                f"{message.id}_{number}", ref.name))
            for number, ref in enumerate(refs)), heard)

    def press(self, press: Interaction, place: Place, sender: str
              ) -> ChannelMessage | None:
        """What somebody pressed; None for who may not, or for nothing."""
        person = Person(sender)
        if not press.data.resolved.button_data \
                or not self.door.allows(person):
            return None
        return ChannelMessage(
            id=own_id(press.id, action=True), sender=sender,
            reply_target=place.recipient,
            content=press.data.resolved.button_data, channel="qq",
            timestamp=read_time(press.timestamp) or int(self._now()),
            kind="action", labels=self.door.labels(person))

    async def _answer_stranger(self, message: Message, place: Place,
                               person: Person, text: str,
                               inbox: Inbox) -> None:
        answer = await self.door.answer(place.recipient, person, text)
        if answer is not None:
            await self._reply(message, place, answer, inbox)

    async def _reply(self, message: Message, place: Place, text: str,
                     inbox: Inbox) -> None:
        if isinstance(inbox, TakesReplies):
            reply = SendMessage(text, place.recipient, files=False,
                                answers=own_id(message.id))
            for number, part in enumerate(self._sender.parts(reply)):
                await inbox.reply(f"{place.recipient}:{message.id}:{number}",
                                  reply, part)


def _hear(words: str) -> str:
    """What QQ heard in a recording, beside the recording."""
    words = words.strip()
    return f"<VOICE_TRANSCRIPTION>{words}</VOICE_TRANSCRIPTION>" \
        if words else ""


def _quote(message: Message) -> str:
    """The message that is answered, quoted, with a blank line after it."""
    found = quoted(message)
    if found is None:
        return ""
    words = found.content.strip() or "\n".join(
        f"[File: {read_file(file).name}]" for file in found.attachments)
    lines = "\n".join(f"> {line}" for line in words.splitlines())
    return f"{lines}\n\n" if lines else ""
