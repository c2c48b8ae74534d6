"""One channel kept running: started again after an error, rebuilt when it
is wedged.

Waits 2, 4, 8 ... 60 s between starts (a clean end starts over at 2), at
most 5 s where the queue could not be written. While it runs a mark is set
every 30 s; what says that it is well is the age of its last completed
receive.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec

from claw.core.abilities import ClosesChannel, PollsOnce, ReceivesWebhook
from claw.core.channel import Channel, Inbox
from claw.core.errors import ClawError, LeaseLostError, StorageError, describe
from claw.core.log import Log
from claw.providers.settings import ReliabilitySettings
from claw.runtime.process.health import Health

HEARTBEAT_S = 30.0
WEDGED_POLLS = 3
# A full disk: no server has to be spared, and people wait.
LONGEST_STORE_WAIT_S = 5.0
SHORTEST_POLL_S = 1.0
CLOSE_S = 5.0  # for what is told to end

Sleep = Callable[[float], Awaitable[object]]


class WedgedError(ClawError):
    """A poll neither came back nor failed."""


class Backoff(msgspec.Struct, frozen=True):
    """Bounds of the waits, in seconds."""

    initial_s: float = 2.0
    longest_s: float = 60.0

    @classmethod
    def of(cls, settings: ReliabilitySettings) -> "Backoff":
        initial = max(settings.channel_initial_backoff_secs, 2.0)
        return cls(initial, max(
            initial, settings.channel_max_backoff_secs, 60.0))

    def waits(self) -> Iterator[float]:
        wait = self.initial_s
        while True:
            yield wait
            wait = min(wait * 2, self.longest_s)


class Supervisor:
    """Runs `listen` of one channel for ever.

    `get_channel` gives the channel of each start, so that one with new
    settings takes the old one's place. `ends` is for channels whose input
    can end (stdin).
    """

    def __init__(self, name: str, get_channel: Callable[[], Channel],
                 inbox: Inbox, *, health: Health, log: Log,
                 backoff: Backoff | None = None,
                 heartbeat_s: float = HEARTBEAT_S,
                 ends: bool = False, sleep: Sleep = asyncio.sleep) -> None:
        self.name = name
        self.part = f"channel:{name}"
        self._get_channel = get_channel
        self._inbox = inbox
        self._health = health
        self._log = log
        self._backoff = backoff or Backoff()
        self._heartbeat_s = heartbeat_s
        self._ends = ends
        self._sleep = sleep
        self._renewed = asyncio.Event()

    def renew(self) -> None:
        """Start again with the channel that `get_channel` gives now. Who
        says so closes the one before it."""
        self._renewed.set()

    async def run(self) -> None:
        """Ends when its input has ended, or by cancellation. Raises
        LeaseLostError."""
        waits = self._backoff.waits()
        while True:
            self._renewed.clear()
            began = self._health.clock()
            longest = math.inf
            try:
                clean = await self._listen()
            except LeaseLostError:
                raise
            except Exception as error:  # one channel's fault ends no other
                self._note_error(error)
                clean = False
                if isinstance(error, StorageError):
                    longest = LONGEST_STORE_WAIT_S
            if self._renewed.is_set():
                continue
            if clean and self._ends:
                self._log("channel.ended", channel=self.name)
                return
            if clean:
                self._note_error(ClawError("listener exited unexpectedly"))
            # What fails after hours is no crash loop.
            if clean or (self._health.clock() - began
                         > self._backoff.longest_s):
                waits = self._backoff.waits()
            self._health.count_restart(self.part)
            wait = min(next(waits), longest)
            self._log("channel.restart", channel=self.name, wait_s=wait)
            if await self._pause(wait):
                waits = self._backoff.waits()

    async def _pause(self, seconds: float) -> bool:
        """Wait; True as soon as there are new settings to try."""
        sleeping = asyncio.ensure_future(_awaited(self._sleep(seconds)))
        renewed = asyncio.ensure_future(self._renewed.wait())
        try:
            await asyncio.wait((sleeping, renewed),
                               return_when=asyncio.FIRST_COMPLETED)
            return renewed.done()
        finally:
            await _stop(sleeping, renewed)

    def _note_error(self, error: Exception) -> None:
        text, hint = describe(error), getattr(error, "hint", None)
        self._health.error(self.part, text, hint)
        self._log("channel.error", channel=self.name, error=text, hint=hint)

    async def _listen(self) -> bool:
        """One run; True after a clean end. The channel's connections are
        closed then; not where the run was told to end: answers may still
        go out by them."""
        channel = self._get_channel()
        self._health.ok(self.part)
        self._health.begin_receiving(self.part)
        if not isinstance(channel, ReceivesWebhook):  # the gateway says it
            self._log("channel.listening", channel=self.name)
        listening = asyncio.ensure_future(channel.listen(self._inbox))
        renewed = asyncio.ensure_future(self._renewed.wait())
        told = False
        try:
            while not listening.done():
                await asyncio.wait(
                    (listening, renewed), timeout=self._wait_s(channel),
                    return_when=asyncio.FIRST_COMPLETED)
                if renewed.done():
                    told = True
                    return False
                if not listening.done():
                    self._check(channel)
            listening.result()
            return True
        except asyncio.CancelledError:
            told = True
            raise
        finally:
            await _stop(listening, renewed)
            if not told:
                await close(channel, self._log)

    def _wait_s(self, channel: Channel) -> float:
        beat = self._heartbeat_s if self._heartbeat_s > 0 else 1.0
        if isinstance(channel, PollsOnce):
            return min(beat, max(0.05, _longest_silence_s(channel)
                                 - self._health.silent_s(self.part)))
        return beat

    def _check(self, channel: Channel) -> None:
        """Mark it well, unless its poll is wedged."""
        if isinstance(channel, PollsOnce):
            age = self._health.silent_s(self.part)
            if age >= _longest_silence_s(channel):
                raise WedgedError(
                    f"nothing was received for {age:.0f} s (a poll takes "
                    f"{channel.poll_time_s:g} s); connecting anew")
        self._health.beat(self.part)


async def close(channel: Channel, log: Log) -> None:
    """Close a channel's connections; what can't be closed in time is left
    behind."""
    if not isinstance(channel, ClosesChannel):
        return
    try:
        async with asyncio.timeout(CLOSE_S):
            await channel.aclose()
    except Exception as error:  # it is not needed any more
        log("channel.close", channel=channel.name, error=describe(error))


def _longest_silence_s(channel: PollsOnce) -> float:
    """How long a channel may be silent."""
    return WEDGED_POLLS * max(channel.poll_time_s, SHORTEST_POLL_S)


async def _awaited(work: Awaitable[object]) -> None:
    await work


async def _stop(*tasks: "asyncio.Future[Any]") -> None:
    """Cancel tasks and wait for their end; one that will not end is left
    behind, since what stands still must not stop its supervisor too."""
    for task in tasks:
        task.cancel()
    done, _ = await asyncio.wait(tasks, timeout=CLOSE_S)
    for task in done:
        if not task.cancelled():
            task.exception()  # is known or of no interest any more
