"""Which messages of a chat may still be answered, and whether the bot may
write there of its own accord.

QQ takes five answers to a message within 60 minutes in private, within 5 in
a group; everything else is "proactive", and is taken seldom. One mark a chat,
so that another process (`claw send`) and the next one know it too.
Source: bot.q.qq.com/wiki, API v2: message/send-receive/send.
"""

from collections.abc import Callable

import msgspec

from claw.channels.qq.wire import USER, Place
from claw.core.channel import KeepsMarks

MOST_ANSWERS = 5
AGAIN_S = 6 * 3600.0  # until QQ is asked whether it still refuses
MARGIN_S = 60.0  # a key is taken for known that much shorter
_MOST_ANCHORS = 16
_MOST_CHATS = 500
_MARK = "chat:"


class Anchor(msgspec.Struct):
    """A message or an event (`is_event`) that may be answered: when it
    came, how often it was answered."""

    id: str
    at: float
    used: int = 0
    is_event: bool = False


class Chat(msgspec.Struct):
    """`closed` says why the bot may not write of its own accord, until
    `until` (None: until QQ says that it may)."""

    anchors: list[Anchor] = []
    closed: str = ""
    until: float | None = None


class Chats:
    """The chats of one bot; `now` is Unix seconds."""

    def __init__(self, marks: KeepsMarks, now: Callable[[], float]) -> None:
        self._marks = marks
        self._now = now

    # -- what comes

    def note(self, place: Place, number: str, at: float | None, *,
             is_event: bool = False) -> None:
        """A message came, or an event that may be answered; again: nothing
        is changed."""
        chat = self._read(place)
        if all(anchor.id != number for anchor in chat.anchors):
            now = self._now()
            chat.anchors = [*chat.anchors, Anchor(
                number, min(now, at or now), is_event=is_event
            )][-_MOST_ANCHORS:]
            self._write(place, chat)

    def close(self, place: Place, why: str, *, for_good: bool = False
              ) -> None:
        """The bot may not write there of its own accord."""
        chat = self._read(place)
        chat.closed = why
        chat.until = None if for_good else self._now() + AGAIN_S
        self._write(place, chat)

    def open(self, place: Place) -> None:
        chat = self._read(place)
        if chat.closed:
            chat.closed, chat.until = "", None
            self._write(place, chat)

    # -- what goes

    def latest(self, place: Place) -> str | None:
        """The newest message that may be answered under a key."""
        return next((anchor.id for anchor in reversed(
            self._read(place).anchors) if not anchor.is_event
            and self._may(place, anchor)), None)

    def pick(self, place: Place, wanted: str | None) -> Anchor | None:
        """What to answer: the wanted message while that may be, else the
        newest one that may."""
        anchors = self._read(place).anchors
        if wanted is not None:
            known = next((a for a in anchors if a.id == wanted), None)
            if known is None:  # it was long ago, or the marks were lost
                return Anchor(wanted, self._now())
            if self._may(place, known):
                return known
        return next((a for a in reversed(anchors)
                     if self._may(place, a)), None)

    def holds_key(self, place: Place, number: str) -> bool:
        """Whether QQ still knows which answers to this message it had."""
        known = next((a for a in self._read(place).anchors
                      if a.id == number), None)
        return known is not None and \
            0 <= self._now() - known.at < window_s(place) - MARGIN_S

    def use(self, place: Place, number: str, *, up: bool = False) -> None:
        """It was answered once more; `up`: QQ takes no more answers."""
        chat = self._read(place)
        for anchor in chat.anchors:
            if anchor.id == number:
                anchor.used = MOST_ANSWERS if up else anchor.used + 1
                self._write(place, chat)
                return
        if up:
            chat.anchors = [Anchor(number, 0.0, MOST_ANSWERS),
                            *chat.anchors[1 - _MOST_ANCHORS:]]
            self._write(place, chat)

    def count_answers(self, place: Place, number: str) -> int:
        return next((a.used for a in self._read(place).anchors
                     if a.id == number), 0)

    def why_closed(self, place: Place) -> str:
        """Why the bot may not write of its own accord; "" where it may, or
        where it is time to ask."""
        chat = self._read(place)
        if chat.until is not None and self._now() >= chat.until:
            return ""
        return chat.closed

    def count_closed(self) -> int:
        return sum(bool(self._load(key).closed)
                   for key in self._marks.keys()  # noqa: SIM118
                   if key.startswith(_MARK))

    def _may(self, place: Place, anchor: Anchor) -> bool:
        return anchor.used < MOST_ANSWERS \
            and self._now() - anchor.at < window_s(place)

    # -- the marks

    def _read(self, place: Place) -> Chat:
        return self._load(_MARK + place.recipient)

    def _load(self, key: str) -> Chat:
        try:
            return msgspec.json.decode(self._marks.get(key) or "{}",
                                       type=Chat)
        except ValueError:  # not by us
            return Chat()

    def _write(self, place: Place, chat: Chat) -> None:
        key = _MARK + place.recipient
        if self._marks.get(key) is None:
            known = [k for k in self._marks.keys()  # noqa: SIM118
                     if k.startswith(_MARK)]
            for old in known[:len(known) + 1 - _MOST_CHATS]:
                self._marks.set(old, None)
        self._marks.set(key, msgspec.json.encode(chat).decode())


def window_s(place: Place) -> float:
    """How long a message may be answered."""
    return 3600.0 if place.kind == USER else 300.0
