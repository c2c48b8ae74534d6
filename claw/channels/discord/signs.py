"""Typing, reactions, buttons that are of no use: what nobody waits for."""

from collections.abc import Callable
from urllib.parse import quote

from claw.channels.discord.api import Api
from claw.channels.discord.messages import parse_id
from claw.channels.discord.outgoing import Sender
from claw.channels.discord.wire import is_id
from claw.core.errors import ClawError

TYPING_S = 8.0  # it is shown for ten
_MOST = 1000


class Signs:
    """The signs of one bot; typing and reactions never raise."""

    def __init__(self, api: Api, sender: Sender,
                 clock: Callable[[], float]) -> None:
        self._api = api
        self._sender = sender
        self._clock = clock
        self._typed: dict[str, float] = {}

    async def type(self, recipient: str) -> None:
        try:
            chat = await self._sender.find_chat(recipient)
        except ClawError:
            return  # no chat: nobody to show a sign to
        now = self._clock()
        if now - self._typed.get(chat, float("-inf")) < TYPING_S:
            return
        if len(self._typed) >= _MOST:
            self._typed.clear()
        self._typed[chat] = now
        await self._api.cosmetic("POST", f"/channels/{chat}/typing")

    async def react(self, chat: str, own_id: str, emoji: str) -> None:
        """React to a message of ours or theirs (`discord_<id>`)."""
        await self._set("PUT", chat, own_id, emoji)

    async def remove_reaction(self, chat: str, own_id: str, emoji: str
                              ) -> None:
        await self._set("DELETE", chat, own_id, emoji)

    async def clear_buttons(self, recipient: str, message_id: str) -> None:
        """Raises RequestRefusedError and UnavailableError."""
        await self._sender.edit(recipient, message_id, {"components": []})

    async def _set(self, method: str, chat: str, own_id: str, emoji: str
                   ) -> None:
        number = parse_id(own_id)
        # An emoji has no letters; a name would be one of a server's own.
        if number is None or not is_id(chat) or not emoji \
                or emoji.isascii() or len(emoji) > 32:
            return
        try:
            sign = quote(emoji, safe="")
        except UnicodeEncodeError:
            return
        await self._api.cosmetic(
            method, f"/channels/{chat}/messages/{number}/reactions/"
                    f"{sign}/@me")
