"""Lark and Feishu against the contract of every channel."""

from contextlib import contextmanager

from claw.channels.lark import FeishuChannel, LarkChannel, LarkSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten
from claw.testing.fake_lark import FakeLark


class LarkStage(Stage):
    recipient = "oc_1001"
    made = LarkChannel

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.marks = Marks()
        self.secret = platform.secret
        super().__init__()

    def make(self):
        return self.made(
            LarkSettings(
                app_id=self.platform.app_id, app_secret=self.platform.secret,
                allowed_users=("*", "ou_1001"),
                api_base_url=self.platform.url),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        marks=self.marks, log=self.log), sleep=hasten)

    async def say(self, text):
        self.platform.say(text)

    async def rename(self):
        self.platform.world.people["ou_1001"] = "alicia"
        return False  # a name is asked for again after six hours

    def shown(self):
        return self.platform.answers()

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


class FeishuStage(LarkStage):
    made = FeishuChannel


class TestLark(ChannelContract):
    name = "lark"
    failures = tuple(FAULTS)
    drawn = ("key",)
    stage = LarkStage

    @contextmanager
    def running(self):
        with FakeLark() as platform:
            yield self.stage(platform, self.tmp_path)
        assert platform.problems == []


class TestFeishu(TestLark):
    name = "feishu"
    stage = FeishuStage
