"""Whether a part arrived whose fate is unknown.

Each event of ours holds its key in its content, in the clear even where the
words are encrypted, and the room's history is read back for it: an exact
answer, however long ago it was. The server's own `transaction_id` says the
same to the device that sent it.
"""

from claw.channels.matrix.api import MatrixApi
from claw.channels.matrix.events import (
    ENCRYPTED,
    KEY,
    MESSAGE,
    read_event,
)
from claw.channels.matrix.history import History
from claw.channels.matrix.rooms import Rooms
from claw.core.abilities import Doubt

MOST_PAGES = 20  # of our own messages, the newest first
SKEW_S = 3600  # between our clock and the server's


class Finder:
    """Finds events of one account."""

    def __init__(self, api: MatrixApi, rooms: Rooms, history: History
                 ) -> None:
        self._api = api
        self._rooms = rooms
        self._history = history

    async def find(self, doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says; None where the history is longer than what
        is looked through."""
        key, drawn = doubt.part.data.get("txn"), doubt.part.data.get("at")
        if not isinstance(key, str) or not isinstance(drawn, int):
            return None
        room_id = await self._rooms.resolve(doubt.message.recipient)
        me = await self._api.me()
        owned = {number for _, number in doubt.owned}
        token = None
        for _ in range(MOST_PAGES):
            page, token = await self._history.page(
                room_id, token, kinds=(MESSAGE, ENCRYPTED),
                senders=(me.user_id,))
            for raw in page:
                try:
                    event = read_event(raw)
                except ValueError:
                    continue
                unsigned = event.unsigned
                told = (unsigned.get("transaction_id")
                        if isinstance(unsigned, dict) else None)
                if key in (event.content.get(KEY), told) \
                        and event.event_id not in owned:
                    return (event.event_id,)
                if 0 < event.timestamp < drawn - SKEW_S:
                    return ()
            if token is None:
                return ()
        return None
