"""The LINE channel against the contract of every channel."""

import asyncio
from contextlib import contextmanager

from claw.channels.line import LineChannel, LineSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten, until
from claw.testing.fake_line import USER, FakeLine
from tests.gateway.hosted import Served

FAILURES = {**FAULTS, "forbidden": ("status", {"status": 403})}


class LineStage(Stage):
    recipient = USER

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.secret = platform.token
        self.marks = Marks()
        platform.again_s = 60.0
        super().__init__()

    def make(self):
        channel = LineChannel(
            LineSettings(
                channel_access_token=self.platform.token,
                channel_secret=self.platform.secret,
                api_base_url=self.platform.url,
                data_base_url=self.platform.url, allowed_users=(USER,)),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks), sleep=hasten)
        self.served, listen = Served(log=self.log), channel.listen

        async def listen_served(inbox):
            self.served.inbox = inbox
            await listen(self.served)
        channel.listen = listen_served
        return channel

    async def say(self, text):
        await self.find_place()
        before = self.acknowledged()
        self.platform.write(text)
        for _ in range(20 if before else 0):
            await asyncio.sleep(0.01)
            if self.acknowledged():
                return

    async def find_place(self):
        await until(lambda: self.served.port)
        self.platform.callback = f"http://127.0.0.1:{self.served.port}/line"

    async def resend(self):
        await self.find_place()
        self.platform.post_again()

    def acknowledged(self):
        return not self.platform.undelivered

    def shown(self):
        return self.platform.answers()

    def fail(self, how):
        kind, options = FAILURES[how]
        self.platform.fault("*", kind, None, **options)

    def connections(self):
        return self.platform.connections


class TestLine(ChannelContract):
    name = "line"
    failures = tuple(FAILURES)
    drawn = ("key", "at", "reply", "until")

    @contextmanager
    def running(self):
        with FakeLine() as platform:
            yield LineStage(platform, self.tmp_path)
        assert platform.problems == []
