"""DingTalk against the contract of every channel: answers by the robot
API, and by a session webhook."""

import json
import time
from contextlib import contextmanager

from claw.channels.dingtalk import DingtalkChannel, DingtalkSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten
from claw.testing.fake_dingtalk import ALICE, FakeDingtalk


class DingtalkStage(Stage):
    recipient = ALICE

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.marks = Marks()
        self.secret = platform.secret
        self.name = "alice"
        super().__init__()

    def make(self):
        return DingtalkChannel(
            DingtalkSettings(
                client_id=self.platform.client_id,
                client_secret=self.platform.secret,
                allowed_users=("*", ALICE),
                api_base_url=self.platform.url,
                oapi_base_url=self.platform.url),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        marks=self.marks, log=self.log), sleep=hasten)

    async def say(self, text):
        await self.platform.until(lambda: self.platform.sockets.connections)
        self.platform.say(text, senderNick=self.name)

    async def rename(self):
        self.name = "alicia"
        return True

    def shown(self):
        return self.platform.answers(ALICE)

    async def resend(self):
        self.platform.resend()

    def acknowledged(self):
        return not self.platform.pending()

    def fail(self, how):
        kind, options = FAULTS[how]
        self.platform.fault("*", kind, None, **options)

    def connections(self):
        return (self.platform.connections
                + len(self.platform.sockets.connections))

    def previews(self):
        return self.platform.previews()


class TestDingtalk(ChannelContract):
    name = "dingtalk"
    failures = tuple(FAULTS)
    stage = DingtalkStage

    @contextmanager
    def running(self):
        with FakeDingtalk() as platform:
            yield self.stage(platform, self.tmp_path)
        assert platform.problems == []


class SessionStage(DingtalkStage):
    """Alice has written a moment ago, to a process that is gone."""

    def make(self):
        self.marks.set(f"session:{ALICE}", json.dumps([
            self.platform.open_session(ALICE), time.time() + 5000]))
        return super().make()


class TestDingtalkThatAnswersASession(TestDingtalk):
    stage = SessionStage
