"""A bot against the fake platform, every call checked against Discord's
OpenAPI description (`openapi.json` is an extract of it: the operations that
claw calls)."""

import asyncio
import re
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from claw.channels.discord import DiscordChannel, DiscordSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import run_listener
from claw.testing.fake_discord import FakeDiscord

SPEC = Path(__file__).parent / "openapi.json"


class KeepingInbox:
    """What was put, each id once; `broken` is raised by put instead."""

    def __init__(self):
        self.offered = []
        self.messages = []
        self.replies = []
        self.heard = 0
        self.broken = None
        self.rests = []

    async def put(self, message):
        if self.broken is not None:
            raise self.broken
        self.offered.append(message.id)
        if message.id not in {m.id for m in self.messages}:
            self.messages.append(message)

    async def reply(self, key, message, part):
        self.replies.append((key, message.recipient, part.text))

    def received(self):
        self.heard += 1

    def resting(self, seconds):
        self.rests.append(seconds)

    @property
    def contents(self):
        return [m.content for m in self.messages]


class Bot:
    """A channel with what surrounds it, ready to be driven by a test.
    Waiting takes no time, and is noted."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.logs = []
        self.slept = []
        self.offset = 0.0
        self.ahead_s = 0.0  # the clock of the day
        self.workspace = tmp_path / "workspace"
        self.workspace.mkdir()
        self.files = tmp_path / "files"
        self.deps = ChannelDeps(
            workspace=self.workspace, files=self.files, log=self._log,
            marks=Marks(), remember=lambda sender: True)

    def _log(self, event, **fields):
        self.logs.append((event, fields))

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.offset += seconds
        await asyncio.sleep(0.002)

    def clock(self):
        return asyncio.get_running_loop().time() + self.offset

    def make(self, **given):
        return DiscordChannel(DiscordSettings(**{
            "bot_token": self.platform.token, "allowed_users": ("1001",),
            "api_base_url": self.platform.api_url, **given}),
            self.deps, sleep=self.sleep, clock=self.clock,
            now=lambda: time.time() + self.ahead_s)

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
        """A channel whose listener runs and is connected; what it raises
        comes out."""
        async with self.open(**given) as channel, run_listener(
                channel, self.inbox) as self.listener:
            await self.platform.until(
                lambda: self.listener.done() or self.session_id in {
                    s.id for s in self.platform.sessions})
            yield channel

    @property
    def session_id(self):
        """Of the session that would be resumed."""
        found = re.search('"session_id": ?"(.*?)"',
                          self.deps.marks.get("session") or "")
        return found[1] if found else ""

    async def gets(self, count):
        """Wait for so many messages in all."""
        await self.platform.until(lambda: self.listener.done()
                                  or len(self.inbox.messages) >= count)
        return self.inbox.messages

    def hears(self, *posts, wanted=None, **given):
        """The messages that these posts become: texts, or arguments of
        `platform.post`. After them one is posted that always is one."""
        last = f"the last one {len(self.inbox.messages)}"

        async def go():
            async with self.listening(**given):
                for post in posts:
                    self.platform.post(**({"text": post} if isinstance(
                        post, str) else {"text": "", **post}))
                self.platform.post(last)
                await self.platform.until(lambda: self.listener.done()
                                          or last in self.inbox.contents)
        asyncio.run(go())
        return [m for m in self.inbox.messages
                if not m.content.startswith("the last one")]

    def sends(self, content="", recipient="1001", **fields):
        """Send a message; what the platform shows then."""
        async def go():
            async with self.open() as channel:
                await channel.send(SendMessage(content, recipient, **fields))
        asyncio.run(go())
        return [m for m in self.platform.messages() if not m.deleted]


@pytest.fixture
def platform():
    with FakeDiscord(spec=SPEC) as running:
        yield running
    assert running.problems == []


@pytest.fixture
def bot(platform, tmp_path):
    made = Bot(platform, tmp_path)
    yield made
    assert platform.secret not in repr(made.logs)
