"""The line of a running map, on a terminal's stderr:

    claw map  420/2,000  21 %  12/s  $0.0310  2:11 left
"""

import os
import time
from collections.abc import Callable
from typing import Protocol, TextIO

from claw.cli.show.output import is_terminal
from claw.core.ledger import dollars

_EVERY_S = 0.2
_AFTER_S = 0.5


class Counts(Protocol):
    """How far it is. `asked` and `failed` took time, `kept` did not."""

    asked: int
    kept: int
    failed: int
    shown: int
    cost: float
    is_priced: bool


class Status:
    """Nothing is shown where no person looks, or `quiet`."""

    def __init__(self, stream: TextIO, total: Callable[[], int | None], *,
                 quiet: bool = False,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._total = total
        self._clock = clock
        self._on = not quiet and is_terminal(stream)
        self._began = clock()
        self._next = self._began + _AFTER_S
        self._shown = False

    def update(self, counts: Counts) -> None:
        """Show how far it is, a few times a second."""
        now = self._clock()
        if not self._on or (now < self._next and not self._shown):
            return
        if now < self._next:
            return
        self._next = now + _EVERY_S
        self._write(describe(counts, self._total(), now - self._began))

    def clear(self) -> None:
        """Take the line away, for something else to be written."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False
            self._next = self._clock()  # and put it back behind that

    def _write(self, parts: list[str]) -> None:
        """As many parts as there is room for."""
        try:
            room = (os.get_terminal_size(self._stream.fileno()).columns
                    or 80) - 3  # a ^C stands behind it
        except (OSError, ValueError):
            room = 77
        while len(parts) > 1 and len("  ".join(parts)) > room:
            parts.pop()
        self._stream.write("\r\x1b[K" + "  ".join(parts)[:room])
        self._stream.flush()
        self._shown = True


def describe(counts: Counts, total: int | None, seconds: float) -> list[str]:
    """The parts of the line, the most important first."""
    parts = [f"{counts.shown:,}" + (f"/{total:,}" if total else "")]
    if total:
        parts.append(f"{counts.shown * 100 // total} %")
    new = counts.asked + counts.failed
    if new and total:
        left = round((total - counts.shown) * seconds / new)
        parts.append(f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} "
                     "left" if left >= 3600
                     else f"{left // 60}:{left % 60:02d} left")
    if counts.asked and counts.is_priced:
        parts.append(dollars(counts.cost))
    if counts.failed:
        parts.append(f"{counts.failed:,} failed")
    if new and seconds > 0:
        rate = new / seconds
        parts.append(f"{rate:,.1f}/s" if rate < 10 else f"{rate:,.0f}/s")
    return parts
