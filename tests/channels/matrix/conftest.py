"""An account against the fake homeserver."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from claw.channels.matrix import MatrixChannel, MatrixSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import KeepingInbox, run_listener
from claw.testing.fake_matrix import ALICE, BOT, ROOM, FakeMatrix


class Account:
    """A channel with what surrounds it, ready to be driven by a test."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.marks = Marks()
        self.logs, self.remembered, self.slept = [], [], []
        self.now = 1000.0
        self.workspace = tmp_path / "workspace"
        self.workspace.mkdir()
        self.files = tmp_path / "files"
        self.deps = ChannelDeps(
            workspace=self.workspace, files=self.files, marks=self.marks,
            log=lambda event, **fields: self.logs.append((event, fields)),
            remember=lambda sender: not self.remembered.append(sender))

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    async def sleep(self, seconds):
        """Time passes at once."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0.001)

    def make(self, **given):
        settings = MatrixSettings(**{
            "homeserver": self.platform.url,
            "access_token": self.platform.token,
            "allowed_users": (ALICE,), **given})
        return MatrixChannel(settings, self.deps, sleep=self.sleep,
                             clock=lambda: self.now, sync_s=0.5)

    @asynccontextmanager
    async def open(self, **given):
        """A channel that only sends."""
        channel = self.make(**given)
        try:
            yield channel
        finally:
            await channel.aclose()

    @asynccontextmanager
    async def listening(self, **given):
        """A channel whose listener has made its first sync."""
        async with self.open(**given) as channel, run_listener(
                channel, self.inbox) as self.listener:
            await self.platform.until(lambda: self.listener.done() or bool(
                self.marks.get(f"since {BOT}")))
            yield channel

    async def settle(self):
        """Until the listener has confirmed all there is."""
        await self.platform.until(
            lambda: self.listener.done()
            or self.platform.since >= self.platform.world.at)

    def hears(self, *acts, **given):
        """The messages that come of these acts: texts that alice writes,
        dicts of arguments of `post`, or functions."""
        async def go():
            async with self.listening(**given):
                for act in acts:
                    if callable(act):
                        act()
                    else:
                        self.platform.post(**(
                            {"body": act} if isinstance(act, str)
                            else {"body": None, **act}))
                await self.settle()
        asyncio.run(go())
        return self.inbox.messages

    def does(self, work, **given):
        """`await work(channel)` beside no listener."""
        async def go():
            async with self.open(**given) as channel:
                return await work(channel)
        return asyncio.run(go())

    def sends(self, content="", recipient=ROOM, *, given=None, **more):
        """Send a message; what people see then."""
        self.does(lambda channel: channel.send(
            SendMessage(content, recipient, **more)), **(given or {}))
        return self.platform.messages()


@pytest.fixture
def platform():
    with FakeMatrix() as running:
        yield running
    assert running.problems == []


@pytest.fixture
def account(platform, tmp_path):
    made = Account(platform, tmp_path)
    yield made
    assert platform.token not in repr(made.logs)
