"""Long polling: getUpdates, commit, then move the offset.

The first call of a process has no offset, so Telegram gives everything that
was never confirmed. After every message of a batch is committed, the next
call confirms the batch with `offset` = last update_id + 1. Once that call
has come back nothing is left unconfirmed, and the calls after it have no
offset again: after a week of silence Telegram's ids start anywhere, and a
remembered offset above them would throw the news away.

An album waits for its last member (albums.py). What waits is not confirmed:
the offset stays below it, so a kill loses nothing, and the server gives it
again, together with what is new, each time it is asked.
"""

import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from claw.channels.connection import Connection, put_all
from claw.channels.telegram.albums import Albums
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
ALBUM_LOOK_S = 0.2  # so long others wait where an album does
_REMEMBERED = 2000
_MOST = 100  # updates that one call gives, by the Bot API


class Poller:
    """The receiving half of one bot; `link` tells how that goes."""

    def __init__(self, api: BotApi, intake: Intake, *, log: Log,
                 clock: Callable[[], float],
                 now: Callable[[], float] = time.time) -> None:
        self._api = api
        self._intake = intake
        self._albums = Albums(clock)
        self._held: list[Any] = []  # updates of albums, and behind them
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
                "offset": asked, "allowed_updates": ALLOWED,
                "timeout": 0 if self._held or not self.caught_up.is_set()
                else int(self._api.poll_s)})
        except UnavailableError as error:
            await self.link.wait_out(error)
            await self._take(self._held, inbox, bot)
            return
        self.link.recover()
        numbers = [n for n in map(read_number, batch) if n is not None]
        whole = self._repeats.is_whole_list(batch, numbers, asked)
        if whole and not self._told_of_repeats:
            self._told_of_repeats = True
            self._log("server_repeats", hint="it ignores the offset: "
                      "messages are told apart by what they say")
        news = (self._repeats.fresh(batch) if whole
                else [*self._held, *self._find_news(batch)])
        await self._take(news, inbox, bot, asked if whole else None)
        if len(batch) < _MOST:
            self.caught_up.set()
        # Confirm what came, but for what waits; with nothing new there is
        # nothing to confirm.
        held = [n for n in map(read_number, self._held) if n is not None]
        self._confirm = (min(held) if held else
                         max(numbers) + 1 if numbers else None)
        if held:
            await self.link.rest(ALBUM_LOOK_S)
        elif batch and not any(read_number(u) is not None for u in news):
            await self.link.rest(REPEATED_S)

    # -- what came

    def _find_news(self, batch: list[Any]) -> list[Any]:
        """What was neither taken before nor is held."""
        held = {_content(update) for update in self._held}
        return [update for update in batch
                if (said := _content(update)) not in held
                and said not in self._done]

    async def _take(self, batch: list[Any], inbox: Inbox, bot: Bot,
                    renumbered: int | None = None) -> None:
        """Commit what is new and whole; the rest is held. Of a list that
        is numbered anew, numbers below `renumbered` are places and belong
        to nobody."""
        incoming = sort_batch(
            [i for i in map(self._read, batch) if i is not None])
        groups, waiting = self._albums.part(group_albums(incoming))
        ready: list[ChannelMessage] = []
        for group in groups:
            if group[0].callback is not None:
                await put_all(inbox, ready)
                await self._pressed(group[0], inbox)
                continue
            message = await self._intake.message(
                group, bot, self.link.heard, inbox)
            if message is not None:
                ready.append(self._own(message, group[0].update_id, batch,
                                       renumbered))
        await put_all(inbox, ready)
        later = {one.update_id for group in waiting for one in group}
        self._held = [u for u in batch if read_number(u) in later]
        done = [u for u in batch if read_number(u) not in later]
        self._done.extend(map(_content, done))
        self._repeats.note(done)

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
