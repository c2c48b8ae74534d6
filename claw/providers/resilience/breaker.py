"""Circuit breaker: a host that keeps failing is left alone for a while.

After 5 failures in a row a host is not asked for 30 s. Then one request at
a time goes through as a probe: it closes the circuit or opens it for
another 30 s. Any answer at all, a refusal too, breaks the row: the host is
there.
"""

import itertools
import threading
import time
from collections.abc import Callable

FAILURES = 5
OPEN_S = 30.0


class _Host:
    """One host: failures in a row, when it may be asked again (None: at
    any time), and the ticket of the probe under way."""

    def __init__(self) -> None:
        self.failures = 0
        self.until: float | None = None
        self.probe: int | None = None


class Breaker:
    """The state of every host that was asked, for all providers of a
    process. Safe to use from several threads and tasks."""

    def __init__(self, *, failures: int = FAILURES, open_s: float = OPEN_S,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = failures
        self._open_s = open_s
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def enter(self, host: str, *, force: bool = False) -> int | None:
        """A ticket to ask this host, None while its circuit is open. With
        `force` there always is one. Give it back with `leave`."""
        with self._lock:
            number = next(self._numbers)
            found = self._hosts.get(host)
            if found is None or found.until is None:
                return number
            due = self._clock() >= found.until and found.probe is None
            if not due and not force:
                return None
            found.probe = number
            return number

    def leave(self, host: str, ticket: int, alive: bool | None) -> None:
        """How it went: True for any answer, False for none, None where
        that can't be said (it was cancelled)."""
        if not host:  # no host, nothing to protect
            return
        with self._lock:
            if alive:
                self._hosts.pop(host, None)
                return
            found = self._hosts.get(host)
            if found is None:
                found = self._hosts[host] = _Host()
            was_probe = found.probe == ticket
            if was_probe:
                found.probe = None
            if alive is None:
                return
            found.failures += 1
            if was_probe or (found.until is None
                             and found.failures >= self._limit):
                found.until = self._clock() + self._open_s

    def opens_in(self, host: str) -> float:
        """Seconds until a host may be asked again; 0.0 for now."""
        with self._lock:
            found = self._hosts.get(host)
            return 0.0 if found is None or found.until is None \
                else max(0.0, found.until - self._clock())
