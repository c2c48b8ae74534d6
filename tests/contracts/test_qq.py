"""The QQ channel against the contract of every channel."""

import json
from contextlib import contextmanager

from claw.channels.qq import QqChannel, QqSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten
from claw.testing.fake_qq import FakeQq
from claw.testing.fake_qq.platform import ALICE


class QqStage(Stage):
    recipient = f"user:{ALICE}"

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.secret = platform.secret
        self.marks = Marks()
        super().__init__()
        # She wrote before, so that she may be answered.
        _, data = platform.message("hello")
        self.marks.set(f"chat:{self.recipient}", json.dumps({"anchors": [
            {"id": data["id"], "at": platform.world.clock()}]}))

    def make(self):
        return QqChannel(
            QqSettings(
                app_id=self.platform.app_id, app_secret=self.platform.secret,
                allowed_users=("*", ALICE),
                api_base_url=self.platform.url,
                token_url=self.platform.token_url),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks), sleep=hasten)

    async def say(self, text):
        await self.platform.until(lambda: self.platform.sessions)
        self.platform.say(text)

    def shown(self):
        return self.platform.answers()

    def acknowledged(self):
        """What a heartbeat or a resume would tell, it keeps in its mark."""
        marks = self.marks.get("session") or ""
        session = self.platform.sessions[-1]
        last = max(event["s"] for event in session.events
                   if event["t"] == "C2C_MESSAGE_CREATE")
        return f'"sequence":{last},' in marks

    def fail(self, how):
        kind, options = FAULTS[how]
        self.platform.fault("*", kind, None, **options)

    def connections(self):
        return self.platform.connections


class TestQq(ChannelContract):
    name = "qq"
    failures = tuple(FAULTS)
    drawn = ("seq",)

    @contextmanager
    def running(self):
        with FakeQq() as platform:
            platform.rules.own_accord = 10_000
            yield QqStage(platform, self.tmp_path)
        assert platform.problems == []
