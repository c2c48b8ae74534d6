"""DingtalkChannel: the contract of core/channel.py over stream mode,
session webhooks and the robot API.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.dingtalk.settings import SETUP, DingtalkSettings
from claw.channels.sending import PartChannel
from claw.core.abilities import Finding
from claw.core.channel import (
    Capabilities,
    ChannelDeps,
    Inbox,
    Part,
)

if TYPE_CHECKING:
    import httpx

    from claw.channels.dingtalk.outgoing import Sender

_HEALTH_S = 5.0


class DingtalkChannel(PartChannel):
    """One robot. Nothing is asked of the network before the first call."""

    name = "dingtalk"
    Settings = DingtalkSettings
    capabilities = Capabilities(private_chat_is_person=True)
    setup = SETUP
    first_setting = "client_id ID"
    example_recipient = "manager807"
    guidance = """## Writing for DingTalk

- **bold**, *italic*, `code`, lists, quotes and [links](https://...) are \
shown; tables are not.
- Be brief, without filler.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:path], [DOCUMENT:path], [VIDEO:path], [AUDIO:path] or [VOICE:path].
- Do not describe your tool calls. Give the result."""

    _sender: "Sender"

    def __init__(self, settings: DingtalkSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time,
                 ping_s: float = 30.0) -> None:
        from claw.channels.dingtalk.api import DingtalkApi
        from claw.channels.dingtalk.intake import Receiver
        from claw.channels.dingtalk.outgoing import Sender
        from claw.channels.dingtalk.sessions import Sessions
        from claw.channels.dingtalk.signs import Signs
        self.settings = settings
        self._api = DingtalkApi(settings, log=deps.log, transport=transport,
                                sleep=sleep, clock=clock)
        sessions = Sessions(deps.marks, self._api.is_session, now)
        self._sender = Sender(self._api, sessions, deps,
                              mentions=settings.mention_sender)
        self._signs = Signs(self._api)
        self._receiver = Receiver(settings, deps, self._api, sessions,
                                  self._sender, clock=clock, now=now,
                                  ping_s=ping_s)

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._receiver.run(inbox)

    def mark_repeated(self, part: Part, note: str) -> Part:
        return self._sender.mark(part, note)

    # -- reactions and health

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._signs.react(message_id, emoji, remove=False)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.react(message_id, emoji, remove=True)

    async def health_check(self) -> bool:
        # No stream: each that is opened and not used is one that DingTalk
        # may wait for.
        return await works(self._api.token(fresh=True, timeout_s=_HEALTH_S))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.dingtalk.diagnose import diagnose
        return await diagnose(self._api, self._receiver.door.allowed,
                              self.settings)
