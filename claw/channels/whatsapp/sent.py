"""What statuses and messages tell of what we send: whether it arrived, and
whether a person's window is open.

WhatsApp takes no idempotency key and lists nothing. But each call carries a
key of ours as `biz_opaque_callback_data`, and the statuses of its message
(sent, delivered, read, failed), which Meta posts until they are taken, bring
it back. So a status proves that a part in doubt arrived, and under which id;
that there is none proves nothing.
"""

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from claw.channels.whatsapp.errors import WINDOW, read_fault
from claw.channels.whatsapp.wire import (
    Status,
    Who,
    read_number,
    read_time,
    read_user_id,
)
from claw.core.abilities import Doubt, Report
from claw.core.channel import KeepsMarks
from claw.core.log import Log

T = TypeVar("T")

WINDOW_S = 86_400.0
WAIT_S = 15.0  # for the status of a part in doubt
_STEP_S = 0.2
_SENT, _HEARD = "sent:", "heard:"
_UNDELIVERED = "undelivered"  # why the last one did not arrive
_TAKEN = "sent"
_ARRIVED = ("delivered", "read", "played")
_KEPT = 200
_REMEMBERED = 2000
_FAILED = "failed"
_KEY = re.compile(r"[0-9a-f]{16}", re.ASCII)
_EVERY_S = 600  # how exact the time of a last message is kept


class Deliveries:
    """What is known of the messages of one number. `now` is Unix
    seconds."""

    def __init__(self, marks: KeepsMarks, log: Log,
                 sleep: Callable[[float], Awaitable[Any]],
                 now: Callable[[], float] = time.time) -> None:
        self._marks = marks
        self._log = log
        self._sleep = sleep
        self._now = now
        # Keys whose call was answered, with its id: no mark is needed.
        self._settled: dict[str, str] = {}
        self._heard: dict[str, int] = {}  # Unix seconds

    @property
    def undelivered(self) -> str | None:
        """Why the last message did not arrive; None where it did."""
        return self._marks.get(_UNDELIVERED)

    # -- parts

    def settle(self, key: str, message_id: str) -> None:
        """The call of this key was answered."""
        _push(self._settled, key, message_id)

    def note(self, status: Status) -> Report | None:
        """A status of a message of ours; what it says of it."""
        failed = status.status == _FAILED
        key = status.biz_opaque_callback_data
        if _KEY.fullmatch(key) and key not in self._settled \
                and status.status:
            self._keep(_SENT, key, _FAILED if failed else status.id)
        if failed:
            return Report(status.id, self._note_failure(status), key)
        if status.status in _ARRIVED:
            self._marks.set(_UNDELIVERED, None)
        return Report(status.id, None, key) \
            if status.status in (_TAKEN, *_ARRIVED) else None

    def _note_failure(self, status: Status) -> str:
        """Why it did not arrive."""
        fault = read_fault(status.errors[0] if status.errors else None)
        error = fault.text or "no reason"
        to = [name for name in (read_user_id(status.recipient_user_id),
                                read_number(status.recipient_id)) if name]
        self._log("not_delivered", id=status.id, code=fault.code,
                  to=to[0] if to else None, error=error, hint=fault.hint)
        self._marks.set(_UNDELIVERED, f"{error} (error {fault.code})")
        at = read_time(status.timestamp)
        for name in to if fault.code == WINDOW else ():
            if (self._find_heard(name) or 0) <= at:  # not since
                self._heard.pop(name, None)
                self._keep(_HEARD, name, "0")
        return f"not delivered: {error} (error {fault.code})" + (
            f"; {fault.hint}" if fault.hint else "")

    async def find(self, doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says."""
        key = str(doubt.part.data.get("key") or "")
        if not _KEY.fullmatch(key):
            return None
        known = {given for _, given in (*doubt.before, *doubt.owned)}
        for _ in range(int(WAIT_S / _STEP_S)):
            found = self._settled.get(key) or self._marks.get(_SENT + key)
            if found is not None:
                return () if found in (_FAILED, *known) else (found,)
            await self._sleep(_STEP_S)
        return None

    # -- windows

    def note_heard(self, who: Who, at: int, *, keep: bool) -> None:
        """A person wrote. `keep`: it is worth a mark."""
        for name in filter(None, (who.user_id, who.number)):
            before = self._find_heard(name) or 0
            _push(self._heard, name, max(at, before))
            if keep and at >= read_time(self._marks.get(_HEARD + name)) \
                    + _EVERY_S:
                self._keep(_HEARD, name, str(at))

    def judge_window(self, recipient: str
                     ) -> Literal["open", "closed", "unknown"]:
        """Whether free text may go there, as far as is known."""
        heard = self._find_heard(recipient)
        if heard is None:
            return "unknown"
        return "open" if self._now() - heard < WINDOW_S + _EVERY_S \
            else "closed"

    def _find_heard(self, name: str) -> int | None:
        if name in self._heard:
            return self._heard[name]
        kept = self._marks.get(_HEARD + name)
        return None if kept is None else read_time(kept)

    def _keep(self, kind: str, name: str, value: str) -> None:
        """Keep a mark, and forget the oldest of its kind."""
        names = self._marks.keys()
        old = [key for key in names if key.startswith(kind)]
        for key in old[:-_KEPT]:
            self._marks.set(key, None)
        self._marks.set(kind + name, value)


def _push(kept: dict[str, T], key: str, value: T) -> None:
    kept[key] = value
    while len(kept) > _REMEMBERED:
        del kept[next(iter(kept))]
