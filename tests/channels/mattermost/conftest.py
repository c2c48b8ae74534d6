"""A bot against the fake server."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from claw.channels.mattermost import MattermostChannel, MattermostSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import KeepingInbox, run_listener
from claw.testing.fake_mattermost import FakeMattermost


class Bot:
    """A channel with what surrounds it, ready to be driven by a test."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.logs, self.remembered, self.slept = [], [], []
        self.now = 1000.0
        self.workspace = tmp_path / "workspace"
        self.workspace.mkdir()
        self.files = tmp_path / "files"
        self.marks = Marks()
        self.deps = ChannelDeps(
            workspace=self.workspace, files=self.files, log=self._log,
            remember=self._remember, marks=self.marks)

    def _log(self, event, **fields):
        self.logs.append((event, fields))

    def _remember(self, sender):
        self.remembered.append(sender)
        return True

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    def began(self):
        """It was started before, when nothing had been written."""
        self.marks.set("from", "0")
        self.marks.set("at", "0")
        return self

    async def sleep(self, seconds):
        """Time passes at once."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0.002)

    def make(self, *, ping_s=30.0, **given):
        return MattermostChannel(MattermostSettings(**{
            "url": self.platform.url, "bot_token": self.platform.token,
            "allowed_users": ("*", self.platform.alice), **given}),
            self.deps, sleep=self.sleep, clock=lambda: self.now,
            ping_s=ping_s)

    @asynccontextmanager
    async def open(self, **given):
        channel = self.make(**given)
        try:
            yield channel
        finally:
            await channel.aclose()

    @asynccontextmanager
    async def listening(self, channel=None, **given):
        """A channel whose listener runs and has caught up; what it raises
        comes out."""
        async with self.open(**given) as made:
            channel = channel or made
            async with run_listener(channel, self.inbox) as self.listener:
                yield channel

    def hears(self, *texts, count=None, **given):
        """The messages that alice's direct posts become."""
        self.began()

        async def go():
            for text in texts:
                self.platform.post(**({"message": text} if isinstance(
                    text, str) else text))
            async with self.listening(**given):
                await self.settle(len(texts) if count is None else count)
        asyncio.run(go())
        return self.inbox.messages

    async def settle(self, count):
        """Until so many messages are in the inbox, and all was read."""
        await self.platform.until(lambda: self.listener.done() or (
            self.platform.hub.caught_up
            and len(self.inbox.messages) >= count))
        await asyncio.sleep(0.02)

    def sends(self, content="", recipient=None, *, thread_ts=None,
              attachments=(), links=None, **given):
        """Send a message; the bot's posts then."""
        async def go():
            async with self.open(**given) as channel:
                await channel.send(SendMessage(
                    content, recipient or self.platform.channel,
                    thread_ts=thread_ts, attachments=attachments,
                    links=links))
        asyncio.run(go())
        return self.platform.messages()


@pytest.fixture
def platform():
    with FakeMattermost() as running:
        yield running
    assert running.problems == []


@pytest.fixture
def bot(platform, tmp_path):
    made = Bot(platform, tmp_path)
    yield made
    assert platform.token not in repr(made.logs)
