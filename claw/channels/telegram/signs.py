"""Typing, reactions, buttons that are of no use: what nobody waits for."""

from claw.channels.telegram.api import BotApi
from claw.channels.telegram.outgoing import parse_number
from claw.channels.telegram.parts import parse_recipient
from claw.channels.telegram.reactions import find_emoji
from claw.channels.telegram.updates import parse_id
from claw.core.errors import ClawError, RequestRefusedError


class Signs:
    """The signs of one bot; typing and reactions never raise."""

    def __init__(self, api: BotApi) -> None:
        self._api = api

    async def type(self, recipient: str) -> None:
        try:
            chat, thread = parse_recipient(recipient)
        except RequestRefusedError:
            return  # no chat: nobody to show a sign to
        params = {"chat_id": chat, "action": "typing"}
        if thread is not None:
            params["message_thread_id"] = thread
        await self._api.cosmetic("sendChatAction", params)

    async def react(self, own_id: str, emoji: str) -> None:
        """React to a message of ours (`telegram_<chat>_<id>`); any other
        id has nothing to react to. Where a chat does not allow this one,
        the one before does not stay either."""
        usable = find_emoji(emoji)
        if usable is None:
            return
        error = await self._set(own_id, [{"type": "emoji", "emoji": usable}])
        if error is not None and "reaction_invalid" in \
                error.message.lower():
            await self._set(own_id, [])

    async def remove_reaction(self, own_id: str, emoji: str) -> None:
        if find_emoji(emoji) is not None:
            await self._set(own_id, [])

    async def clear_buttons(self, recipient: str, message_id: str) -> None:
        """Raises RequestRefusedError and UnavailableError."""
        chat, _ = parse_recipient(recipient)
        try:
            await self._api.call("editMessageReplyMarkup", {
                "chat_id": chat, "message_id": parse_number(message_id),
                "reply_markup": {"inline_keyboard": []}})
        except RequestRefusedError as error:
            if "message is not modified" not in error.message.lower():
                raise

    async def _set(self, own_id: str, reaction: list[dict[str, str]]
                   ) -> ClawError | None:
        found = parse_id(own_id)
        if found is None:
            return None
        return await self._api.cosmetic("setMessageReaction", {
            "chat_id": found[0], "message_id": found[1],
            "reaction": reaction})
