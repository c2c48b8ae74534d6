"""From what came to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint, in a private chat
alone) and goes no further. Nothing is fetched of them, nor of strangers,
who have no tools to read it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.answers import is_answer
from claw.channels.lark.api import FILE_BYTES, Bot, LarkApi, ask_quietly
from claw.channels.lark.cards import draw_key, text_body
from claw.channels.lark.content import (
    OUR_NAMES,
    Content,
    mentioned,
    parse_json,
    read_card,
    read_content,
)
from claw.channels.lark.events import (
    Incoming,
    Press,
    build_action,
    compose,
    read_row,
)
from claw.channels.lark.settings import LarkSettings
from claw.channels.media import FileRef, FileSaver, name_strangers
from claw.channels.names import Names
from claw.channels.outfiles import name_received
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    Attachment,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.labels import ATTACHMENT
from claw.core.value import replace

MOST_FILES = 8
MOST_FORWARDED = 50
_QUOTE_CHARS, _FORWARD_CHARS = 4_000, 16_000
_LOOK_S = 2.0  # an event is to be acknowledged within three


class Intake:
    """Makes ChannelMessages of allowed people's messages. `heard` is called
    after each file."""

    def __init__(self, settings: LarkSettings, deps: ChannelDeps,
                 api: LarkApi, *, clock: Callable[[], float],
                 now: Callable[[], float]) -> None:
        self.name = api.brand.name
        self.door = Door(settings.allowed_users, deps, clock=clock,
                         table=api.brand.table,
                         tells=settings.show_hint_to_strangers)
        self.people = Names(
            self._ask_name, clock=clock, log=deps.log, hint="people's names "
            "need the scope contact:user.base:readonly, and a person within "
            "the app's contact range")
        self._settings = settings
        self._told = Hints(clock)  # who has sent a code for nothing
        self._api = api
        self._now = now
        self._saver = FileSaver(deps, self._download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)

    async def message(self, incoming: Incoming, bot: Bot,
                      heard: Callable[[], None], inbox: Inbox
                      ) -> ChannelMessage | None:
        """None for what is not for us. Who may not write is answered by
        `inbox`, where it sends."""
        if incoming.kind == "system" or (
                incoming.is_group and self._settings.mention_only
                and not mentioned(incoming.mentions, bot.open_id)):
            return None
        content = read_content(incoming.kind, incoming.body,
                               incoming.mentions, bot.open_id)
        text = content.text.strip()
        if not text and not content.files:
            return None  # a mention and nothing else
        person = Person(incoming.sender)
        if not self.door.allows(person):
            if not incoming.is_group:
                await self._answer_stranger(incoming, person, text, inbox)
            return None
        if not incoming.is_group and read_code(text) is not None:
            if self._told.is_due(incoming.chat):
                await self._reply(incoming, "You are already allowed.",
                                  inbox)
            return None
        stranger = self.door.allowed.is_stranger(person)
        lines, files = name_strangers(content.files) if stranger \
            else await self._save_files(incoming, content.files, heard)
        # Nothing may stand before a command or the answer to a question.
        quoted = "" if stranger or text.startswith("/") or is_answer(text) \
            else await self._quote(incoming, bot)
        if incoming.kind == "merge_forward" and not stranger:
            text = await self._read_forwarded(incoming, bot) or text
        said = "\n\n".join(part for part in ("\n".join(lines), text) if part)
        return compose(
            self.name, incoming, quoted + said, files,
            (*_labels(content, quoted), *self.door.labels(person)),
            await self.people.name(incoming.sender))

    async def action(self, press: Press, thread: str | None
                     ) -> ChannelMessage | None:
        """A pressed button; None of somebody who may not."""
        person = Person(press.sender)
        if not self.door.allows(person):
            return None
        built = build_action(self.name, press, self._now(), thread)
        return replace(built, labels=self.door.labels(person),
                       sender_name=await self.people.name(press.sender))

    async def _ask_name(self, open_id: str) -> Any:
        found = await ask_quietly(self._api.call(
            "GET", f"contact/v3/users/{open_id}",
            query={"user_id_type": "open_id"}, timeout_s=_LOOK_S,
            patience_s=0.0))
        user = (found or {}).get("user")
        return user.get("name") if isinstance(user, dict) else None

    # -- what others said

    async def _quote(self, incoming: Incoming, bot: Bot) -> str:
        """What it answers; in a thread that stands above anyway."""
        if not incoming.parent or incoming.thread:
            return ""
        rows = await self._look(incoming.parent)
        if not rows:
            return ""
        text = _show_row(rows[0], bot)[:_QUOTE_CHARS]
        return "".join(f"> {line}\n" for line in text.splitlines()) + "\n" \
            if text else ""

    async def _read_forwarded(self, incoming: Incoming, bot: Bot) -> str:
        """The messages of a forwarded conversation, a line each."""
        rows = (await self._look(incoming.message_id))[1:]
        shown = [text for row in rows[:MOST_FORWARDED]
                 if (text := _show_row(row, bot))]
        if not shown:
            return ""
        more = len(rows) - MOST_FORWARDED
        return "[Forwarded messages]\n" + "\n".join(
            shown)[:_FORWARD_CHARS] + (
            f"\n[{more} more messages]" if more > 0 else "")

    async def _look(self, message_id: str) -> list[dict[str, Any]]:
        """A message, and those in it; [] where it can't be had."""
        found = await ask_quietly(self._api.call(
            "GET", f"im/v1/messages/{message_id}", timeout_s=_LOOK_S,
            patience_s=0.0))
        items = (found or {}).get("items")
        return [row for row in items if isinstance(row, dict)] \
            if isinstance(items, list) else []

    # -- files

    async def _save_files(self, incoming: Incoming,
                          refs: tuple[FileRef, ...],
                          heard: Callable[[], None]
                          ) -> tuple[list[str], list[Attachment]]:
        lines, found = await self._saver.save_all((
            (replace(ref, file_id=f"{incoming.message_id}/{ref.file_id}"),
             name_received(self.name, incoming.chat, incoming.message_id,
                           ref.name if number == 0
                           else f"{number + 1}_{ref.name}"))
            for number, ref in enumerate(refs[:MOST_FILES])), heard)
        if (more := len(refs) - MOST_FILES) > 0:
            lines.append(f"[{more} more files were not fetched]")
        return lines, found

    async def _download(self, place: str) -> bytes:
        message_id, kind, key = place.split("/", 2)
        return await self._api.download(message_id, key, kind)

    # -- strangers

    async def _answer_stranger(self, incoming: Incoming, person: Person,
                               text: str, inbox: Inbox) -> None:
        answer = await self.door.answer(incoming.chat, person, text)
        if answer is not None:
            await self._reply(incoming, answer, inbox)

    async def _reply(self, incoming: Incoming, text: str,
                     inbox: Inbox) -> None:
        part = Part("text", text, {"text": text, "plain": True,
                                   "key": draw_key(self._now())})
        if isinstance(inbox, TakesReplies):
            await inbox.reply(incoming.message_id,
                              SendMessage(text, incoming.chat), part)
            return
        await self._api.cosmetic(
            "POST", "im/v1/messages", {
                "receive_id": incoming.chat, **text_body(part.data)},
            query={"receive_id_type": "chat_id"})


def _labels(content: Content, quoted: str) -> tuple[str, ...]:
    """The origins of foreign text in it."""
    origins = (("forwarded", content.is_share), ("quoted", bool(quoted)),
               (ATTACHMENT, any(ref.name not in OUR_NAMES
                                for ref in content.files)))
    return tuple(label for label, here in origins if here)


def _show_row(row: Mapping[str, Any], bot: Bot) -> str:
    """A listed message as text."""
    try:
        incoming = read_row(row, is_group=True)
    except ValueError:
        return ""
    if incoming is None:  # an app's: ours, perhaps
        body = row.get("body")
        return read_card(parse_json(body.get("content"))) \
            if isinstance(body, dict) and row.get("deleted") is not True \
            else ""
    content = read_content(incoming.kind, incoming.body, incoming.mentions,
                           bot.open_id)
    return content.text.strip() or " ".join(
        f"[{ref.kind.capitalize()}: {ref.name}]" for ref in content.files)
