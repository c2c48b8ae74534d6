"""A broker, and MQTT channels with the same marks beside it."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from claw.channels.mqtt import MqttChannel, MqttSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.stage import Kept, close, until
from claw.testing.fake_mqtt import FakeMqtt

ALICE = "claw/ask/alice"


class Place:
    """A broker, and channels with the same marks beside it."""

    def __init__(self, broker, folder):
        self.broker, self.folder = broker, folder
        self.marks, self.logged = Marks(), []
        self.inbox = Kept()

    def make(self, **settings):
        return MqttChannel(MqttSettings(**{
            "broker_url": self.broker.url, "client_id": "claw",
            "topics": ("claw/ask/+",), "allowed_users": (ALICE,),
            **settings}), ChannelDeps(
                workspace=self.folder, files=self.folder, marks=self.marks,
                log=lambda event, **more: self.logged.append((event, more))))

    def events(self, name):
        return [more for event, more in self.logged if event == name]

    @property
    def texts(self):
        return [m.content for m in self.inbox.messages]

    @property
    def session(self):
        return self.broker.sessions.get("claw")

    def is_there(self):
        session = self.session
        return session is not None and session.line and session.filters

    @asynccontextmanager
    async def listening(self, channel=None, **settings):
        channel = channel or self.make(**settings)
        task = asyncio.create_task(channel.listen(self.inbox))
        try:
            await until(lambda: task.done()
                        or channel._listener.working.is_set())
            yield channel
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})
            await close(channel)

    async def hear(self, count):
        await until(lambda: len(self.inbox.messages) >= count)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr("claw.channels.connection._TRY_AGAIN_S", (0.02,))
    with FakeMqtt() as broker:
        yield Place(broker, tmp_path)
        assert broker.problems == []
