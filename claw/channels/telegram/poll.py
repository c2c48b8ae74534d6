"""Long polling: getUpdates, commit, then move the offset.

The first call of a process has no offset, so Telegram gives everything that
was never confirmed. After every message of a batch is committed, the next
call confirms the batch with `offset` = last update_id + 1. Once that call
has come back nothing is left unconfirmed, and the calls after it have no
offset again: after a week of silence Telegram's ids start anywhere, and a
remembered offset above them would throw the news away.
"""

import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from claw.channels.connection import Connection, put_all
from claw.channels.telegram.api import BotApi, UnknownPathError
from claw.channels.telegram.intake import Intake
from claw.channels.telegram.repeats import Repeats
from claw.channels.telegram.updates import (
    ALLOWED,
    group_albums,
    read_number,
    read_update,
    sort_batch,
)
from claw.channels.telegram.wire import Bot, Incoming
from claw.core.channel import ChannelMessage, Inbox
from claw.core.errors import RequestRefusedError, UnavailableError
from claw.core.log import Log
from claw.core.value import replace

IDENTIFY_S = 10.0
REPEATED_S = 1.0
_REMEMBERED = 2000


class Poller:
    """The receiving half of one bot; `link` tells how that goes."""

    def __init__(self, api: BotApi, intake: Intake, *, log: Log,
                 now: Callable[[], float] = time.time) -> None:
        self._api = api
        self._intake = intake
        self._log = log
        self._now = now
        self.link = Connection(log, api.sleep)
        self._confirm: int | None = None
        self._done: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._repeats = Repeats()
        self._told_of_repeats = False
        self.caught_up = asyncio.Event()  # what waited is committed

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError and what `put`
        raises; a server that can't be reached is asked again."""
        self.link.begin(inbox)
        bot = await self._identify()
        self._intake.door.open_pairing()
        while True:
            await self.once(inbox, bot)

    async def _identify(self) -> Bot:
        """Who we are. Without mention_only the name is not needed, and
        nobody waits for it; a server that can't tell at all (there are
        emulators without getMe) leaves us the id of the token."""
        while True:
            try:
                bot = await self._api.me(timeout_s=IDENTIFY_S)
            except (RequestRefusedError, UnknownPathError) as error:
                self._log("unnamed", error=error.message)
                return self._api.unnamed
            except UnavailableError as error:
                if not self._intake.needs_name:
                    self._log("unnamed", error=error.message)
                    return self._api.unnamed
                await self.link.wait_out(error)
            else:
                self.link.forget_failures()
                return bot

    async def once(self, inbox: Inbox, bot: Bot) -> None:
        """One call and what it brought."""
        asked = self._confirm
        try:
            batch = await self._api.poll({
                "offset": asked, "timeout": int(
                    self._api.poll_s) if self.caught_up.is_set() else 0,
                "allowed_updates": ALLOWED})
        except UnavailableError as error:
            await self.link.wait_out(error)
            return
        self.link.recover()
        numbers = [n for n in map(read_number, batch) if n is not None]
        whole = self._repeats.is_whole_list(batch, numbers, asked)
        if whole and not self._told_of_repeats:
            self._told_of_repeats = True
            self._log("server_repeats", hint="it ignores the offset: "
                      "messages are told apart by what they say")
        news = (self._repeats.fresh(batch) if whole else
                [u for u in batch if _content(u) not in self._done])
        if news:
            await self._take(news, inbox, bot, asked if whole else None)
        self.caught_up.set()
        # Confirm what came; with nothing new there is nothing to confirm.
        self._confirm = max(numbers) + 1 if numbers else None
        if batch and not any(read_number(u) is not None for u in news):
            await self.link.rest(REPEATED_S)

    # -- what came

    async def _take(self, batch: list[Any], inbox: Inbox, bot: Bot,
                    renumbered: int | None = None) -> None:
        """Commit what is new. Of a list that is numbered anew, numbers
        below `renumbered` are places and belong to nobody."""
        incoming = sort_batch(
            [i for i in map(self._read, batch) if i is not None])
        ready: list[ChannelMessage] = []
        for group in group_albums(incoming):
            if group[0].callback is not None:
                await put_all(inbox, ready)
                await self._pressed(group[0], inbox)
                continue
            message = await self._intake.message(
                group, bot, self.link.heard)
            if message is not None:
                ready.append(self._own(message, group[0].update_id, batch,
                                       renumbered))
        await put_all(inbox, ready)
        self._done.extend(map(_content, batch))
        self._repeats.note(batch)

    def _own(self, message: ChannelMessage, number: int, batch: list[Any],
             renumbered: int | None) -> ChannelMessage:
        """The message under an id of its own, where the server's ids are
        places in a list."""
        if renumbered is None or number >= renumbered:
            return message
        update = next(u for u in batch if read_number(u) == number)
        return replace(message,
                       id=message.id + self._repeats.suffix(update))

    def _read(self, update: Any) -> Incoming | None:
        try:
            return read_update(update)
        except ValueError as error:  # also msgspec's and unicode's
            self._log("update_unreadable", update_id=read_number(update),
                      error=str(error)[:300])
            return None

    async def _pressed(self, incoming: Incoming, inbox: Inbox) -> None:
        """A button: commit, then end the spinner on it."""
        callback = incoming.callback
        assert callback is not None
        allowed = self._intake.allows(callback.user)
        message = self._intake.action(incoming, self._now())
        if message is not None:
            await inbox.put(message)
        await self._api.cosmetic("answerCallbackQuery", {
            "callback_query_id": callback.id,
            "text": None if allowed else "You are not allowed to do this."})


def _content(update: Any) -> bytes:
    """What an update says, whatever its number: a server that numbers its
    list anew with each call repeats nothing and hides nothing."""
    if isinstance(update, dict):
        update = {k: v for k, v in update.items() if k != "update_id"}
    text = json.dumps(update, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
