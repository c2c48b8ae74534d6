import asyncio
import json

import pytest

from claw.channels.imessage import ImessageChannel, ImessageSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.stage import KeepingInbox, run_listener, until
from claw.testing.fake_imessage import FakeMac, person


class Place:
    """A Mac, a channel on it, and what came of both."""

    def __init__(self, folder, platform):
        self.folder, self.platform = folder, platform
        self.marks = Marks()
        self.marks.set("at", json.dumps([0, "", 0]))
        self.logged = []

    def make(self, mac=None, **settings):
        async def hasten(seconds):
            await asyncio.sleep(min(seconds, 0.01))
        return ImessageChannel(
            ImessageSettings(**{"allowed_users": (person(),), **settings}),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        marks=self.marks, log=self.log),
            mac=mac or self.platform.mac, sleep=hasten)

    def log(self, event, **fields):
        self.logged.append(event)

    def hear(self, count=1, *, say=lambda: None, **settings):
        """The messages that come in until so many are there, and those
        that come a moment later."""
        async def work():
            inbox = KeepingInbox()
            async with run_listener(self.make(**settings), inbox):
                await until(lambda: inbox.heard)
                say()
                await until(lambda: len(inbox.messages) >= count)
                heard = inbox.heard
                await until(lambda: inbox.heard > heard + 3)
            return inbox.messages
        return asyncio.run(work())


@pytest.fixture
def place(tmp_path):
    with FakeMac(tmp_path / "mac") as platform:
        yield Place(tmp_path, platform)
    assert platform.problems == []
