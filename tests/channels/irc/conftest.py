"""A bot against the fake server."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from claw.channels.irc import IrcChannel, IrcSettings
from claw.channels.irc.session import Patience
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import Kept, until
from claw.testing.fake_irc import FakeIrc

PASSWORD = "a-password-of-the-fake"
FAST = Patience(silence_s=0.3, answer_s=0.5, register_s=2.0, motd_s=0.3,
                identify_s=0.5)


class Bot:
    """A channel and what surrounds it; `make` gives another process's."""

    def __init__(self, server, folder):
        self.server = server
        self.folder = folder
        self.marks = Marks()
        self.logs = []
        self.remembered = []
        self.inbox = Kept()
        self.channel = None

    def make(self, patience=FAST, **settings):
        def remember(person):
            self.remembered.append(person)
            return True

        settings = {"allowed_users": ("alice",), "sasl_password": PASSWORD,
                    "flood_secs": 0.0, "use_tls": False, **settings}
        self.channel = IrcChannel(
            IrcSettings(server="127.0.0.1", port=self.server.port,
                        **settings),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=lambda event, **f: self.logs.append((event, f)),
                        remember=remember, marks=self.marks),
            patience=patience)
        return self.channel

    @asynccontextmanager
    async def listening(self, **settings):
        """A channel that listens, there and in its channels; as in a
        supervisor it begins again after errors."""
        channel = self.make(**settings)

        async def run():
            while True:
                try:
                    await channel.listen(self.inbox)
                except Exception as error:
                    self.logs.append(("ended", {"error": repr(error)}))
                await asyncio.sleep(0.05)

        task = asyncio.create_task(run())
        try:
            await until(lambda: channel._client.current)
            await until(lambda: channel._client._held is None)
            yield channel
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=5)
            await channel.aclose()

    async def hears(self, count=1):
        """So many messages, and no more."""
        await until(lambda: len(self.inbox.messages) >= count)
        await asyncio.sleep(0.05)
        assert len(self.inbox.messages) == count
        return self.inbox.messages

    async def send(self, text, to="account:alice"):
        await self.channel.send(SendMessage(text, to))

    @property
    def said(self):
        """What the bot said, as (target, text)."""
        return [(s.target, s.text) for s in self.server.sent]

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]


@pytest.fixture
def server():
    with FakeIrc() as running:
        yield running
        running.frozen = False
        assert running.problems == []


@pytest.fixture
def plain():
    """A server without capabilities and accounts."""
    with FakeIrc(caps=()) as running:
        running.people = {"alice": "", "mallory": ""}
        yield running


@pytest.fixture
def bot(server, tmp_path):
    return Bot(server, tmp_path)


@pytest.fixture
def plain_bot(plain, tmp_path):
    return Bot(plain, tmp_path)
