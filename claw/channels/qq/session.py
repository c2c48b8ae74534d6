"""What outlives a connection, and the process: the gateway's session.

One mark, as JSON. `sequence` is the last event whose message is committed,
`at` when that was (Unix seconds): from then on messages may be missing where
QQ no longer knows the session, since it keeps no history for bots.
"""

import msgspec

from claw.core.channel import KeepsMarks

_MARK = "session"


class Place(msgspec.Struct):
    account: str = ""
    session_id: str = ""
    sequence: int = 0
    at: int = 0


class Session:
    """The session of one bot, kept in marks."""

    def __init__(self, marks: KeepsMarks, account: str) -> None:
        self._marks = marks
        self._account = account
        self.place = Place(account)

    def open(self) -> None:
        """Begin where the last process, here or elsewhere, has stopped."""
        try:
            place = msgspec.json.decode(self._marks.get(_MARK) or "",
                                        type=Place)
        except ValueError:  # never set, or not by us
            return
        if place.account == self._account:
            self.place = place

    def save(self) -> None:
        self._marks.set(_MARK, msgspec.json.encode(self.place).decode())

    @property
    def is_resumable(self) -> bool:
        return bool(self.place.session_id)

    @property
    def sequence(self) -> int:
        return self.place.sequence

    def forget(self) -> None:
        """The gateway has ended it."""
        self.place.session_id, self.place.sequence = "", 0
        self.save()

    def begin(self, session_id: str, now: float) -> int | None:
        """A new session; since when messages may be missing."""
        since = self.place.at or None
        self.place.session_id, self.place.at = session_id, int(now)
        return since

    def note(self, sequence: int | None, now: float) -> None:
        """This event is done."""
        if sequence is not None:
            self.place.sequence, self.place.at = sequence, int(now)
