"""A watch over the event loop, from a thread of its own.

A blocked loop can't notice that it is blocked. The loop beats a few times
within the limit; when no beat comes for that long, the stacks of all
threads go to stderr and the process ends, for the service manager to start
it anew: everything that matters is on disk.

A process that was stopped (SIGSTOP, a suspended machine) wakes with an old
beat that proves nothing. The watch sees it by its own wake-ups being late,
and gives the loop a fresh limit.
"""

import asyncio
import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from claw.core.errors import ExitCode
from claw.core.times import until_tick

_BEATS_PER_LIMIT = 10


def leave() -> None:
    """End the process at once: what hangs would hang an orderly end."""
    os._exit(ExitCode.FAULT)


class Judge:
    """Whether a loop is stuck, from the times of beats and looks. Pure."""

    def __init__(self, limit_s: float, look_every_s: float,
                 now: float) -> None:
        self._limit_s = limit_s
        self._late_s = 3 * look_every_s
        self._counted_from = now
        self._looked_at = now

    def is_stuck(self, beat: float, now: float) -> bool:
        """`beat` is when the loop was last seen alive. Times are those of
        one clock, in seconds."""
        if now - self._looked_at > self._late_s:
            self._counted_from = now
        self._looked_at = now
        return now - max(beat, self._counted_from) > self._limit_s


class LoopWatch:
    """Ends the process when the running loop is stuck for `limit_s`.

    `on_stuck` is called on the watch's thread; where it returns, the next
    call comes after the loop has moved and got stuck again.
    """

    def __init__(self, limit_s: float,
                 on_stuck: Callable[[], object] = leave, *,
                 stderr: TextIO | None = None) -> None:
        self._limit_s = limit_s
        self._every_s = limit_s / _BEATS_PER_LIMIT
        self._on_stuck = on_stuck
        self._stderr = stderr
        self._beat_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the running loop."""
        self._stopped.clear()
        self._beat(asyncio.get_running_loop())
        self._thread = threading.Thread(
            target=self._watch, name="loop-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._beat_at = time.monotonic()
        self._timer = loop.call_later(until_tick(self._every_s), self._beat,
                                      loop)

    def _watch(self) -> None:
        judge = Judge(self._limit_s, self._every_s, time.monotonic())
        told_of = -1.0
        while not self._stopped.wait(self._every_s):
            beat = self._beat_at
            stuck = judge.is_stuck(beat, time.monotonic())
            if stuck and beat != told_of:
                told_of = beat
                self._report()
                self._on_stuck()

    def _report(self) -> None:
        stream = self._stderr or sys.stderr or sys.__stderr__
        try:
            number = stream.fileno() if stream is not None else 2
            os.write(number, b"the event loop has not moved for "
                     b"%g s; all stacks:\n" % self._limit_s)
            faulthandler.dump_traceback(number, all_threads=True)
        except (OSError, ValueError):
            return  # nobody can be told; what follows matters more
