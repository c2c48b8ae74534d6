"""What is known of channels and servers: which are threads, which roles are
the bot's own.

A new session brings all of it (GUILD_CREATE); a resumed one in a new
process brings nothing, so what is not known is asked for once.
"""

from typing import Any

from claw.channels.discord.api import Api
from claw.channels.discord.wire import THREADS, Message, is_id
from claw.core.errors import RequestRefusedError, UnavailableError

_MOST = 10_000
_HIDDEN = -1  # the type of a channel that we may not look at


class Rooms:
    """The rooms of one bot."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._types: dict[str, int] = {}
        self._roles: dict[str, tuple[str, ...]] = {}

    def note(self, channel: Any) -> None:
        """A channel or a thread, as an event shows it."""
        if isinstance(channel, dict) and is_id(channel.get("id")) \
                and isinstance(channel.get("type"), int):
            if len(self._types) >= _MOST:
                self._types.clear()
            self._types[channel["id"]] = channel["type"]

    def note_guild(self, guild: dict[str, Any], bot_id: str) -> None:
        for channel in list_channels(guild):
            self.note(channel)
        if isinstance(guild.get("roles"), list):
            self._note_roles(str(guild.get("id")), guild["roles"], bot_id)

    async def find_thread(self, message: Message) -> str | None:
        """The message's channel, where that is a thread."""
        chat = message.channel_id
        if message.guild_id is None:
            return None
        kind = message.channel_type
        if kind is None:
            kind = self._types.get(chat)
        if kind is None:
            kind = await self._ask(chat)
        return chat if kind in THREADS else None

    async def find_roles(self, guild_id: str, bot_id: str
                         ) -> tuple[str, ...]:
        """The roles that are the bot's own: people mention them for it."""
        if guild_id not in self._roles:
            try:
                found = await self._api.call(
                    "GET", f"/guilds/{guild_id}/roles", timeout_s=10.0)
            except UnavailableError:
                return ()
            self._note_roles(guild_id, found, bot_id)
        return self._roles[guild_id]

    async def _ask(self, chat: str) -> int | None:
        try:
            self.note(await self._api.call("GET", f"/channels/{chat}",
                                           timeout_s=10.0))
        except RequestRefusedError:
            self.note({"id": chat, "type": _HIDDEN})
        except UnavailableError:
            return None
        return self._types.get(chat)

    def _note_roles(self, guild_id: str, roles: Any, bot_id: str) -> None:
        if len(self._roles) >= _MOST:
            self._roles.clear()
        self._roles[guild_id] = tuple(
            role["id"] for role in roles if isinstance(role, dict)
            and is_id(role.get("id")) and isinstance(role.get("tags"), dict)
            and role["tags"].get("bot_id") == bot_id) \
            if isinstance(roles, list) else ()


def list_channels(guild: dict[str, Any]) -> list[dict[str, Any]]:
    """The channels and open threads of a GUILD_CREATE."""
    lists = (guild.get("channels"), guild.get("threads"))
    return [channel for found in lists if isinstance(found, list)
            for channel in found
            if isinstance(channel, dict) and is_id(channel.get("id"))]
