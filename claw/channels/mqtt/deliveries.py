"""Which message a delivery is.

MQTT numbers messages only while they are under way: a number is free again
once it is confirmed. A message that says its own id is known by that. For
all others this is what the wire tells: a broker delivers again only after a
reconnect, under the same number and with the DUP flag. So each delivery is
drawn an id, which is written down before the message is committed and stays
known until the broker has surely read our PUBACK; a delivery with DUP, the
same number and the same content has the id of the first. One without DUP
is a new message, however equal it is.
"""

import hashlib
import json
import time
from collections.abc import Callable
from uuid import uuid4

from claw.channels.mqtt.packets import Publish
from claw.core.channel import KeepsMarks

_MARK = "deliveries"
# What an earlier process confirmed comes again right after the login.
_AGAIN_S = 10.0


class Deliveries:
    """Those that the broker may make again."""

    def __init__(self, marks: KeepsMarks,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._marks = marks
        self._clock = clock
        self._known: dict[int, tuple[str, str]] = {}
        self._confirmed: dict[int, float] = {}  # number -> when

    def resume(self, session_present: bool) -> None:
        """A connection begins; a session that is new repeats nothing."""
        self._known = _read(self._marks.get(_MARK)) if session_present else {}
        self._confirmed = dict.fromkeys(self._known, self._clock() + _AGAIN_S)
        self._save()

    def identify(self, message: Publish) -> str:
        """The id of a delivery."""
        if not message.qos:
            return uuid4().hex
        content = _digest(message)
        known = self._known.get(message.number)
        if message.dup and known is not None and known[0] == content:
            return known[1]
        drawn = uuid4().hex
        self._known[message.number] = (content, drawn)
        self._confirmed.pop(message.number, None)
        self._save()
        return drawn

    def confirm(self, message: Publish) -> None:
        """Our PUBACK is on its way."""
        if message.number in self._known:
            self._confirmed[message.number] = self._clock()

    def settle(self, before: float) -> None:
        """The broker has read all that we wrote before this moment."""
        done = [n for n, at in self._confirmed.items() if at < before]
        for number in done:
            del self._confirmed[number]
            self._known.pop(number, None)
        if done:
            self._save()

    def _save(self) -> None:
        self._marks.set(_MARK, json.dumps(
            self._known, separators=(",", ":")) if self._known else None)


def _digest(message: Publish) -> str:
    return hashlib.blake2b(b"\0".join((
        message.topic.encode(), message.payload)), digest_size=12).hexdigest()


def _read(text: str | None) -> dict[int, tuple[str, str]]:
    """{} for what is not in the form that claw writes."""
    try:
        return {int(number): (str(content), str(drawn)) for number, (
            content, drawn) in json.loads(text or "{}").items()}
    except (ValueError, TypeError, AttributeError):
        return {}
