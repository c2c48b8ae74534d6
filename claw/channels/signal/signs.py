"""Typing and reactions: what nobody waits for."""

from claw.channels.signal.api import SignalApi, address
from claw.channels.signal.messages import parse_id, parse_recipient
from claw.core.errors import RequestRefusedError

_TYPING_S = 10.0  # phones show it for 15 s


class Signs:
    """The signs of one account; none of them raises."""

    def __init__(self, api: SignalApi) -> None:
        self._api = api
        self._typing: dict[str, float] = {}  # when it was last said

    async def type(self, recipient: str, *, on: bool) -> None:
        try:
            chat = parse_recipient(recipient)
        except RequestRefusedError:
            return  # no chat: nobody to show a sign to
        now = self._api.clock()
        said = self._typing.pop(chat, None)
        if on:
            due = said is None or now >= said + _TYPING_S
            self._typing[chat] = now if due else said or now
        else:
            due = said is not None
        if due:
            await self._api.cosmetic("sendTyping", {
                **address(chat), **({} if on else {"stop": True})}, chat)

    async def react(self, recipient: str, own_id: str, emoji: str, *,
                    remove: bool = False) -> None:
        target = parse_id(own_id)
        try:
            chat = parse_recipient(recipient)
        except RequestRefusedError:
            return
        if target is not None:
            await self._api.cosmetic("sendReaction", {
                **address(chat), "emoji": emoji, "targetAuthor": target[0],
                "targetTimestamp": target[1],
                **({"remove": True} if remove else {})}, chat)
