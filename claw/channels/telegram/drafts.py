"""Answers that grow. The answer itself is always a message of its own.

A private chat gets a preview (sendMessageDraft): it rings nobody, the next
message of the bot takes it away, and so do 30 seconds. A group gets a silent
message that is edited, and deleted after the answer.

Whatever goes wrong here costs no answer anything: a limit (429) stops the
drafts alone, and a chat whose server refuses them has none.
Source: core.telegram.org/bots/api#sendmessagedraft, 10.1.
"""

import hashlib
from collections.abc import Callable

from claw.channels.gate import RateGate
from claw.channels.telegram.api import BotApi
from claw.channels.telegram.entities import (
    TEXT_UNITS,
    cut_units,
    disarm_entities,
)
from claw.channels.telegram.outgoing import Sender, parse_number
from claw.channels.telegram.parts import parse_recipient
from claw.core.channel import SendMessage
from claw.core.errors import RequestRefusedError
from claw.core.value import Value

SHOW_AGAIN_S = 15.0  # a preview of this age is worth a call
_PREVIEW = "preview:"
_MOST = 1000


class _Shown(Value):
    """What a draft shows, since when."""

    draft_id: str
    text: str
    at: float


class Drafts:
    """The growing answers of one bot; `interval_s` is the least time
    between two updates in one chat."""

    def __init__(self, api: BotApi, sender: Sender, *, interval_s: float,
                 clock: Callable[[], float]) -> None:
        self._api = api
        self._sender = sender
        self._interval_s = interval_s
        self._clock = clock
        self._gate = RateGate(clock)
        self._updated: dict[str, float] = {}  # chat -> when
        self._shown: dict[str, _Shown] = {}  # recipient -> its last draft
        self._refused: set[tuple[str, str]] = set()

    def preview_id(self, recipient: str, message_id: str) -> str | None:
        """In a private chat, whatever is killed, the same for the same
        message; None elsewhere."""
        if not is_private(recipient):
            return None
        digest = hashlib.blake2b(message_id.encode(), digest_size=4).digest()
        number = int.from_bytes(digest) & 0x7fff_ffff
        return f"{_PREVIEW}{number or 1}"

    async def send(self, message: SendMessage) -> str:
        """A draft that begins with this text; its id. The first update
        waits for its interval, too."""
        preview = self.preview_id(message.recipient, repr(self._clock()))
        if preview is not None:
            await self.update(message.recipient, preview, message.content)
            return preview
        draft_id = await self._sender.send_silently(message)
        self._note(message.recipient, draft_id, message.content)
        return draft_id

    async def update(self, recipient: str, draft_id: str, text: str) -> None:
        """Show a growing text, as far as one message holds it. At most one
        update per interval and chat, none while the server asks for peace;
        the next one brings what was left out. What stands in the chat is
        not shown again, but for a preview that will soon be gone."""
        text = cut_units(text, TEXT_UNITS)
        if not text.strip() or not self._is_due(recipient, draft_id, text):
            return
        chat, thread = parse_recipient(recipient)
        params = {"chat_id": chat, "text": text,
                  "entities": disarm_entities(text, (), ()) or None}
        self._note(recipient, draft_id, text)
        number = parse_number(draft_id.removeprefix(_PREVIEW))
        if draft_id.startswith(_PREVIEW):
            error = await self._api.cosmetic("sendMessageDraft", {
                **params, "message_thread_id": thread, "draft_id": number
            }, self._gate)
        else:
            error = await self._api.cosmetic("editMessageText", {
                **params, "message_id": number}, self._gate)
        if error is None or "message is not modified" in \
                error.message.lower():
            return
        self._shown.pop(recipient, None)  # it may be offered again
        if isinstance(error, RequestRefusedError):
            if len(self._refused) >= _MOST:
                self._refused.clear()
            self._refused.add(_find_subject(recipient, draft_id))

    def _is_due(self, recipient: str, draft_id: str, text: str) -> bool:
        chat, now = recipient.partition(":")[0], self._clock()
        shown = self._shown.get(recipient)
        if shown is not None and (shown.draft_id, shown.text) == (
                draft_id, text) and not (
                    draft_id.startswith(_PREVIEW)
                    and now - shown.at >= SHOW_AGAIN_S):
            return False
        return (_find_subject(recipient, draft_id) not in self._refused
                and now - self._updated.get(chat, float("-inf"))
                >= self._interval_s)

    def _note(self, recipient: str, draft_id: str, text: str) -> None:
        for kept in (self._shown, self._updated):
            if len(kept) >= _MOST:
                kept.clear()
        now = self._clock()
        self._updated[recipient.partition(":")[0]] = now
        self._shown[recipient] = _Shown(draft_id, text, now)

    async def cancel(self, recipient: str, draft_id: str) -> None:
        """Take a draft away; a preview goes by itself."""
        if not draft_id.startswith(_PREVIEW):
            await self._sender.delete(recipient, draft_id)

    async def finalize(self, recipient: str, draft_id: str, text: str
                       ) -> None:
        """The answer, and no more draft."""
        message = SendMessage(text, recipient)
        for part in self._sender.parts(message):
            await self._sender.part(message, part)
        await self.cancel(recipient, draft_id)


def _find_subject(recipient: str, draft_id: str) -> tuple[str, str]:
    """What a refusal is about: previews in this chat, or one message."""
    return recipient, _PREVIEW if draft_id.startswith(_PREVIEW) else draft_id


def is_private(recipient: str) -> bool:
    """Whether this is a chat with one person, whose id it then is."""
    chat, _ = parse_recipient(recipient)
    return isinstance(chat, int) and chat > 0
