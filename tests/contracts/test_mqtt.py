"""The MQTT channel against the contract."""

from contextlib import contextmanager

from claw.channels.mqtt import MqttChannel, MqttSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import until
from claw.testing.fake_mqtt import FakeMqtt

TOPIC = "claw/ask/alice"
PASSWORD = "canary-of-the-broker"


class MqttStage(Stage):
    recipient = f"{TOPIC}/reply"
    secret = PASSWORD

    def __init__(self, broker, folder):
        self.broker, self.folder = broker, folder
        self.marks, self.names = Marks(), ["Alice", "Alicia"]
        super().__init__()

    def make(self):
        return MqttChannel(
            MqttSettings(
                broker_url=self.broker.url, username="claw",
                password=PASSWORD, topics=("claw/ask/+",),
                allowed_users=(TOPIC,)),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks))

    async def say(self, text):
        """Whoever writes early waits for the subscription."""
        await self._subscribed()
        self.broker.say(TOPIC, text.encode("utf-8", "replace"),
                        properties={38: [("sender", self.names[0])]})

    async def rename(self):
        self.names.reverse()
        return True

    async def _subscribed(self):
        await until(lambda: any(
            s.filters for s in self.broker.sessions.values()))

    def shown(self):
        return self.broker.texts(self.recipient)

    async def resend(self):
        if self.broker.connections:
            self.broker.kill_connections()

    def acknowledged(self):
        return self.broker.acknowledged()

    def fail(self, how):
        kind, _, code = how.partition(":")
        self.broker.fault(kind, None, code=int(code or "0x87", 16))

    def connections(self):
        return self.broker.connections


class TestMqtt(ChannelContract):
    name = "mqtt"
    failures = ("login:0x86", "login:0x89", "login:0x9F", "garbage",
                "reset", "refuse:0x87", "refuse:0x97", "refuse:0x99")
    drawn = ("id",)

    @contextmanager
    def running(self):
        with FakeMqtt(username="claw", password=PASSWORD) as broker:
            yield MqttStage(broker, self.tmp_path)
            assert broker.problems == []
