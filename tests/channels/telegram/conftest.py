"""A bot against the fake platform, every call checked against the Bot API.

`bot_api.json` is an extract of the machine-readable Bot API 10.1: the
methods that claw calls and the types of their parameters.
"""

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from claw.channels.telegram import TelegramChannel, TelegramSettings
from claw.core.channel import ChannelDeps, SendMessage
from claw.testing.contracts.stage import KeepingInbox, run_listener
from claw.testing.fake_telegram import FakeTelegram

SPEC = json.loads((Path(__file__).parent / "bot_api.json").read_text())


class Bot:
    """A channel with what surrounds it, ready to be driven by a test."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.logs = []
        self.remembered = []
        self.saves = True
        self.slept = []
        self.now = 1000.0
        self.workspace = tmp_path / "workspace"
        self.workspace.mkdir()
        self.files = tmp_path / "files"
        self.deps = ChannelDeps(
            workspace=self.workspace, files=self.files, log=self._log,
            remember=self._remember)

    def _log(self, event, **fields):
        self.logs.append((event, fields))

    def _remember(self, sender):
        self.remembered.append(sender)
        return self.saves

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    async def sleep(self, seconds):
        """Time passes at once."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0.001)

    def settings(self, **given):
        return TelegramSettings(**{
            "bot_token": self.platform.token,
            "allowed_users": ("*", "1001"),
            "api_base_url": self.platform.url, "poll_timeout_secs": 1,
            **given})

    def make(self, **given):
        return TelegramChannel(self.settings(**given), self.deps,
                               sleep=self.sleep, clock=lambda: self.now)

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
        """A channel whose listener runs; what it raises comes out."""
        async with self.open(**given) as channel, run_listener(
                channel, self.inbox) as self.listener:
            yield channel

    def hears(self, *posts, **given):
        """The messages that these posts become. Each is a dict of
        arguments of `platform.post`; or a number of messages to wait for
        comes first."""
        wanted = len(posts)
        if posts and isinstance(posts[0], int):
            wanted, posts = posts[0], posts[1:]

        async def go():
            for post in posts:
                self.platform.post(**({"text": post} if isinstance(post, str)
                                      else {"text": None, **post}))
            async with self.listening(**given):
                await self.platform.until(lambda: self.listener.done() or (
                    self.platform.pending() == 0
                    and len(self.inbox.messages) >= wanted))
        asyncio.run(go())
        return self.inbox.messages

    def sends(self, content="", recipient="1001", *, thread_ts=None,
              attachments=(), buttons=(), **given):
        """Send a message; what the platform shows then."""
        async def go():
            async with self.open(**given) as channel:
                await channel.send(SendMessage(
                    content, recipient, thread_ts=thread_ts,
                    attachments=attachments, buttons=buttons))
        asyncio.run(go())
        return self.platform.messages()


@pytest.fixture
def platform():
    with FakeTelegram(spec=SPEC) as running:
        yield running
    assert running.problems == []


@pytest.fixture
def bot(platform, tmp_path):
    made = Bot(platform, tmp_path)
    yield made
    secret = platform.token.partition(":")[2]
    assert secret not in repr(made.logs)
