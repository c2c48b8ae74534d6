"""How far the channels and threads of a workspace were read, in the marks
of the channel. Pure but for these.

    since       so far a channel was read that has no mark of its own
    at:C123     the last message of a channel
    threads     [["C123", "1700000000.000100", "1700000009.000200"], ...]:
                thread and last reply; a channel's history has no replies
"""

import json
from collections.abc import Iterator
from contextlib import suppress

from claw.channels.slack.events import Incoming, order
from claw.core.channel import KeepsMarks

MOST_THREADS = 50
FIRST_S = 60.0
THREAD_S = 24 * 3600.0
_SINCE, _AT, _THREADS = "since", "at:", "threads"


class Progress:
    """The marks of one bot."""

    def __init__(self, marks: KeepsMarks) -> None:
        self._marks = marks
        self._floor = "0"

    @property
    def is_new(self) -> bool:
        """Whether this is the very first start: nothing old is read."""
        return self._marks.get(_SINCE) is None

    def begin(self, now: float) -> None:
        """Listen for the first time. Slack may bring what was said a
        moment before: should this process be killed, the next one reads
        that, too, in its order."""
        self._marks.set(_SINCE, f"{now - FIRST_S:.6f}")
        self._floor = f"{now:.6f}"

    def read_until(self, now: float) -> None:
        """All channels were read up to this time."""
        self._marks.set(_SINCE, max(
            f"{now:.6f}", self._marks.get(_SINCE) or "0", key=order))

    def begin_at(self, channel: str, ts: str) -> None:
        """What a channel has now is old."""
        self._raise(channel, ts)

    def after(self, channel: str) -> str:
        return self._marks.get(_AT + channel) or max(
            self._floor, self._marks.get(_SINCE) or "0", key=order)

    def channels(self) -> list[str]:
        """Those in which something was said."""
        keys = self._marks.keys()
        return [key.removeprefix(_AT) for key in keys
                if key.startswith(_AT)]

    def threads(self, now: float) -> list[tuple[str, str, str]]:
        """Threads of the last day, and how far they were read."""
        return [one for one in self._read_threads()
                if order(one[2])[0] > now - THREAD_S]

    def note(self, incoming: Incoming, *, ours: bool) -> None:
        """It is committed, or (not `ours`) nothing for us."""
        if incoming.edited_ts:
            return
        channel, ts = incoming.channel, incoming.ts
        if not incoming.thread_ts:
            self._raise(channel, ts)
        thread = incoming.thread_ts or ts
        known = self._read_threads()
        old = next((one for one in known if one[:2] == (channel, thread)),
                   None)
        if old is None and not ours:
            return
        last = max(ts, old[2] if old else ts, key=order)
        kept = [one for one in known if one is not old]
        self._marks.set(_THREADS, json.dumps(
            [*kept, (channel, thread, last)][-MOST_THREADS:]))

    def _raise(self, channel: str, ts: str) -> None:
        old = self._marks.get(_AT + channel)
        if old is None or order(ts) > order(old):
            self._marks.set(_AT + channel, ts)

    def _read_threads(self) -> list[tuple[str, str, str]]:
        with suppress(ValueError, TypeError):
            return list(_checked(json.loads(
                self._marks.get(_THREADS) or "[]")))
        return []


def _checked(rows: list[list[str]]) -> Iterator[tuple[str, str, str]]:
    for channel, thread, last in rows:
        order(last)
        yield channel, thread, last
