"""Answers that grow: a placeholder, edits at intervals, the end."""

from collections.abc import Callable

from claw.channels.telegram.api import BotApi
from claw.channels.telegram.entities import TEXT_UNITS, disarm_text
from claw.channels.telegram.outgoing import Sender, parse_number
from claw.channels.telegram.parts import parse_recipient
from claw.core.channel import SendMessage
from claw.core.errors import NotFoundError, RequestRefusedError
from claw.core.log import Log

_MOST = 1000


class Drafts:
    """The growing answers of one bot; `interval_s` is the least time
    between two edits of one."""

    def __init__(self, api: BotApi, sender: Sender, *, interval_s: float,
                 log: Log, clock: Callable[[], float]) -> None:
        self._api = api
        self._sender = sender
        self._interval_s = interval_s
        self._log = log
        self._clock = clock
        # Of each chat: when its draft was edited, its id and text.
        self._shown: dict[str, tuple[float, str, str]] = {}

    async def send(self, message: SendMessage) -> str:
        """The first edit waits for its interval, too: an answer that
        comes at once needs none."""
        message_id = await self._sender.placeholder(message)
        self._note(message.recipient, message_id, "")
        return message_id

    async def update(self, recipient: str, message_id: str, text: str
                     ) -> None:
        """Show a growing text, as far as one message holds it. At most one
        edit per interval and chat, none while the gate is closed; the next
        one, or the end, brings what was left out."""
        units = text.encode("utf-16-le", "surrogatepass")[:TEXT_UNITS * 2]
        text = units.decode("utf-16-le", "ignore")  # no character halved
        chat, _ = parse_recipient(recipient)
        last, *before = self._shown.get(recipient, (float("-inf"), "", ""))
        if not text.strip() or before == [message_id, text] \
                or self._clock() - last < self._interval_s:
            return
        self._note(recipient, message_id, text)
        error = await self._api.cosmetic("editMessageText", {
            "chat_id": chat, "message_id": parse_number(message_id),
            "text": text, "entities": disarm_text(text, (), ()) or None})
        if error is not None:  # not shown: it may be offered again
            self._note(recipient, message_id, "")

    def _note(self, recipient: str, message_id: str, text: str) -> None:
        if len(self._shown) >= _MOST:
            self._shown.clear()
        self._shown[recipient] = (self._clock(), message_id, text)

    async def finalize(self, recipient: str, message_id: str, text: str
                       ) -> None:
        """The answer in the place of its draft, more of it after that; a
        draft that can't be edited goes, so that nothing stands twice."""
        message = SendMessage(text, recipient)
        parts = self._sender.parts(message)
        if not parts or parts[0].kind != "text":
            await self._sender.delete(recipient, message_id)
        else:
            try:
                await self._sender.edit(recipient, message_id, parts[0])
                parts = parts[1:]
            except (NotFoundError, RequestRefusedError) as error:
                self._log("draft_not_edited", message_id=message_id,
                          error=error.message)
                await self._sender.delete(recipient, message_id)
        for part in parts:
            await self._sender.part(message, part)
