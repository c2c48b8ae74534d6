"""The WhatsApp channel against the contract of every channel."""

import asyncio
from contextlib import contextmanager

from claw.channels.whatsapp import WhatsappChannel, WhatsappSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten, until
from claw.testing.fake_whatsapp import FakeWhatsapp
from claw.testing.fake_whatsapp.platform import NUMBER
from tests.channels.whatsapp.conftest import call
from tests.gateway.hosted import Served

FAILURES = {**FAULTS, "forbidden": ("status", {"status": 403})}


class WhatsappStage(Stage):
    recipient = NUMBER
    person = "Mina"

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.secret = platform.token
        self.marks = Marks()
        platform.again_s = 60.0
        super().__init__()

    def make(self):
        channel = WhatsappChannel(
            WhatsappSettings(
                phone_number_id=self.platform.number_id,
                access_token=self.platform.token,
                app_secret=self.platform.app_secret,
                api_base_url=self.platform.url, allowed_users=(NUMBER,)),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks), sleep=hasten)
        self.served, listen = Served(log=self.log), channel.listen
        find_sent = channel.find_sent

        async def listen_served(inbox):
            self.served.inbox = inbox
            await listen(self.served)

        async def find_told(doubt):
            """Statuses come while nobody listens in the contract."""
            for body in self.platform.undelivered:
                await channel.parse(call(self.platform, body))
            return await find_sent(doubt)
        channel.listen, channel.find_sent = listen_served, find_told
        return channel

    async def say(self, text):
        await until(lambda: self.served.port)
        self.platform.callback = \
            f"http://127.0.0.1:{self.served.port}/whatsapp"
        before = self.acknowledged()
        self.platform.say({"type": "text", "text": {"body": text}},
                          name=self.person)
        for _ in range(20 if before else 0):
            await asyncio.sleep(0.01)
            if self.acknowledged():
                return

    async def resend(self):
        await until(lambda: self.served.port)
        self.platform.callback = \
            f"http://127.0.0.1:{self.served.port}/whatsapp"
        self.platform.post_again()

    def acknowledged(self):
        return not self.platform.undelivered

    async def rename(self):
        self.person += "!"
        return True

    def shown(self):
        return self.platform.answers()

    def fail(self, how):
        kind, options = FAILURES[how]
        self.platform.fault("*", kind, None, **options)

    def connections(self):
        return self.platform.connections

    def previews(self):
        return sum(body["text"].get("preview_url") is not False
                   for body in self.platform.list_sent())


class TestWhatsapp(ChannelContract):
    name = "whatsapp"
    failures = tuple(FAILURES)
    drawn = ("key",)

    @contextmanager
    def running(self):
        with FakeWhatsapp() as platform:
            yield WhatsappStage(platform, self.tmp_path)
        assert platform.problems == []
