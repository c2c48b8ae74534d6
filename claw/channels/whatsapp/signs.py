"""Typing and reactions: what nobody waits for.

Typing is shown for 25 seconds, as the mark that a message was read.
"""

import time
from collections.abc import Callable

from claw.channels.talks import Talks
from claw.channels.whatsapp.api import Api
from claw.channels.whatsapp.parts import parse_recipient
from claw.channels.whatsapp.settings import spell_person
from claw.channels.whatsapp.wire import parse_id
from claw.core.errors import RequestRefusedError

_AGAIN_S = 20.0
_MOST = 1000


class Signs:
    """The signs of one number; none of them raises."""

    def __init__(self, api: Api, talks: Talks, *,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._talks = talks
        self._clock = clock
        self._shown: dict[str, float] = {}

    async def type(self, recipient: str) -> None:
        last = self._talks.last(spell_person(recipient))
        now = self._clock()
        if last is None or now < self._shown.get(last, -_AGAIN_S) + _AGAIN_S:
            return
        if len(self._shown) >= _MOST:
            self._shown.clear()
        self._shown[last] = now
        await self._api.cosmetic({
            "status": "read", "message_id": last,
            "typing_indicator": {"type": "text"}})

    async def react(self, recipient: str, own_id: str, emoji: str) -> None:
        """React to a message; "" takes the reaction away."""
        message_id = parse_id(own_id)
        if message_id is None or (emoji and (
                emoji.isascii() or len(emoji) > 16)):
            return
        try:
            to = parse_recipient(recipient)
        except RequestRefusedError:
            return  # no chat: nobody to show a sign to
        await self._api.cosmetic({
            "recipient_type": "individual", **to, "type": "reaction",
            "reaction": {"message_id": message_id, "emoji": emoji}})
