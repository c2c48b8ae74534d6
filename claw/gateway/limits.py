"""Sliding windows: how often somebody may do something. Pure.

Each one's calls of the last minute are counted by their times, so that no
two minutes' worth fit around a full minute. At most `most` are counted at
once: then the one whose last call lies longest back is forgotten.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable

WINDOW_S = 60.0


class SlidingWindow:
    """`limit` calls in each `window_s` seconds; 0: no limit."""

    def __init__(self, limit: int, *, most: int = 10_000,
                 window_s: float = WINDOW_S,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._most = max(1, most)
        self._window_s = window_s
        self._clock = clock
        self._calls: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, who: str) -> float | None:
        """Count a call. None, or the seconds until the next one may be;
        one that is refused does not count."""
        if not self._limit:
            return None
        now = self._clock()
        self._forget(now)
        calls = self._calls.setdefault(who, deque())
        while calls and calls[0] <= now - self._window_s:
            calls.popleft()
        self._calls.move_to_end(who)
        if len(calls) >= self._limit:
            return calls[0] + self._window_s - now
        calls.append(now)
        while len(self._calls) > self._most:
            self._calls.popitem(last=False)
        return None

    def give_back(self, who: str) -> None:
        """The last call of this one does not count after all."""
        calls = self._calls.get(who)
        if calls:
            calls.pop()

    def _forget(self, now: float) -> None:
        """Those whose last call is out of the window; the order is that of
        last calls, so each call looks at those that go, and one more."""
        while self._calls:
            who, calls = next(iter(self._calls.items()))
            if calls and calls[-1] > now - self._window_s:
                return
            del self._calls[who]
