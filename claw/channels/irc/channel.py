"""IrcChannel: the contract of core/channel.py over one IRC connection.

What the platform is stands here; the parts that speak to it load when a
channel is made.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from claw.channels.connection import works
from claw.channels.irc.settings import SETUP, IrcSettings
from claw.core.abilities import Doubt, Finding
from claw.core.channel import (
    Capabilities,
    Channel,
    ChannelDeps,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.errors import ClawError

if TYPE_CHECKING:
    from claw.channels.irc.session import Patience

HEALTH_S = 8.0


class IrcChannel(Channel):
    """One nick on one network."""

    name = "irc"
    Settings = IrcSettings
    capabilities = Capabilities(list_back=True, several_connections=False,
                                private_chat_is_person=True)
    setup = SETUP
    first_setting = "server irc.example.org"
    example_recipient = "#channel"
    guidance = """## Writing for IRC

- Plain text in short lines; Markdown is not shown. No tables, no headings, \
no code fences.
- Every line is a message that everybody in the channel hears of, and they \
come slowly: give the answer in one to five lines.
- Files can't be sent."""

    def __init__(self, settings: IrcSettings, deps: ChannelDeps, *,
                 patience: "Patience | None" = None) -> None:
        from claw.channels.irc.client import Client
        from claw.channels.irc.history import History
        from claw.channels.irc.intake import Intake
        from claw.channels.irc.people import People
        from claw.channels.irc.session import Patience
        self.settings = settings
        self._people = People(settings, deps.marks)
        self._intake = Intake(settings, deps, self._people)
        self._history = History(deps.marks, deps.log)
        self._client = Client(settings, deps, self._history,
                              patience or Patience())

    @property
    def poll_time_s(self) -> float:
        return 90.0  # a silent server is asked after one minute

    @property
    def account(self) -> str:
        s = self.settings
        return f"irc:{s.server.lower()}:{s.port}:{s.nickname.lower()}"

    async def aclose(self) -> None:
        await self._client.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        self._intake.door.open_pairing()
        await self._client.listen(inbox, self._intake, self.send)

    def parts(self, message: SendMessage) -> list[Part]:
        from claw.channels.irc.outgoing import make_parts
        return make_parts(message)

    async def send_part(self, message: SendMessage, part: Part
                        ) -> str | None:
        return await self.send_part_telling(message, part, lambda: None)

    async def send_part_telling(self, message: SendMessage, part: Part,
                                leaving: Callable[[], None]) -> str | None:
        from claw.channels.irc.outgoing import send_line
        session = await self._client.get()
        return await send_line(session, self._people, message.recipient,
                               part.text, leaving)

    async def send(self, message: SendMessage) -> None:
        for part in self.parts(message):
            await self.send_part(message, part)

    async def catch_up(self) -> None:
        """Nothing to wait for: others' lines are no answer to a doubt."""

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        session = await self._client.get()
        target = await self._people.find(session, doubt.message.recipient)
        return await self._history.find_sent(session, target, doubt)

    # -- signs and health

    async def start_typing(self, recipient: str) -> None:
        await self._type(recipient, "active")

    async def stop_typing(self, recipient: str) -> None:
        await self._type(recipient, "done")

    async def _type(self, recipient: str, state: str) -> None:
        """A line that nobody waits for: only where one is to spare."""
        session = self._client.current
        if session is None or not session.has_room \
                or "message-tags" not in session.caps:
            return
        from claw.channels.irc.line import write_line
        with suppress(ClawError, ValueError):
            target = self._people.guess(session, recipient)
            session.post(write_line("TAGMSG", target,
                                    tags={"+typing": state}))

    async def health_check(self) -> bool:
        """Whether there is a connection, or one can be made; that it is
        still one its own pings tell."""
        from asyncio import timeout
        with suppress(TimeoutError):
            async with timeout(HEALTH_S):
                return await works(self._client.get())
        return False

    async def diagnose(self) -> list[Finding]:
        from claw.channels.irc.diagnose import diagnose
        return await diagnose(self.settings, self._client,
                              self._intake.door.allowed, self._people)
