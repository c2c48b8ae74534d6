"""SlackChannel: the contract of core/channel.py over Socket Mode and the
Web API.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.sending import PartChannel
from claw.channels.slack.settings import SETUP, SlackSettings
from claw.core.abilities import Doubt, Finding
from claw.core.channel import (
    Capabilities,
    ChannelDeps,
    Inbox,
    Part,
)

if TYPE_CHECKING:
    import httpx

    from claw.channels.slack.outgoing import Sender

_HEALTH_S = 5.0
_CATCH_UP_S = 4.0


class SlackChannel(PartChannel):
    """One bot. Parts, looking for them, closing and diagnosis included;
    nothing is asked of the network before the first call."""

    name = "slack"
    Settings = SlackSettings
    capabilities = Capabilities(edit=True, list_back=True)
    setup = SETUP
    first_setting = "bot_token"
    example_recipient = "C0123456789"
    guidance = """## Writing for Slack

- **bold**, *italic*, `code`, fenced code and [links](https://...) are shown \
as such; for a heading write a bold line, never #. There are no tables.
- Be brief, without filler, and use emoji sparingly.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:target], [DOCUMENT:target], [VIDEO:target], [AUDIO:target] or \
[VOICE:target]; the target is a path.
- Do not describe your tool calls. Give the result."""

    _sender: "Sender"

    def __init__(self, settings: SlackSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time,
                 ping_s: float = 10.0) -> None:
        from claw.channels.slack.api import SlackApi
        from claw.channels.slack.intake import Intake
        from claw.channels.slack.outgoing import Sender
        from claw.channels.slack.receive import Receiver
        from claw.channels.slack.sent import Finder
        from claw.channels.slack.signs import Signs
        self.settings = settings
        self._api = SlackApi(settings, log=deps.log, transport=transport,
                             sleep=sleep, clock=clock, now=now)
        self._sender = Sender(self._api, deps)
        self._finder = Finder(self._api, self._sender)
        self._signs = Signs(self._api, clock)
        self._intake = Intake(settings, deps, self._api, clock=clock,
                              now=now)
        self._receiver = Receiver(self._api, self._intake, self._signs, deps,
                                  clock=clock, ping_s=ping_s)

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._receiver.run(inbox)

    def mark_repeated(self, part: Part, note: str) -> Part:
        from claw.channels.slack.outgoing import mark
        return mark(part, note)

    async def catch_up(self) -> None:
        await self._receiver.caught_up(_CATCH_UP_S)

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        return await self._finder.find(doubt)

    # -- typing, reactions and buttons

    async def start_typing(self, recipient: str) -> None:
        await self._signs.type(recipient)

    async def stop_typing(self, recipient: str) -> None:
        await self._signs.stop(recipient)

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._signs.react(message_id, emoji, remove=False)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.react(message_id, emoji, remove=True)

    async def clear_buttons(self, recipient: str, message_id: str) -> None:
        await self._signs.clear_buttons(
            await self._sender.find_channel(recipient), message_id)

    # -- health

    async def health_check(self) -> bool:
        if self.settings.app_token and not await works(
                self._api.open_socket(timeout_s=_HEALTH_S)):
            return False
        return await works(self._api.me(timeout_s=_HEALTH_S, fresh=True))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.slack.diagnose import diagnose
        return await diagnose(self._api, self._intake, self.settings)
