"""ImessageChannel: the contract of core/channel.py over Messages on a Mac.

What the platform is stands here; the parts that speak to it load when a
channel is made.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.imessage.settings import SETUP, ImessageSettings
from claw.channels.sending import PartChannel
from claw.core.abilities import Doubt, Finding, TakesReplies
from claw.core.channel import (
    Capabilities,
    ChannelDeps,
    Inbox,
    Part,
    SendMessage,
)

if TYPE_CHECKING:
    from claw.channels.imessage.mac import Mac
    from claw.channels.imessage.outgoing import Sender
    from claw.channels.imessage.rows import Row


class ImessageChannel(PartChannel):
    """Messages of the user who runs claw. Elsewhere than on a Mac making it
    is a ConfigError. `mac` is another machine, in tests."""

    name = "imessage"
    Settings = ImessageSettings
    capabilities = Capabilities(list_back=True, several_connections=False,
                                private_chat_is_person=True)
    setup = SETUP
    first_setting = "allowed_users '[\"+15551234567\"]'"
    example_recipient = "+15551234567"
    guidance = """## Writing for iMessage

- Plain text: Markdown is not shown. Short lines, no headings, no tables.
- Be brief, as people are on a phone.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:path], [DOCUMENT:path], [VIDEO:path] or [AUDIO:path].
- Do not describe your tool calls. Give the result."""

    _sender: "Sender"

    def __init__(self, settings: ImessageSettings, deps: ChannelDeps, *,
                 mac: "Mac | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        import asyncio

        from claw.channels.imessage.database import Database
        from claw.channels.imessage.intake import Intake
        from claw.channels.imessage.listener import Listener
        from claw.channels.imessage.mac import Mac
        from claw.channels.imessage.outgoing import Sender
        self.settings = settings
        self._mac = mac or Mac()
        self._mac.check()
        self._database = Database(self._mac)
        sleep = sleep or asyncio.sleep
        self._sender = Sender(self._mac, self._database, deps, sleep=sleep,
                              now=now)
        self._intake = Intake(settings, deps, self._mac, self._database,
                              self._reply, name=self.name, clock=clock,
                              sleep=sleep)
        self._listener = Listener(self._database, self._intake, deps,
                                  settings.poll_secs, sleep=sleep,
                                  clock=clock, now=now)
        self._inbox: Inbox | None = None

    @property
    def poll_time_s(self) -> float:
        return 20.0 + self.settings.poll_secs  # a file may be waited for

    @property
    def account(self) -> str:
        return f"imessage:{self._database.path}"

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        self._inbox = inbox
        await self._listener.run(inbox)

    async def _reply(self, row: "Row", text: str) -> None:
        """What the channel says of its own."""
        from claw.channels.imessage.outgoing import reply_key
        message = SendMessage(text, row.reply_target)
        for part in self.parts(message):
            if isinstance(self._inbox, TakesReplies):
                await self._inbox.reply(reply_key(row), message, part)
            else:
                await self.send_part(message, part)

    def mark_repeated(self, part: Part, note: str) -> Part:
        return self._sender.mark(part, note)

    async def catch_up(self) -> None:
        """What people write has no part in the ids of our messages."""

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        return await self._sender.find(doubt)

    # -- health

    async def health_check(self) -> bool:
        import asyncio
        return await works(asyncio.to_thread(self._database.newest))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.imessage.diagnose import diagnose
        return await diagnose(self._mac, self._database,
                              self._intake.door.allowed)
