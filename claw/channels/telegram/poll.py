"""Long polling: getUpdates, commit, then move the offset.

The first call of a process has no offset, so Telegram gives everything that
was never confirmed. After every message of a batch is committed, the next
call confirms the batch with `offset` = last update_id + 1. Once that call
has come back nothing is left unconfirmed, and the calls after it have no
offset again: after a week of silence Telegram's ids start anywhere, and a
remembered offset above them would throw the news away.
"""

import hashlib
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from claw.channels.telegram.api import (
    BotApi,
    ConflictError,
    UnknownPathError,
)
from claw.channels.telegram.intake import Intake
from claw.channels.telegram.repeats import Repeats
from claw.channels.telegram.updates import (
    ALLOWED,
    grouped,
    in_order,
    read_update,
)
from claw.channels.telegram.wire import Bot, Incoming
from claw.core.channel import (
    ChannelMessage,
    HearsReceives,
    HearsRests,
    Inbox,
    TakesMany,
)
from claw.core.errors import (
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.core.value import replace

# After a restart the rival is often our own last poll, whose end the
# server has not seen; a true one keeps what it has. 35 s outlast any poll.
CONFLICT_S = (2.0, 5.0, 35.0)
IDENTIFY_S = 10.0
REPEATED_S = 1.0
_TRY_AGAIN_S = (1.0, 2.0, 5.0)
_REMEMBERED = 2000


class Poller:
    """The receiving half of one bot."""

    def __init__(self, api: BotApi, intake: Intake, *,
                 log: Log,
                 sleep: Callable[[float], Awaitable[Any]],
                 now: Callable[[], float] = time.time) -> None:
        self._api = api
        self._intake = intake
        self._log = log
        self._sleep = sleep
        self._now = now
        self._confirm: int | None = None
        self._done: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._repeats = Repeats()
        self._told_of_repeats = False
        self._inbox: Inbox | None = None
        self._failures = 0
        self._conflicts = 0
        self.conflict: str | None = None

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError and what `put`
        raises; a server that can't be reached is asked again."""
        self._inbox = inbox
        bot = await self._identify()
        self._intake.open_pairing()
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
                await self._wait_out(error)
            else:
                self._failures = 0
                return bot

    async def once(self, inbox: Inbox, bot: Bot) -> None:
        """One call and what it brought."""
        asked = self._confirm
        try:
            batch = await self._api.poll({
                "offset": asked, "timeout": int(self._api.poll_s),
                "allowed_updates": ALLOWED})
        except UnavailableError as error:
            await self._wait_out(error)
            return
        self._recovered()
        _hear(inbox)
        numbers = [n for n in map(_number, batch) if n is not None]
        whole = self._repeats.is_whole_list(batch, numbers, asked)
        if whole and not self._told_of_repeats:
            self._told_of_repeats = True
            self._log("server_repeats", hint="it ignores the offset: "
                      "messages are told apart by what they say")
        news = (self._repeats.fresh(batch) if whole else
                [u for u in batch if _content(u) not in self._done])
        if news:
            await self._take(news, inbox, bot, asked if whole else None)
        # Confirm what came; with nothing new there is nothing to confirm.
        self._confirm = max(numbers) + 1 if numbers else None
        if batch and not any(_number(u) is not None for u in news):
            _rest(inbox, REPEATED_S)
            await self._sleep(REPEATED_S)

    # -- what came

    async def _take(self, batch: list[Any], inbox: Inbox, bot: Bot,
                    renumbered: int | None = None) -> None:
        """Commit what is new. Of a list that is numbered anew, numbers
        below `renumbered` are places and belong to nobody."""
        incoming = in_order(
            [i for i in map(self._read, batch) if i is not None])
        ready: list[ChannelMessage] = []
        for group in grouped(incoming):
            if group[0].callback is not None:
                await _put(inbox, ready)
                await self._pressed(group[0], inbox)
                continue
            message = await self._intake.message(
                group, bot, lambda: _hear(inbox))
            if message is not None:
                ready.append(self._own(message, group[0].update_id, batch,
                                       renumbered))
        await _put(inbox, ready)
        self._done.extend(map(_content, batch))
        self._repeats.took(batch)

    def _own(self, message: ChannelMessage, number: int, batch: list[Any],
             renumbered: int | None) -> ChannelMessage:
        """The message under an id of its own, where the server's ids are
        places in a list."""
        if renumbered is None or number >= renumbered:
            return message
        update = next(u for u in batch if _number(u) == number)
        return replace(message,
                       id=message.id + self._repeats.suffix(update))

    def _read(self, update: Any) -> Incoming | None:
        try:
            return read_update(update)
        except ValueError as error:  # also msgspec's and unicode's
            self._log("update_unreadable", update_id=_number(update),
                      error=str(error)[:300])
            return None

    async def _pressed(self, incoming: Incoming, inbox: Inbox) -> None:
        """A button: commit, then end the spinner on it."""
        callback = incoming.callback
        assert callback is not None
        allowed = self._intake.allowed.allows(callback.user)
        message = self._intake.action(incoming, self._now())
        if message is not None:
            await inbox.put(message)
        await self._api.cosmetic("answerCallbackQuery", {
            "callback_query_id": callback.id,
            "text": None if allowed else "You are not allowed to do this."})

    # -- what went wrong

    async def _wait_out(self, error: UnavailableError) -> None:
        """Sleep before the next try, or raise."""
        if isinstance(error, ConflictError):
            if self.conflict != error.message:
                self._log("conflict", error=error.message, hint=error.hint)
            self.conflict = error.message
            wait = CONFLICT_S[min(self._conflicts, len(CONFLICT_S) - 1)]
            self._conflicts += 1
            await self._rest(wait)
            return
        if isinstance(error, RateLimitedError):
            await self._rest(min(error.retry_after_s or 5.0, 300.0))
            return
        if self._failures == 0:
            self._log("poll_failed", error=error.message, hint=error.hint)
        # Never longer than five seconds: the first message after a cut is
        # not to wait for a minute. The silence shows in the health.
        wait = _TRY_AGAIN_S[min(self._failures, len(_TRY_AGAIN_S) - 1)]
        self._failures += 1
        await self._sleep(wait)

    async def _rest(self, seconds: float) -> None:
        _rest(self._inbox, seconds)
        await self._sleep(seconds)

    def _recovered(self) -> None:
        if self._failures or self.conflict:
            self._log("poll_works_again")
        self._failures = 0
        self._conflicts = 0
        self.conflict = None


def _hear(inbox: Inbox) -> None:
    if isinstance(inbox, HearsReceives):
        inbox.received()


def _rest(inbox: Inbox | None, seconds: float) -> None:
    if isinstance(inbox, HearsRests):
        inbox.resting(seconds + REPEATED_S)


async def _put(inbox: Inbox, ready: list[ChannelMessage]) -> None:
    """Commit what is ready, in one go where the inbox can."""
    if isinstance(inbox, TakesMany) and len(ready) > 1:
        await inbox.put_all(ready)
    else:
        for message in ready:
            await inbox.put(message)
    ready.clear()


def _content(update: Any) -> bytes:
    """What an update says, whatever its number: a server that numbers its
    list anew with each call repeats nothing and hides nothing."""
    if isinstance(update, dict):
        update = {k: v for k, v in update.items() if k != "update_id"}
    text = json.dumps(update, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _number(update: Any) -> int | None:
    number = update.get("update_id") if isinstance(update, dict) else None
    fits = isinstance(number, int) and not isinstance(number, bool)
    return number if fits else None
