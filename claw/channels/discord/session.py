"""What outlives a connection, and the process: the gateway's session, and
how far messages were read.

One mark, as JSON. `sequence` is the last event whose message is committed,
`since` an id below which every message was seen. A session that can't be
resumed leaves a gap: the servers whose channels still have to be looked
through, and until then `since` stays where it is. `chats` are direct
messages, `opened` the owners whose direct messages were looked up.
"""

import msgspec

from claw.channels.discord.wire import snowflake
from claw.core.channel import KeepsMarks

MOST_CHATS = 100  # direct messages that are remembered
_MARK = "session"
# Ids of different chats come in the order of their time, but not exactly.
_SLACK_S = 10.0


class Place(msgspec.Struct):
    """How far one bot has read."""

    account: str = ""
    session_id: str = ""
    url: str = ""
    sequence: int = 0
    since: int = 0
    gap: list[str] = []
    chats: list[str] = []
    opened: list[str] = []


class Session:
    """The place of one bot, kept in marks."""

    def __init__(self, marks: KeepsMarks, account: str) -> None:
        self._marks = marks
        self._account = account
        self.place = Place(account)
        self.is_behind = False  # messages that were missed are being read
        self._read()

    def _read(self) -> None:
        kept = self._marks.get(_MARK)
        try:
            place = msgspec.json.decode(kept or "", type=Place)
        except ValueError:  # never set, or not by us
            return
        if place.account == self._account:
            self.place = place

    def open(self) -> None:
        """Begin where the last process, here or elsewhere, has stopped."""
        self._read()

    def begin_at(self, now: float) -> None:
        """A bot that never listened has missed nothing before; `now` is
        Discord's time."""
        if not self.place.since:
            self.place.since = snowflake(now)
            self.save()

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
        self.place.session_id = self.place.url = ""
        self.place.sequence = 0
        self.save()

    def begin(self, session_id: str, url: str, guilds: list[str]) -> None:
        """A new session; what was missed in these servers is still to be
        read."""
        place = self.place
        place.session_id, place.url, place.gap = session_id, url, guilds

    def note(self, sequence: int | None) -> None:
        """This event is done."""
        if sequence is not None:
            self.place.sequence = sequence

    def note_message(self, message_id: str, chat: str, *,
                     private: bool) -> None:
        """This message is committed, or nothing for us."""
        place = self.place
        if not place.gap and not self.is_behind:
            place.since = max(place.since, int(message_id))
        if private:
            self.note_chat(chat)

    def note_chat(self, chat: str, person: str | None = None) -> None:
        """Direct messages; `person` is an owner who was looked up."""
        place = self.place
        place.chats = [*(c for c in place.chats if c != chat),
                       chat][-MOST_CHATS:]
        if person is not None:
            place.opened.append(person)

    @property
    def read_until(self) -> int:
        """An id after which messages may have been missed."""
        return max(0, self.place.since - (int(_SLACK_S * 1000) << 22))
