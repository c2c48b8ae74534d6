"""An app against the fake platform, with what surrounds it."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from claw.channels.lark import LarkChannel, LarkSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.core.errors import ClawError
from claw.testing.contracts.stage import KeepingInbox
from claw.testing.fake_lark import FakeLark


class App:
    """A channel, ready to be driven by a test."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.logs, self.slept, self.made = [], [], []
        self.marks = Marks()
        self.workspace, self.files = tmp_path / "workspace", tmp_path / "files"
        self.workspace.mkdir()
        self.ping_s, self.silence_s, self.later = 20.0, 300.0, 0.0
        self.deps = ChannelDeps(
            workspace=self.workspace, files=self.files, marks=self.marks,
            log=lambda event, **fields: self.logs.append((event, fields)),
            remember=lambda sender: True)

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    async def sleep(self, seconds):
        """Time passes at once."""
        self.slept.append(seconds)
        self.later += seconds
        await asyncio.sleep(0.001)

    def make(self, made=LarkChannel, **given):
        settings = LarkSettings(**{
            "app_id": self.platform.app_id,
            "app_secret": self.platform.secret,
            "allowed_users": ("ou_1001",),
            "api_base_url": self.platform.url, **given})
        found = made(settings, self.deps, sleep=self.sleep,
                     clock=lambda: time.monotonic() + self.later,
                     now=lambda: time.time() + self.later,
                     ping_s=self.ping_s, silence_s=self.silence_s)
        self.made.append(found)
        return found

    async def aclose(self):
        for channel in self.made:
            await channel.aclose()

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

    async def send(self, content, recipient="oc_1001", *, make=None,
                   **fields):
        channel = self.make(**(make or {}))
        try:
            await channel.send(SendMessage(content, recipient, **fields))
        finally:
            await channel.aclose()


@pytest.fixture
def platform():
    with FakeLark() as found:
        yield found
    assert found.problems == []


@pytest.fixture
def app(platform, tmp_path):
    return App(platform, tmp_path)
