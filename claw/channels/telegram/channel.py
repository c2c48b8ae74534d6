"""TelegramChannel: the contract of core/channel.py over the Bot API.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.telegram.settings import SETUP, TelegramSettings
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


class TelegramChannel(Channel):
    """One bot. Parts, looking for them, polling, closing and diagnosis
    included; nothing is asked of the network before the first call."""

    name = "telegram"
    Settings = TelegramSettings
    capabilities = Capabilities(edit=True, list_back=True,
                                several_connections=False,
                                identity_change=True,
                                private_chat_is_person=True)
    setup = SETUP
    first_setting = "bot_token"
    example_recipient = "12345"
    reactions_replace = True  # a bot has one reaction to a message
    keeps_tool_names = False
    guidance = """## Writing for Telegram

- **bold**, *italic*, `code` and fenced code are shown as such; for a \
heading write a bold line, never #.
- Be brief, without filler, and use emoji sparingly.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:target], [DOCUMENT:target], [VIDEO:target], [AUDIO:target] or \
[VOICE:target]; the target is a path or a URL.
- Do not describe your tool calls. Give the result."""

    def __init__(self, settings: TelegramSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        from claw.channels.telegram.api import BotApi
        from claw.channels.telegram.drafts import Drafts
        from claw.channels.telegram.intake import Intake
        from claw.channels.telegram.outgoing import Sender
        from claw.channels.telegram.poll import Poller
        from claw.channels.telegram.sent import Finder
        from claw.channels.telegram.signs import Signs
        self.settings = settings
        self._real_network = transport is None
        self._api = BotApi(
            settings.bot_token, settings.api_base_url,
            poll_s=settings.poll_timeout_secs, log=deps.log,
            carry_over=deps.carry_over,
            proxy_url=settings.proxy_url, transport=transport, sleep=sleep,
            clock=clock)
        self._sender = Sender(self._api, deps)
        self._drafts = Drafts(
            self._api, self._sender, clock=clock,
            interval_s=settings.draft_update_interval_ms / 1000)
        self._signs = Signs(self._api)
        self._intake = Intake(settings, deps, self._api, clock=clock)
        self._poller = Poller(self._api, self._intake, log=deps.log,
                              clock=clock)
        self._finder = Finder(self._api, self._poller.caught_up)

    @property
    def poll_time_s(self) -> float:
        return float(self.settings.poll_timeout_secs)

    @property
    def account(self) -> str:
        return f"telegram:{self._api.account}"

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._poller.run(inbox)

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
        from claw.channels.telegram.sent import mark
        return mark(part, note)

    async def catch_up(self) -> None:
        await self._finder.catch_up()

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        return await self._finder.find(doubt)

    # -- drafts, typing and reactions

    def supports_draft_updates(self) -> bool:
        return self.settings.stream_mode == "partial"

    def preview_id(self, recipient: str, message_id: str) -> str | None:
        return self._drafts.preview_id(recipient, message_id)

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
        await self._signs.react(message_id, emoji)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.remove_reaction(message_id, emoji)

    async def clear_buttons(self, recipient: str, message_id: str) -> None:
        await self._signs.clear_buttons(recipient, message_id)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.me(timeout_s=_HEALTH_S, fresh=True))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.telegram.diagnose import diagnose
        return await diagnose(
            self._api, self._intake.door.allowed,
            conflict=self._poller.link.conflict,
            direct=self._real_network and not self.settings.proxy_url)
