"""Answers that grow: a notice, which rings nobody, is edited while the
answer is made and redacted after it. The answer itself is always a message
of its own.

Servers count edits as messages (Synapse lets a user send one in five
seconds, ten at once), so a draft is updated no oftener than that, and a
limit stops the drafts for a while, not the answer.
"""

import secrets
from collections.abc import Callable

from claw.channels.matrix.api import MatrixApi
from claw.channels.matrix.outgoing import Sender
from claw.channels.matrix.parts import in_thread, make_content, text_parts
from claw.channels.matrix.rooms import Rooms
from claw.core.channel import SendMessage
from claw.core.errors import RateLimitedError

INTERVAL_S = 5.0
CHARS = 8_000  # of a draft; the answer has all of it
_MOST = 1000


class Drafts:
    """The growing answers of one account."""

    def __init__(self, api: MatrixApi, sender: Sender, rooms: Rooms,
                 clock: Callable[[], float]) -> None:
        self._api = api
        self._sender = sender
        self._rooms = rooms
        self._clock = clock
        self._shown: dict[str, tuple[str, float]] = {}  # id -> text, when

    async def send(self, message: SendMessage) -> str:
        room_id = await self._rooms.resolve(message.recipient)
        event_id = await self._sender.say(
            room_id, in_thread(_notice(message.content), message.thread_ts),
            secrets.token_hex(16))
        self._note(event_id, message.content)
        return event_id

    async def update(self, recipient: str, event_id: str, text: str) -> None:
        """Show a growing text, at most once in five seconds."""
        before, at = self._shown.get(event_id, ("", 0.0))
        if not text.strip() or text == before \
                or self._clock() - at < INTERVAL_S:
            return
        room_id = await self._rooms.resolve(recipient)
        if not self._api.is_calm():
            return
        self._note(event_id, text)
        try:
            await self._sender.edit(room_id, event_id, _notice(text),
                                    secrets.token_hex(16))
        except RateLimitedError:
            return  # and is not calm for a while

    async def cancel(self, recipient: str, event_id: str) -> None:
        """Take a draft away. Done twice it is done once."""
        self._shown.pop(event_id, None)
        room_id = await self._rooms.resolve(recipient)
        await self._sender.redact(room_id, event_id, secrets.token_hex(16))

    async def finalize(self, recipient: str, event_id: str, text: str
                       ) -> None:
        """The answer, and no more draft."""
        message = SendMessage(text, recipient)
        for part in self._sender.parts(message):
            await self._sender.part(message, part)
        await self.cancel(recipient, event_id)

    def _note(self, event_id: str, text: str) -> None:
        if len(self._shown) >= _MOST:
            self._shown.clear()
        self._shown[event_id] = text, self._clock()


def _notice(text: str) -> dict[str, object]:
    """A draft is read before its answer is judged: it has no links."""
    parts = text_parts(text[:CHARS], ())
    data = parts[0].data if parts else {"body": "..."}
    return make_content({"body": data["body"], "html": data.get("html")},
                        "m.notice")
