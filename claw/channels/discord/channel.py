"""DiscordChannel: the contract of core/channel.py over gateway and REST.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.discord.nonces import KEY_HOLDS_S
from claw.channels.discord.settings import SETUP, DiscordSettings
from claw.core.abilities import Doubt, Finding
from claw.core.channel import (
    Capabilities,
    Channel,
    ChannelDeps,
    Inbox,
    Part,
    SendMessage,
)

if TYPE_CHECKING:
    import httpx

_HEALTH_S = 5.0
_SILENT_S = 45.0  # a heartbeat is answered every 41


class DiscordChannel(Channel):
    """One bot. Parts, looking for them, one connection at a time, closing
    and diagnosis included; nothing is asked of the network before the first
    call. `now` is Unix seconds."""

    name = "discord"
    Settings = DiscordSettings
    capabilities = Capabilities(
        edit=True, list_back=True, key_holds_s=KEY_HOLDS_S,
        several_connections=False, identity_change=True)
    setup = SETUP
    first_setting = "bot_token"
    example_recipient = "123456789012345678"
    guidance = """## Writing for Discord

- **bold**, *italic*, ~~struck~~, `code`, fenced code with its language, \
lists and quotes are shown as such; there are no tables.
- Be brief. A message holds 2,000 characters; longer answers are split.
- <@123> is a person, <#123> a channel. Nobody is notified of a mention.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:target], [DOCUMENT:target], [VIDEO:target], [AUDIO:target] or \
[VOICE:target]; the target is a path or a URL.
- Do not describe your tool calls. Give the result."""

    def __init__(self, settings: DiscordSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        from claw.channels.discord.api import Api
        from claw.channels.discord.drafts import Drafts
        from claw.channels.discord.intake import Intake
        from claw.channels.discord.listener import Listener
        from claw.channels.discord.outgoing import Sender
        from claw.channels.discord.rooms import Rooms
        from claw.channels.discord.sent import Finder
        from claw.channels.discord.session import Session
        from claw.channels.discord.signs import Signs
        self.settings = settings
        self._api = Api(settings.bot_token, settings.api_base_url,
                        log=deps.log, proxy_url=settings.proxy_url,
                        transport=transport, sleep=sleep, clock=clock,
                        now=now)
        now = self._api.server_time
        self._sender = Sender(self._api, deps, now)
        self._drafts = Drafts(self._api, self._sender, clock)
        self._signs = Signs(self._api, self._sender, clock)
        self._finder = Finder(self._api, self._sender)
        rooms = Rooms(self._api)
        self._intake = Intake(settings, deps, self._api, rooms, clock=clock,
                              now=now)
        self._listener = Listener(
            self._api, self._intake, rooms,
            Session(deps.marks, self._api.account), self._sender,
            settings.allowed_users, log=deps.log, clock=clock, now=now)

    @property
    def poll_time_s(self) -> float:
        """The longest silence of a connection that is well."""
        return max(_SILENT_S, self._listener.heartbeat_s)

    @property
    def account(self) -> str:
        return f"discord:{self._api.account}"

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._listener.run(inbox)

    def parts(self, message: SendMessage) -> list[Part]:
        return self._sender.parts(message)

    def poll_part(self, message: SendMessage) -> Part | None:
        return self._sender.poll_part(message)

    async def send_part(self, message: SendMessage, part: Part
                        ) -> str | None:
        return await self._sender.part(message, part)

    async def send(self, message: SendMessage) -> None:
        for part in self.parts(message):
            await self._sender.part(message, part)

    async def send_part_telling(self, message: SendMessage, part: Part,
                                leaving: Callable[[], None]) -> str | None:
        from claw.net.http import tell_leaving
        with tell_leaving(leaving):
            return await self._sender.part(message, part)

    def mark_repeated(self, part: Part, note: str) -> Part:
        from claw.channels.discord.parts import mark
        return mark(part, note)

    async def catch_up(self) -> None:
        """History needs nothing of what people wrote."""

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        return await self._finder.find(doubt)

    # -- drafts, typing and reactions

    def supports_draft_updates(self) -> bool:
        return self.settings.stream_mode == "partial"

    def preview_id(self, recipient: str, message_id: str) -> str | None:
        """None: a draft is a message, though never the answer."""
        return None

    async def send_draft(self, message: SendMessage) -> str | None:
        return await self._drafts.send(message)

    async def update_draft(self, recipient: str, message_id: str,
                           text: str) -> None:
        await self._drafts.update(recipient, message_id, text)

    async def finalize_draft(self, recipient: str, message_id: str,
                             text: str) -> None:
        await self._drafts.finalize(recipient, message_id, text)

    async def cancel_draft(self, recipient: str, message_id: str) -> None:
        await self._drafts.cancel(recipient, message_id)

    async def start_typing(self, recipient: str) -> None:
        await self._signs.type(recipient)

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._signs.react(channel_id, message_id, emoji)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.remove_reaction(channel_id, message_id, emoji)

    async def clear_buttons(self, recipient: str, message_id: str) -> None:
        await self._signs.clear_buttons(recipient, message_id)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.me(timeout_s=_HEALTH_S))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.discord.diagnose import diagnose
        return await diagnose(self._api, self._intake.door.allowed)
