"""A bot against the fake daemon."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from claw.channels.signal import SignalChannel, SignalSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import KeepingInbox, run_listener
from claw.testing.fake_signal import ACCOUNT, ALICE_ACI, FakeSignal


class Bot:
    """A channel with what surrounds it, ready to be driven by a test."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.logs, self.remembered, self.slept, self.carried = [], [], [], []
        self.now = 1000.0
        self.workspace = tmp_path / "workspace"
        self.workspace.mkdir()
        self.files = tmp_path / "files"
        self.marks = Marks()
        self.deps = ChannelDeps(
            workspace=self.workspace, files=self.files, log=self._log,
            remember=self._remember, marks=self.marks,
            carry_over=lambda old, new: self.carried.append((old, new)))

    def _log(self, event, **fields):
        self.logs.append((event, fields))

    def _remember(self, sender):
        self.remembered.append(sender)
        return True

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    async def sleep(self, seconds):
        """Time passes at once."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0.002)

    def make(self, *, silence_s=45.0, **given):
        return SignalChannel(SignalSettings(**{
            "http_url": self.platform.url, "account": ACCOUNT,
            "allowed_users": ("*", ALICE_ACI), **given}),
            self.deps, sleep=self.sleep, clock=lambda: self.now,
            silence_s=silence_s)

    @asynccontextmanager
    async def open(self, **given):
        channel = self.make(**given)
        try:
            yield channel
        finally:
            await channel.aclose()

    @asynccontextmanager
    async def listening(self, channel=None, **given):
        """A channel whose listener runs and is connected; what it raises
        comes out."""
        async with self.open(**given) as made:
            channel = channel or made
            async with run_listener(channel, self.inbox) as self.listener:
                await self.platform.until(lambda: self.platform.listeners
                                          or self.listener.done())
                yield channel
            # What is handed to one that has just gone is lost.
            await self.platform.until(lambda: not self.platform.listeners)

    def hears(self, *posts, count=None, **given):
        """The messages that posts become: texts, or what `post` takes."""
        async def go():
            async with self.listening(**given):
                for post in posts:
                    self.platform.post(**({"text": post} if isinstance(
                        post, str) else {"text": None, **post}))
                await self.settle(len(posts) if count is None else count)
        asyncio.run(go())
        return self.inbox.messages

    async def settle(self, count):
        """Until so many messages are in the inbox, and a moment more."""
        await self.platform.until(lambda: self.listener.done()
                                  or len(self.inbox.messages) >= count)
        await asyncio.sleep(0.03)

    def sends(self, content="", recipient=ALICE_ACI, *, attachments=(),
              links=None, answers=None, **given):
        """Send a message; what the bot has sent then."""
        async def go():
            async with self.open(**given) as channel:
                await channel.send(SendMessage(
                    content, recipient, attachments=attachments,
                    links=links, answers=answers))
        asyncio.run(go())
        return self.platform.sent


@pytest.fixture
def platform():
    with FakeSignal() as running:
        yield running
    assert running.problems == []


@pytest.fixture
def bot(platform, tmp_path):
    return Bot(platform, tmp_path)
