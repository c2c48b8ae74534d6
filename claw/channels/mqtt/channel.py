"""MqttChannel: the contract of core/channel.py over an MQTT 5 broker.

What the platform is stands here; the parts that speak to it load when a
channel is made.
"""

from collections.abc import Callable

from claw.channels.connection import works
from claw.channels.mqtt.settings import SETUP, MqttSettings
from claw.core.abilities import Finding
from claw.core.channel import (
    Capabilities,
    Channel,
    ChannelDeps,
    Inbox,
    Part,
    SendMessage,
)


class MqttChannel(Channel):
    """One client at one broker; nothing is asked of the network before the
    first call. Several hosts listen where each has a client_id of its own
    and all one `share_group`."""

    name = "mqtt"
    Settings = MqttSettings
    setup = SETUP
    # The broker does not look at our keys: see outgoing.py.
    capabilities = Capabilities(several_connections=False)
    first_setting = "broker_url mqtts://HOST"
    example_recipient = "claw/ask/mina/reply"
    guidance = """## Writing over MQTT

- The reader is a person at a small display, or a program: plain text, \
brief, without headings and tables.
- Files can't be sent here: say where they are."""

    def __init__(self, settings: MqttSettings, deps: ChannelDeps) -> None:
        from claw.channels.mqtt.account import Account
        from claw.channels.mqtt.intake import Intake
        from claw.channels.mqtt.listener import Listener
        from claw.channels.mqtt.sender import Sender
        self.settings = settings
        self._account = Account(settings, deps.marks)
        self._intake = Intake(settings, deps)
        self._listener = Listener(settings, deps, self._intake,
                                  self._account, self.send)
        self._sender = Sender(settings, self._account, self._listener,
                              deps.log)

    @property
    def poll_time_s(self) -> float:
        return float(self.settings.keep_alive_secs)

    @property
    def account(self) -> str:
        return (f"mqtt:{self._account.address.where}:"
                f"{self._account.client_id}")

    async def aclose(self) -> None:
        await self._sender.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        await self._listener.run(inbox)

    def parts(self, message: SendMessage) -> list[Part]:
        from claw.channels.mqtt.outgoing import make_parts
        return make_parts(message)

    async def send(self, message: SendMessage) -> None:
        for part in self.parts(message):
            await self.send_part(message, part)

    async def send_part(self, message: SendMessage, part: Part) -> None:
        await self._sender.send(message, part, lambda: None)

    async def send_part_telling(self, message: SendMessage, part: Part,
                                leaving: Callable[[], None]) -> None:
        await self._sender.send(message, part, leaving)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._log_in())

    async def _log_in(self) -> None:
        link = self._account.make_other()
        try:
            await link.open()
        finally:
            await link.close()

    async def diagnose(self) -> list[Finding]:
        from claw.channels.mqtt.diagnose import diagnose
        return await diagnose(
            self.settings, self._account, self._intake.door.allowed,
            conflict=self._listener.connection.conflict)
