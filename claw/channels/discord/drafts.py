"""Answers that grow, in a silent message beside the answer: it is edited and
then taken away. The answer itself is always a message of its own.

Whatever goes wrong here costs no answer anything.
"""

from collections.abc import Callable

from claw.channels.discord.api import GONE, Api, RefusedError
from claw.channels.discord.markup import split_markdown
from claw.channels.discord.outgoing import Sender, silent_body
from claw.core.channel import SendMessage
from claw.core.errors import ClawError

INTERVAL_S = 1.5  # Discord takes five edits in five seconds of a channel
_MOST = 1000


class Drafts:
    """The growing answers of one bot."""

    def __init__(self, api: Api, sender: Sender,
                 clock: Callable[[], float]) -> None:
        self._api = api
        self._sender = sender
        self._clock = clock
        self._shown: dict[str, tuple[str, float]] = {}  # draft -> text, when

    async def send(self, message: SendMessage) -> str:
        """A draft that begins with this text; its id."""
        text = _fit(message.content)
        draft_id = await self._sender.send_silently(message.recipient, text)
        self._note(draft_id, text)
        return draft_id

    async def update(self, recipient: str, draft_id: str, text: str) -> None:
        """Show a growing text, as far as one message holds it, at most once
        an interval; the next one brings what was left out."""
        text = _fit(text)
        shown, at = self._shown.get(draft_id, ("", float("-inf")))
        if not text.strip() or text == shown \
                or self._clock() - at < INTERVAL_S:
            return
        self._note(draft_id, text)
        try:
            path = await self._sender.locate(recipient, draft_id)
        except ClawError:
            return
        await self._api.cosmetic("PATCH", path, silent_body(text))

    async def cancel(self, recipient: str, draft_id: str) -> None:
        """Take a draft away; one that is gone is taken away."""
        self._shown.pop(draft_id, None)
        path = await self._sender.locate(recipient, draft_id)
        try:
            await self._api.call("DELETE", path)
        except RefusedError as error:
            if error.code != GONE:
                raise

    async def finalize(self, recipient: str, draft_id: str, text: str
                       ) -> None:
        """The answer, and no more draft."""
        message = SendMessage(text, recipient)
        for part in self._sender.parts(message):
            await self._sender.part(message, part)
        await self.cancel(recipient, draft_id)

    def _note(self, draft_id: str, text: str) -> None:
        if len(self._shown) >= _MOST:
            self._shown.clear()
        self._shown[draft_id] = (text, self._clock())


def _fit(text: str) -> str:
    """As much of a text as one message holds; no address in it is a
    link."""
    return next(iter(split_markdown(text, links=())), "")
