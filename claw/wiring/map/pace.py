"""How many requests may be under way, and when the next one may go out.

A server that is asked too much slows all: nothing goes out before the time
that it names, and from then on half as many at once; each answer lets a
little more through ("additive increase, multiplicative decrease", Chiu and
Jain, 1989).
"""

import asyncio
import time
from collections.abc import Callable


class Stopped(Exception):
    """Nothing more is asked."""


class Pace:
    """Shared by the workers of a map, who are numbered from 0."""

    def __init__(self, most: int, *,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._allowed = float(most)
        self._not_before = 0.0
        self._slowed_at = float("-inf")
        self._changed = asyncio.Event()
        self.is_stopped = False

    async def ready(self, worker: int) -> None:
        """Until this worker may send a request. Raises Stopped."""
        while True:
            if self.is_stopped:
                raise Stopped
            wait = self._not_before - self._clock()
            if worker >= int(self._allowed):
                await self._wait(None)
            elif wait > 0:
                await self._wait(wait)
            else:
                return

    async def pause(self, seconds: float) -> None:
        """Raises Stopped where that comes first."""
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            if self.is_stopped:
                raise Stopped
            await self._wait(left)

    def worked(self) -> None:
        """An answer came."""
        before = int(self._allowed)
        self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        if int(self._allowed) > before:
            self._wake()

    def slow_down(self, seconds: float, began: float) -> float:
        """A request that began then was too much: nothing goes out for so
        long. Requests that went out before the last time say nothing new
        but how long. Returns by how much it is longer than before."""
        now = self._clock()
        if began > self._slowed_at:
            self._allowed = max(1.0, self._allowed / 2)
            self._slowed_at = now
        before = max(self._not_before, now)
        self._not_before = max(before, now + seconds)
        return self._not_before - before

    def stop(self) -> None:
        self.is_stopped = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _wait(self, seconds: float | None) -> None:
        changed = self._changed
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            pass
