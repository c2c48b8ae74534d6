"""What outlives a connection, and the process: the gateway's session, and
how far messages were read.

One mark, as JSON. `sequence` is the last event whose message is committed,
`since` an id below which every message was seen. A session that can't be
resumed leaves a gap: the servers whose channels still have to be looked
through, and until then `since` stays where it is.
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


class Session:
    """The place of one bot, kept in marks."""

    def __init__(self, marks: KeepsMarks, account: str) -> None:
        self._marks = marks
        self._account = account
        self.place = Place(account)
        self._read()

    def _read(self) -> None:
        kept = self._marks.get(_MARK)
        try:
            place = msgspec.json.decode(kept or "", type=Place)
        except ValueError:  # never set, or not by us
            return
        if place.account == self._account:
            self.place = place

    def refresh(self) -> None:
        """Another process may have read on."""
        self._read()

    def save(self) -> None:
        self._marks.set(_MARK, msgspec.json.encode(self.place).decode())

    @property
    def is_resumable(self) -> bool:
        return bool(self.place.session_id)

    def forget(self) -> None:
        """The gateway has ended it."""
        self.place.session_id = self.place.url = ""
        self.place.sequence = 0
        self.save()

    def begin(self, session_id: str, url: str, guilds: list[str],
              now: float) -> None:
        """A new session. What was missed is in `guilds`, and in the chats;
        a bot that never listened has missed nothing."""
        place = self.place
        place.session_id, place.url = session_id, url
        if place.since:
            place.gap = guilds
        else:
            place.since = snowflake(now)

    def note(self, sequence: int | None) -> None:
        """This event is done."""
        if sequence is not None:
            self.place.sequence = sequence

    def note_message(self, message_id: str, chat: str, *,
                     private: bool) -> None:
        """This message is committed, or nothing for us."""
        place = self.place
        if not place.gap:
            place.since = max(place.since, int(message_id))
        if private:
            if chat in place.chats:
                place.chats.remove(chat)
            place.chats.append(chat)
            del place.chats[:-MOST_CHATS]

    @property
    def read_until(self) -> int:
        """An id after which messages may have been missed."""
        return max(0, self.place.since - (int(_SLACK_S * 1000) << 22))
