"""A number against the fake Cloud API, served by a real gateway."""

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from claw.channels.whatsapp import WhatsappChannel, WhatsappSettings
from claw.core.abilities import WebhookCall
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import KeepingInbox, run_listener
from claw.testing.fake_whatsapp import FakeWhatsapp, sign, wrap
from claw.testing.fake_whatsapp.platform import NUMBER
from tests.gateway.hosted import Served

VECTORS = json.loads(
    (Path(__file__).parent / "webhooks.json").read_text("utf-8"))


class Number:
    """A channel with what surrounds it, ready to be driven by a test."""

    def __init__(self, platform, tmp_path):
        self.platform = platform
        self.inbox = KeepingInbox()
        self.logs, self.carried, self.remembered = [], [], []
        self.clock, self.time = 1000.0, None
        self.workspace, self.files = tmp_path / "workspace", tmp_path / "f"
        self.workspace.mkdir()
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
        self.clock += seconds
        await asyncio.sleep(0.002)

    def make(self, **given):
        import time
        return WhatsappChannel(WhatsappSettings(**{
            "phone_number_id": self.platform.number_id,
            "access_token": self.platform.token,
            "app_secret": self.platform.app_secret,
            "verify_token": self.platform.verify_token,
            "api_base_url": self.platform.url,
            "allowed_users": (NUMBER,), **given}),
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
        """A channel that Meta can post to."""
        served = Served(self.inbox, self._log)
        async with self.open(**given) as channel, \
                run_listener(channel, served):
            await self.platform.until(lambda: served.port)
            self.platform.callback = \
                f"http://127.0.0.1:{served.port}/whatsapp"
            try:
                yield channel
            finally:
                await asyncio.to_thread(self.platform.stop_posting)

    def takes(self, *values, **given):
        """The messages that webhooks with these values become, without a
        gateway between."""
        async def go():
            found = []
            async with self.open(**given) as channel:
                for value in values:
                    found += (await deliver(channel, value,
                                            self.platform)).messages
            return found
        return asyncio.run(go())

    def sends(self, content="", recipient=NUMBER, *, given=None, **message):
        """Send a message; what the platform has taken then."""
        async def go():
            async with self.open(**(given or {})) as channel:
                await channel.send(SendMessage(content, recipient, **message))
        asyncio.run(go())
        return self.platform.list_sent()


def call(platform, body):
    """A signed webhook as the gateway hands it on."""
    headers = sign(platform.app_secret, body)
    return WebhookCall("POST", "", tuple(
        (name.lower(), value.encode()) for name, value in headers.items()),
        "127.0.0.1", body)


async def deliver(channel, value, platform):
    """`value` in a webhook, verified and parsed."""
    made = call(platform, value if isinstance(value, bytes)
                else wrap(platform.number_id, value))
    channel.verify(made)
    return await channel.parse(made)


@pytest.fixture
def platform():
    with FakeWhatsapp() as running:
        yield running
    assert running.problems == []


@pytest.fixture
def number(platform, tmp_path):
    made = Number(platform, tmp_path)
    yield made
    for secret in (platform.token, platform.app_secret,
                   platform.verify_token):
        assert secret not in repr(made.logs)
