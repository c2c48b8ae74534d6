"""A bot against the fake platform, driven by tests."""

import asyncio
import json
import time
from contextlib import asynccontextmanager

import pytest

from claw.channels.qq import QqChannel, QqSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import run_listener
from claw.testing.fake_qq import FakeQq
from claw.testing.fake_qq.platform import ALICE, ALICE_IN_GROUP

LAST = "F" * 32  # who writes when everybody else has


class Clock:
    """The time of day, for the bot and for the platform."""

    def __init__(self):
        self.ahead_s = 0.0

    def __call__(self):
        return time.time() + self.ahead_s


class KeepingInbox:
    """What was put, each id once; `broken` is raised by put instead."""

    def __init__(self):
        self.messages = []
        self.replies = []
        self.rests = []
        self.heard = 0
        self.broken = None

    async def put(self, message):
        if self.broken is not None:
            raise self.broken
        if message.id not in {m.id for m in self.messages}:
            self.messages.append(message)

    async def reply(self, key, message, part):
        self.replies.append((key, message, part))

    def received(self):
        self.heard += 1

    def resting(self, seconds):
        self.rests.append(seconds)

    @property
    def contents(self):
        return [m.content for m in self.messages]


class Bot:
    """A channel with what surrounds it. Waiting takes no time, and is
    noted."""

    def __init__(self, platform, clock, tmp_path):
        self.platform, self.now = platform, clock
        self.inbox = KeepingInbox()
        self.logs = []
        self.offset = 0.0
        self.workspace, self.files = tmp_path / "workspace", tmp_path / "in"
        self.workspace.mkdir()
        self.deps = ChannelDeps(
            workspace=self.workspace, files=self.files,
            log=lambda event, **fields: self.logs.append((event, fields)),
            marks=Marks(), remember=lambda sender: True)

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    async def sleep(self, seconds):
        self.offset += seconds
        await asyncio.sleep(0.002)

    def clock(self):
        return asyncio.get_running_loop().time() + self.offset

    def make(self, **given):
        return QqChannel(QqSettings(**{
            "app_id": self.platform.app_id,
            "app_secret": self.platform.secret,
            "allowed_users": (ALICE, ALICE_IN_GROUP, LAST),
            "api_base_url": self.platform.url,
            "token_url": self.platform.token_url, **given}),
            self.deps, sleep=self.sleep, clock=self.clock, now=self.now)

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
        """A channel whose listener is connected; what it raises comes
        out."""
        async with self.open(**given) as channel, run_listener(
                channel, self.inbox) as self.listener:
            await self.platform.until(
                lambda: self.listener.done() or self.session_id in {
                    s.id for s in self.platform.sessions})
            yield channel

    @property
    def session_id(self):
        return json.loads(self.deps.marks.get("session") or "{}").get(
            "session_id", "")

    async def gets(self, count):
        """Wait for so many messages in all."""
        await self.platform.until(lambda: self.listener.done()
                                  or len(self.inbox.messages) >= count)
        return self.inbox.messages

    def hears(self, *posts, **given):
        """The messages that these become: texts, arguments of
        `platform.say`, or (kind, data) of events. After them comes one
        that always is one."""
        last = f"the last one {len(self.inbox.messages)}"

        async def go():
            async with self.listening(**given):
                for post in posts:
                    if isinstance(post, tuple):
                        self.platform.dispatch(*post)
                    else:
                        self.platform.say(**({"text": post} if isinstance(
                            post, str) else {"text": "", **post}))
                self.platform.say(last, user=LAST)
                await self.platform.until(lambda: self.listener.done()
                                          or last in self.inbox.contents)
        asyncio.run(go())
        return [m for m in self.inbox.messages
                if not m.content.startswith("the last one")]

    def sends(self, content="", recipient=f"user:{ALICE}", *, settings=None,
              **fields):
        """Send a message; what the platform shows then."""
        async def go():
            async with self.open(**(settings or {})) as channel:
                await channel.send(SendMessage(content, recipient, **fields))
        asyncio.run(go())
        return self.platform.messages()

    def use(self, work, **given):
        """What `work(channel)` gives."""
        async def go():
            async with self.open(**given) as channel:
                return await work(channel)
        return asyncio.run(go())


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def platform(clock):
    with FakeQq(clock=clock) as running:
        yield running
    assert running.problems == []


@pytest.fixture
def bot(platform, clock, tmp_path):
    made = Bot(platform, clock, tmp_path)
    yield made
    assert platform.secret not in repr(made.logs)
    assert platform.token not in repr(made.logs)
