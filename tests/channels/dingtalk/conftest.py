"""A robot against the fake platform, with what surrounds it."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from claw.channels.dingtalk import DingtalkChannel, DingtalkSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.core.errors import ClawError
from claw.testing.contracts.stage import KeepingInbox
from claw.testing.fake_dingtalk import ALICE, FakeDingtalk


class Bot:
    """A channel, ready to be driven by a test. `later` is how far its
    clocks are ahead."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.logs, self.slept = [], []
        self.marks = Marks()
        self.workspace, self.files = tmp_path / "workspace", tmp_path / "files"
        self.workspace.mkdir()
        self.ping_s, self.later = 10.0, 0.0
        self.deps = ChannelDeps(
            workspace=self.workspace, files=self.files, marks=self.marks,
            log=lambda event, **fields: self.logs.append((event, fields)),
            remember=lambda sender: True)

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    async def sleep(self, seconds):
        """Time passes at once."""
        self.slept.append(seconds)
        await asyncio.sleep(0.001)

    def make(self, **given):
        settings = DingtalkSettings(**{
            "client_id": self.platform.client_id,
            "client_secret": self.platform.secret,
            "allowed_users": (ALICE,),
            "api_base_url": self.platform.url,
            "oapi_base_url": self.platform.url, **given})
        return DingtalkChannel(
            settings, self.deps, sleep=self.sleep, ping_s=self.ping_s,
            clock=lambda: time.monotonic() + self.later,
            now=lambda: time.time() + self.later)

    @asynccontextmanager
    async def listening(self, **given):
        """A channel that listens, started again after errors as the
        supervisor does."""
        channel = self.make(**given)

        async def run():
            while True:
                try:
                    await channel.listen(self.inbox)
                except ClawError as error:
                    self.logs.append(("listen", {"error": error}))
                await asyncio.sleep(0.01)

        task = asyncio.create_task(run())
        try:
            await self.platform.until(
                lambda: self.platform.sockets.connections)
            yield channel
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=5)
            await channel.aclose()

    async def until(self, predicate):
        return await self.platform.until(predicate)

    async def hears(self, count=1):
        """What was put, once there is so much and all is acknowledged."""
        await self.until(lambda: len(self.inbox.messages) >= count
                         and not self.platform.pending())
        return self.inbox.messages

    async def send(self, content, recipient=ALICE, *, make=None, **fields):
        channel = self.make(**(make or {}))
        try:
            await channel.send(SendMessage(content, recipient, **fields))
        finally:
            await channel.aclose()


@pytest.fixture
def platform():
    with FakeDingtalk() as found:
        yield found
    assert found.problems == []


@pytest.fixture
def bot(platform, tmp_path):
    return Bot(platform, tmp_path)


@pytest.fixture
def hear(bot):
    """hear(work, **settings): what is put of what `work(platform)` does."""
    def run(work, count=1, **given):
        async def go():
            async with bot.listening(**given):
                work(bot.platform)
                return await bot.hears(count)
        return asyncio.run(go())
    return run
