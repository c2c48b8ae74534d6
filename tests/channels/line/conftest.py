"""An official account against the fake Messaging API, served by a real
gateway."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from claw.channels.line import LineChannel, LineSettings
from claw.core.abilities import WebhookCall
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import KeepingInbox, run_listener
from claw.testing.fake_line import USER, FakeLine
from tests.gateway.hosted import Served


class Answering(Served):
    """It sends what the channel says of its own at once."""

    async def serve_webhook(self, channel):
        self.channel = channel
        await super().serve_webhook(channel)

    async def reply(self, key, message, part):
        await self.channel.send_part(message, part)


class Account:
    """A channel with what surrounds it, ready to be driven by a test."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.logs, self.remembered = [], []
        self.clock, self.time = 1000.0, None
        self.workspace, self.files = tmp_path / "workspace", tmp_path / "f"
        self.workspace.mkdir()
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

    async def sleep(self, seconds):
        """Time passes at once."""
        self.clock += seconds
        await asyncio.sleep(0.002)

    def make(self, **given):
        return LineChannel(LineSettings(**{
            "channel_access_token": self.platform.token,
            "channel_secret": self.platform.secret,
            "api_base_url": self.platform.url,
            "data_base_url": self.platform.url,
            "allowed_users": (USER,), **given}),
            self.deps, sleep=self.sleep, clock=lambda: self.clock,
            now=lambda: self.time or time.time())

    @asynccontextmanager
    async def open(self, **given):
        channel = self.make(**given)
        try:
            yield channel
        finally:
            await channel.aclose()

    @asynccontextmanager
    async def listening(self, **given):
        """A channel that LINE can post to."""
        served = Answering(self.inbox, self._log)
        async with self.open(**given) as channel, \
                run_listener(channel, served):
            await self.platform.until(lambda: served.port)
            self.platform.callback = f"http://127.0.0.1:{served.port}/line"
            try:
                yield channel
            finally:
                await asyncio.to_thread(self.platform.stop_posting)

    def takes(self, *events, **given):
        """The messages that these events become, without a gateway
        between."""
        async def go():
            async with self.open(**given) as channel:
                return [m for event in events for m in (await deliver(
                    channel, self.platform, event)).messages]
        return asyncio.run(go())

    def sends(self, content="", recipient=USER, *, given=None, **message):
        """Send a message; what the platform has taken then."""
        async def go():
            async with self.open(**(given or {})) as channel:
                await channel.send(SendMessage(content, recipient, **message))
        asyncio.run(go())
        return self.platform.list_sent()


def call(body, headers):
    """A webhook as the gateway hands it on."""
    return WebhookCall("POST", "", tuple(
        (name.lower(), value.encode()) for name, value in headers.items()),
        "127.0.0.1", body)


async def deliver(channel, platform, *events):
    """Events in a webhook, verified and parsed."""
    made = call(*platform.wrap(*events))
    channel.verify(made)
    return await channel.parse(made)


@pytest.fixture
def platform():
    with FakeLine() as running:
        yield running
    assert running.problems == []


@pytest.fixture
def account(platform, tmp_path):
    made = Account(platform, tmp_path)
    yield made
    for secret in (platform.token, platform.secret):
        assert secret not in repr(made.logs)
