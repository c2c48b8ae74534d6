"""Looks for what a platform took without saying where it stands.

A call that was answered "yes" and gave no id may have delivered nothing.
Where the channel can look (FindsSent), the part is "verified" under its id,
or has failed as "not there" once it is not seen a minute later.
"""

import time
from collections.abc import Callable

from claw.core.abilities import FindsSent
from claw.core.channel import Channel
from claw.core.errors import LeaseLostError, describe
from claw.core.log import Log
from claw.runtime.process.health import Health
from claw.security.redact.redaction import scrub_tokens
from claw.storage.queue.model import Lease, OutboxRow, Queue

FIRST_LOOK_S = 3.0
LAST_LOOK_S = 60.0  # a part that is not seen so long after is not there
KEPT_S = 3600.0  # who can't be asked for so long is asked no more


class ReadBack:
    """The looks of one channel."""

    def __init__(self, name: str, queue: Queue, lease: Callable[[], Lease],
                 health: Health, log: Log, *,
                 now: Callable[[], float] = time.time) -> None:
        self._name = name
        self._queue = queue
        self._lease = lease
        self._health = health
        self._log = log
        self._now = now
        # From a start on: a process before may have left some.
        self._next: float | None = 0.0

    @property
    def next_s(self) -> float | None:
        """Seconds until the next look; None: nothing is to be looked for."""
        return (None if self._next is None
                else max(0.0, self._next - self._now()))

    def note_silent(self) -> None:
        """A part was sent, and got no id."""
        soon = self._now() + FIRST_LOOK_S
        self._next = soon if self._next is None else min(self._next, soon)

    async def look(self, channel: Channel | None) -> None:
        """Look for what is due. Raises LeaseLostError, and what the store
        raises."""
        if self._next is None or self._now() < self._next:
            return
        self._next = None
        if not isinstance(channel, FindsSent):
            return
        now = self._now()
        for row in await self._queue.silent(self._name, now - KEPT_S, now):
            if not await self._look_for(channel, row):
                self._next = now + FIRST_LOOK_S + (
                    now - (row.sent_at or now)) / 2

    async def _look_for(self, channel: FindsSent, row: OutboxRow) -> bool:
        """Whether that ends the matter."""
        try:
            await channel.catch_up()
            ids = await channel.find_sent(await self._queue.read_doubt(row))
        except LeaseLostError:
            raise
        except Exception as error:  # no answer: nothing is known yet
            self._log("look.error", channel=self._name, source=row.source,
                      part=row.number, error=scrub_tokens(describe(error)))
            return False
        if ids is None or len(ids) > 1:  # nobody can tell
            return True
        if not ids and self._now() - (row.sent_at or 0.0) < LAST_LOOK_S:
            return False
        await self._queue.mark_seen(self._lease(), row,
                                    ids[0] if ids else None)
        self._log("look", channel=self._name, source=row.source,
                  part=row.number, seen="verified" if ids else "not there")
        if not ids:
            self._health.note_not_there(f"channel:{self._name}")
        return True
