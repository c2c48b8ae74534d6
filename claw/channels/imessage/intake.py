"""From a row to what is put in the inbox: who may, which files, what was
answered.

Who may not write is answered only where he sends a code (or the settings
want hints), in private chats, and goes no further. Files of strangers are
left where they are.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.answers import is_answer
from claw.channels.imessage.database import Database
from claw.channels.imessage.mac import Mac
from claw.channels.imessage.rows import (
    NAME,
    FileRow,
    Row,
    find_ref,
    is_heic,
    read_content,
    to_unix,
)
from claw.channels.imessage.settings import ImessageSettings, fold_handle
from claw.channels.media import FileRef, FileSaver, name_strangers
from claw.channels.outfiles import name_received
from claw.core.channel import Attachment, ChannelDeps, ChannelMessage
from claw.core.errors import ClawError, UnavailableError
from claw.core.labels import ATTACHMENT
from claw.security.files import beneath

FILE_BYTES = 100 * 2**20
_ARRIVES_S = 20.0  # a file that Messages still fetches
_LOOK_S = 0.5
_QUOTE_CHARS = 1000
_HEIC = "(a HEIC picture: sips -s format jpeg FILE --out NEW.jpg converts it)"

Reply: TypeAlias = Callable[[Row, str], Awaitable[None]]
Sleep: TypeAlias = Callable[[float], Awaitable[Any]]


class Intake:
    """Makes ChannelMessages of allowed people's rows. `reply` is how the
    channel says something of its own, `name` its name (a file of the
    owner's may hold a subclass)."""

    def __init__(self, settings: ImessageSettings, deps: ChannelDeps,
                 mac: Mac, database: Database, reply: Reply, *,
                 name: str = NAME, clock: Callable[[], float],
                 sleep: Sleep) -> None:
        self.door = Door(map(fold_handle, map(str, settings.allowed_users)),
                         deps, table=f"channels_config.{NAME}", clock=clock,
                         tells=settings.show_hint_to_strangers)
        self._name = name
        self._settings = settings
        self._log = deps.log
        self._database = database
        self._folder = mac.folder
        self._reply = reply
        self._told = Hints(clock)  # what the operator has been told
        self._sleep = sleep
        self._saver = FileSaver(deps, self._fetch, most_bytes=FILE_BYTES,
                                sleep=sleep)

    async def read(self, row: Row, files: Sequence[FileRow],
                   heard: Callable[[], None]) -> ChannelMessage | None:
        """A row as a message; None for what is not for us. Raises
        StorageError, and what the database raises."""
        if row.is_from_me or not row.is_said or not row.sender:
            return None
        if row.is_to_oneself:
            self._tell("own_chat", row, "a chat of this account with itself "
                       "is not answered: write from another account")
            return None
        if row.service in ("SMS", "RCS") and not self._settings.sms:
            self._tell("sms_left_out", row, "an SMS proves no sender; to take "
                       "them all the same: claw config set "
                       f"channels_config.{NAME}.sms true")
            return None
        person, text = Person(row.sender), read_content(row)
        if not self.door.allows(person):
            if not row.is_group and (answer := await self.door.answer(
                    row.reply_target, person, text)):
                await self._reply(row, answer)
            return None
        if not row.is_group and read_code(text) is not None:
            return None
        quoted = await self._read_quoted(row)
        if row.is_group and self._settings.mention_only and not (
                is_answer(text) or (quoted and quoted.is_from_me)):
            named = strip_name(text, self._settings.mention_name)
            if named is None:
                return None
            text = named
        return await self._compose(row, person, text, quoted, files, heard)

    async def _compose(self, row: Row, person: Person, text: str,
                       quoted: Row | None, files: Sequence[FileRow],
                       heard: Callable[[], None]) -> ChannelMessage | None:
        refs = [(ref, file) for file in files if (ref := find_ref(
            file, voice=bool(row.is_audio)))]
        lines, attachments = await self._save(row, person, [
            ref for ref, _ in refs], heard)
        lines = [f"{line} {_HEIC}" if is_heic(file) else line
                 for line, (_, file) in zip(lines, refs, strict=True)]
        said = "\n\n".join(filter(None, ("\n".join(lines), text)))
        if not said:
            return None
        # Answers to questions count as they are typed: nothing in front.
        quote = "" if is_answer(text) else _quote(quoted)
        foreign = quote and quoted and not quoted.is_from_me \
            and quoted.sender != row.sender
        return ChannelMessage(
            id=row.message_id, sender=row.sender,
            reply_target=row.reply_target,
            content=("[Edited] " if row.edited else "") + quote + said,
            channel=self._name, timestamp=to_unix(row.edited or row.date),
            attachments=tuple(attachments), sender_name=row.sender,
            labels=(*(("quoted",) if foreign else ()),
                    *((ATTACHMENT,) if any(
                        ref.kind != "voice" for ref, _ in refs) else ()),
                    *self.door.labels(person)))

    async def _save(self, row: Row, person: Person, refs: list[FileRef],
                    heard: Callable[[], None]
                    ) -> tuple[list[str], list[Attachment]]:
        if self.door.allowed.is_stranger(person):
            return name_strangers(refs)
        return await self._saver.save_all([(ref, name_received(
            NAME, row.reply_target, f"{row.guid}_{number}", ref.name))
            for number, ref in enumerate(refs)], heard)

    async def _fetch(self, name: str) -> bytes:
        """A file of Messages'; one that is still coming is waited for."""
        place = self._folder / Path(re.sub(
            r"^(~|/(var/root|Users/[^/]+))/Library/Messages/", "", name))
        waited = 0.0
        while not place.is_file() and waited < _ARRIVES_S:
            await self._sleep(_LOOK_S)
            waited += _LOOK_S
        try:
            return await asyncio.to_thread(
                beneath.read, self._folder, str(place.relative_to(
                    self._folder)), lambda real: real.is_relative_to(
                        self._folder.resolve()), FILE_BYTES)
        except (ClawError, OSError, ValueError) as error:
            raise UnavailableError(
                f"Messages has not fetched it, or it can't be read: {error}"
            ) from error

    async def _read_quoted(self, row: Row) -> Row | None:
        return await asyncio.to_thread(
            self._database.read_guid, row.originator) \
            if row.originator else None

    def _tell(self, event: str, row: Row, hint: str) -> None:
        if self._told.is_due((event, row.sender)):
            self._log(event, id=row.sender, hint=hint)


def strip_name(text: str, name: str) -> str | None:
    """A text without the name that calls us, where it begins or ends so;
    None where the name is not in it."""
    bare = re.escape(name.strip().removeprefix("@"))
    if not bare or not re.search(rf"(?<!\w)@?{bare}(?!\w)", text, re.I):
        return None
    return re.sub(rf"^@?{bare}(?!\w)[\s,:.!-]*|[\s,]*(?<!\w)@?{bare}$", "",
                  text, flags=re.I).strip() or text


def _quote(row: Row | None) -> str:
    text = read_content(row)[:_QUOTE_CHARS] if row else ""
    if not row or not text:
        return ""
    who = "you" if row.is_from_me else row.sender
    lines = "\n".join(f"> {line}" for line in text.splitlines())
    return f"> [Reply to {who}]\n{lines}\n\n"
