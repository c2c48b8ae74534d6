"""From what came to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint, in a private chat
alone) and goes no further. Nothing is fetched of them, nor of strangers,
who have no tools to read it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.connection import Connection
from claw.channels.dingtalk.api import FILE_BYTES, MESSAGES, DingtalkApi
from claw.channels.dingtalk.messages import (
    MOST_FILES,
    NAME,
    Incoming,
    compose,
    read_message,
)
from claw.channels.dingtalk.outgoing import Sender, text_part
from claw.channels.dingtalk.sessions import Sessions
from claw.channels.dingtalk.settings import DingtalkSettings
from claw.channels.dingtalk.stream import PING_S, Stream
from claw.channels.media import FileSaver, name_strangers
from claw.channels.outfiles import name_received
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import ClawError

_REMEMBERED = 2_000


class Receiver:
    """The receiving half of one robot; `link` tells how that goes."""

    def __init__(self, settings: DingtalkSettings, deps: ChannelDeps,
                 api: DingtalkApi, sessions: Sessions, sender: Sender, *,
                 clock: Callable[[], float], now: Callable[[], float],
                 ping_s: float = PING_S) -> None:
        self.door = Door(settings.allowed_users, deps, clock=clock,
                         table=f"channels_config.{NAME}",
                         tells=settings.show_hint_to_strangers)
        self._settings = settings
        self._api = api
        self._sessions = sessions
        self._sender = sender
        self._now = now
        self._deps = deps
        self._log = deps.log
        self._ping_s = ping_s
        self._told = Hints(clock)  # who has sent a code for nothing
        self._saver = FileSaver(deps, api.download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = \
            WeakValueDictionary()
        self._done: OrderedDict[str, None] = OrderedDict()
        self.link = Connection(deps.log, api.sleep)
        self._inbox: Inbox | None = None

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError and what `put`
        raises; a server that can't be reached is asked again."""
        self._inbox = inbox
        self._turns = WeakValueDictionary()
        self.link.begin(inbox)
        self.door.open_pairing()
        await Stream(self._api, self.link, self._take, log=self._log,
                     ping_s=self._ping_s).run()

    async def _take(self, topic: str, data: Any) -> None:
        """Commit what a callback holds; what can't be read is told of and
        holds up nothing."""
        if topic != MESSAGES:
            return
        try:
            incoming = read_message(data)
        except ValueError as error:
            self._log("event_unreadable", error=str(error)[:300])
            return
        # In a chat one after the other, as they came.
        turn = self._turns.setdefault(incoming.chat, asyncio.Lock())
        async with turn:
            assert self._inbox is not None
            if incoming.own_id in self._done:
                return  # it came again while it was being fetched
            self._sessions.note(incoming.chat, incoming.session)
            message = await self._judge(incoming, self._inbox)
            if message is not None:
                await self._inbox.put(message)
                self._sessions.keep(incoming.chat)
            self._done[incoming.own_id] = None
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)

    async def _judge(self, incoming: Incoming,
                     inbox: Inbox) -> ChannelMessage | None:
        """None for what is not for us; who may not write is answered."""
        if incoming.group and self._settings.mention_only \
                and not incoming.mentioned:
            return None
        if not incoming.text and not incoming.files and not incoming.foreign:
            return None  # a mention and nothing else
        person = Person(incoming.sender)
        self._follow(incoming)
        if not self.door.allows(person):
            if not incoming.group and (answer := await self.door.answer(
                    incoming.chat, person, incoming.text)):
                await self._reply(incoming, answer, inbox)
            return None
        if not incoming.group and read_code(incoming.text) is not None:
            if self._told.is_due(incoming.chat):
                await self._reply(incoming, "You are already allowed.",
                                  inbox)
            return None
        lines, attachments = name_strangers(incoming.files) \
            if self.door.allowed.is_stranger(person) \
            else await self._saver.save_all((
                (ref, name_received(NAME, incoming.chat, _short(
                    incoming.message_id), f"{number}_{ref.name}"))
                for number, ref in enumerate(incoming.files[:MOST_FILES], 1)),
                self.link.heard)
        if (more := len(incoming.files) - MOST_FILES) > 0:
            lines.append(f"[{more} more files were not fetched]")
        return compose(incoming, lines, attachments,
                       self.door.labels(person), self._now())

    def _follow(self, incoming: Incoming) -> None:
        """Before an app is published DingTalk tells no user ids: who was
        let in under its own id is still the same person."""
        old, new = Person(incoming.platform_id), Person(incoming.sender)
        allowed = self.door.allowed
        if incoming.staff and incoming.platform_id \
                and allowed.is_stranger(new) and not allowed.is_stranger(old):
            allowed.add(new)
            self._deps.carry_over(incoming.platform_id, incoming.sender)
            self._log("id_changed", old=incoming.platform_id,
                      new=incoming.sender)

    async def _reply(self, incoming: Incoming, text: str,
                     inbox: Inbox) -> None:
        message, part = SendMessage(text, incoming.chat), text_part(text)
        if isinstance(inbox, TakesReplies):
            self._sessions.keep(incoming.chat)
            await inbox.reply(incoming.own_id, message, part)
            return
        with suppress(ClawError):  # a hint; the log has it too
            await self._sender.part(message, part)


def _short(message_id: str) -> str:
    """A message's id as a part of a file's name."""
    return "".join(filter(str.isalnum, message_id))[-24:]
