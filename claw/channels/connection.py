"""The frame of a receiving loop: what to tell the inbox, how long to wait.

    link.begin(inbox)
    while True:
        try:
            news = await poll()
        except UnavailableError as error:
            await link.wait_out(error)
            continue
        link.recover()
        await put_all(inbox, read(news))
"""

from collections.abc import Awaitable, Callable
from typing import Any

from claw.core.abilities import (
    HearsFailures,
    HearsReceives,
    HearsRests,
    TakesMany,
)
from claw.core.channel import ChannelMessage, Inbox
from claw.core.errors import ClawError, RateLimitedError, UnavailableError
from claw.core.log import Log

# After a restart the rival is often our own last poll, whose end the
# server has not seen; a true one keeps what it has. 35 s outlast any poll.
CONFLICT_S = (2.0, 5.0, 35.0)
# Never longer than five seconds: the first message after a cut is not to
# wait for a minute. The silence shows in the health.
_TRY_AGAIN_S = (1.0, 2.0, 5.0)
_GRACE_S = 1.0


class ConflictError(UnavailableError):
    """Somebody else receives for this account."""


class Connection:
    """The link of one listener to its platform. `conflict` is what the
    platform said last about somebody else who receives."""

    def __init__(self, log: Log, sleep: Callable[
            [float], Awaitable[Any]] | None = None) -> None:
        from asyncio import sleep as wait
        self._log = log
        self._sleep = sleep or wait
        self._inbox: Inbox | None = None
        self._failures = 0
        self._conflicts = 0
        self.conflict: str | None = None

    def begin(self, inbox: Inbox) -> None:
        """From now on this inbox is told."""
        self._inbox = inbox

    def heard(self) -> None:
        """Receiving works, be it that there is nothing new."""
        if isinstance(self._inbox, HearsReceives):
            self._inbox.received()

    async def rest(self, seconds: float) -> None:
        """Wait on purpose."""
        if isinstance(self._inbox, HearsRests):
            self._inbox.resting(seconds + _GRACE_S)
        await self._sleep(seconds)

    async def wait_out(self, error: UnavailableError) -> None:
        """Sleep before the next try."""
        if isinstance(self._inbox, HearsFailures) \
                and not isinstance(error, RateLimitedError):
            self._inbox.failed(error.message)
        if isinstance(error, ConflictError):
            if self.conflict != error.message:
                self._log("conflict", error=error.message, hint=error.hint)
            self.conflict = error.message
            wait = CONFLICT_S[min(self._conflicts, len(CONFLICT_S) - 1)]
            self._conflicts += 1
            await self.rest(wait)
        elif isinstance(error, RateLimitedError):
            await self.rest(min(error.retry_after_s or 5.0, 300.0))
        else:
            if self._failures == 0:
                self._log("poll_failed", error=error.message,
                          hint=error.hint)
            wait = _TRY_AGAIN_S[min(self._failures, len(_TRY_AGAIN_S) - 1)]
            self._failures += 1
            await self._sleep(wait)

    def recover(self) -> None:
        """A receive has worked."""
        if self._failures or self.conflict:
            self._log("poll_works_again")
        self.forget_failures()
        self._conflicts = 0
        self.conflict = None
        self.heard()

    def forget_failures(self) -> None:
        """Another call has worked: the next wait is a short one."""
        self._failures = 0


async def works(call: Awaitable[object]) -> bool:
    """Whether a call comes back without an error."""
    try:
        await call
    except ClawError:
        return False
    return True


async def put_all(inbox: Inbox, ready: list[ChannelMessage]) -> None:
    """Commit what is ready, in one go where the inbox can."""
    if isinstance(inbox, TakesMany) and len(ready) > 1:
        await inbox.put_all(ready)
    else:
        for message in ready:
            await inbox.put(message)
    ready.clear()
