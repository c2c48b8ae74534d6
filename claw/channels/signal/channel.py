"""SignalChannel: the contract of core/channel.py over signal-cli's daemon.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.sending import PartChannel
from claw.channels.signal.settings import SETUP, SignalSettings
from claw.core.abilities import Finding
from claw.core.channel import (
    Capabilities,
    ChannelDeps,
    Inbox,
    Part,
)

if TYPE_CHECKING:
    import httpx

_HEALTH_S = 10.0


class SignalChannel(PartChannel):
    """One account. Nothing is asked of the network before the first call.
    The daemon gives every listener every message: one listens at a time."""

    name = "signal"
    Settings = SignalSettings
    # An edit rings nobody's phone, but a draft of ours would: no drafts.
    capabilities = Capabilities(several_connections=False,
                                identity_change=True,
                                private_chat_is_person=True)
    setup = SETUP
    first_setting = "account +NUMBER"
    example_recipient = "+4915112345678"
    reactions_replace = True
    guidance = """## Writing for Signal

- **bold**, *italic*, ~~struck~~ and `code` are shown as such; for a heading \
write a bold line, never #. There are no tables.
- Be brief: a long answer comes as several messages.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:path], [DOCUMENT:path], [VIDEO:path], [AUDIO:path] or [VOICE:path].
- Do not describe your tool calls. Give the result."""

    def __init__(self, settings: SignalSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 silence_s: float = 45.0) -> None:
        from claw.channels.signal.api import SignalApi
        from claw.channels.signal.intake import Intake
        from claw.channels.signal.listen import Listener
        from claw.channels.signal.outgoing import Sender
        from claw.channels.signal.signs import Signs
        self.settings = settings
        self._api = SignalApi(settings, deps.log, transport=transport,
                              sleep=sleep, clock=clock, silence_s=silence_s)
        self._intake = Intake(settings, deps, self._api, clock=clock)
        self._sender = Sender(self._api, deps, self._intake.texts)
        self._signs = Signs(self._api)
        self._listener = Listener(self._api, self._intake, deps)

    @property
    def poll_time_s(self) -> float:
        return self._api.silence_s

    @property
    def account(self) -> str:
        from claw.net.errors import extract_host
        return f"signal:{extract_host(self._api.url)}:{self._api.account}"

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._listener.run(inbox)

    def mark_repeated(self, part: Part, note: str) -> Part:
        from claw.channels.signal.outgoing import mark
        return mark(part, note)

    # -- typing and reactions

    async def start_typing(self, recipient: str) -> None:
        await self._signs.type(recipient, on=True)

    async def stop_typing(self, recipient: str) -> None:
        await self._signs.type(recipient, on=False)

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._signs.react(channel_id, message_id, emoji)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.react(channel_id, message_id, emoji, remove=True)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.version(timeout_s=_HEALTH_S))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.signal.diagnose import diagnose
        return await diagnose(self._api, self._intake.door.allowed)
