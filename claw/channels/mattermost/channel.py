"""MattermostChannel: the contract of core/channel.py over REST v4 and its
WebSocket.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.mattermost.settings import SETUP, MattermostSettings
from claw.channels.sending import PartChannel
from claw.core.abilities import Doubt, Finding
from claw.core.channel import (
    Capabilities,
    ChannelDeps,
    Inbox,
    Part,
)

if TYPE_CHECKING:
    import httpx

    from claw.channels.mattermost.outgoing import Sender

_HEALTH_S = 5.0


class MattermostChannel(PartChannel):
    """One bot. Nothing is asked of the network before the first call."""

    name = "mattermost"
    Settings = MattermostSettings
    # The server's 30 s, less what a request may take.
    capabilities = Capabilities(
        edit=True, list_back=True, key_holds_s=25.0, identity_change=True)
    setup = SETUP
    first_setting = "bot_token"
    example_recipient = "@alice"
    guidance = """## Writing for Mattermost

- Markdown is shown: **bold**, *italic*, `code`, fenced code, lists, quotes.
- Be brief, without filler. Tables are shown as they are typed.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:path], [DOCUMENT:path], [VIDEO:path], [AUDIO:path] or [VOICE:path].
- Do not describe your tool calls. Give the result."""

    _sender: "Sender"

    def __init__(self, settings: MattermostSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 ping_s: float = 30.0) -> None:
        from claw.channels.mattermost.api import Api
        from claw.channels.mattermost.intake import Intake
        from claw.channels.mattermost.listen import Listener
        from claw.channels.mattermost.outgoing import Sender
        from claw.channels.mattermost.signs import Signs
        self.settings = settings
        self._api = Api(settings, deps.log, transport=transport, sleep=sleep,
                        clock=clock)
        self._sender = Sender(self._api, deps)
        self._signs = Signs(self._api)
        self._intake = Intake(settings, deps, self._api, clock=clock)
        self._listener = Listener(self._api, self._intake, settings, deps,
                                  clock=clock, ping_s=ping_s)

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._listener.run(inbox)

    def mark_repeated(self, part: Part, note: str) -> Part:
        return self._sender.mark(part, note)

    async def catch_up(self) -> None:
        await self._listener.wait_caught_up()

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        return await self._sender.find(doubt)

    # -- typing and reactions

    async def start_typing(self, recipient: str) -> None:
        await self._signs.type(recipient)

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._signs.react(message_id, emoji)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.remove(message_id, emoji)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.me(timeout_s=_HEALTH_S, fresh=True))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.mattermost.diagnose import diagnose
        return await diagnose(self._api, self._intake.door.allowed,
                              self.settings)
