"""The answers of calls that may come twice, by the key that the caller
gave them.

A key is kept once its call has succeeded: what failed may be tried again
with the same key. While the first call is under way a second one is told
to wait.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from claw.core.value import Value


class Kept(Value):
    """An answer; `print` is that of the request's body."""

    print: str
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    until: float = 0.0


class AnswerStore:
    """At most `most` answers of together `most_bytes`, `ttl_s` long each;
    the oldest go."""

    def __init__(self, ttl_s: float = 300.0, most: int = 10_000,
                 most_bytes: int = 16 * 2**20,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._ttl_s = max(1.0, ttl_s)
        self._most = max(1, most)
        self._most_bytes = most_bytes
        self._clock = clock
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._bytes = 0
        self._running: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def begin(self, key: str, fingerprint: str
              ) -> Kept | Literal["new", "running", "other"]:
        """The answer of before, or what this call is: new, the repetition
        of one under way, or another request under a key that is taken."""
        self._forget()
        found = self._kept.get(key)
        known = found.print if found else self._running.get(key)
        if known is None:
            self._running[key] = fingerprint
            return "new"
        if known != fingerprint:
            return "other"
        return found or "running"

    def end(self, key: str, answer: Kept | None) -> None:
        """The call that began is over; None: it did not succeed, or its
        answer can't be kept."""
        self._running.pop(key, None)
        if answer is None or len(answer.body) > self._most_bytes:
            return
        self._kept[key] = Kept(answer.print, answer.status, answer.headers,
                               answer.body, self._clock() + self._ttl_s)
        self._bytes += len(answer.body)
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            self._drop_oldest()

    def _forget(self) -> None:
        now = self._clock()
        while self._kept and next(iter(self._kept.values())).until <= now:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, gone = self._kept.popitem(last=False)
        self._bytes -= len(gone.body)
