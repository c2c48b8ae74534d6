"""The Mattermost channel against the contract of every channel."""

from contextlib import contextmanager

from claw.channels.mattermost import MattermostChannel, MattermostSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten
from claw.testing.fake_mattermost import FakeMattermost

FAILURES = {**FAULTS, "forbidden": ("status", {"status": 403})}


class MattermostStage(Stage):
    transport = "auto"

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.secret = platform.token
        self.recipient = platform.direct(platform.alice)
        self.person = 0
        self.marks = Marks()  # it was started before
        self.marks.set("from", "0")
        self.marks.set("at", "0")
        super().__init__()

    def make(self):
        return MattermostChannel(
            MattermostSettings(
                url=self.platform.url, bot_token=self.platform.token,
                allowed_users=(self.platform.alice,),
                transport=self.transport),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks), sleep=hasten)

    async def say(self, text):
        self.platform.post(text)

    async def rename(self):
        self.person += 1
        self.platform.rename(self.platform.alice, f"alicia{self.person}")
        return True

    def shown(self):
        return self.platform.answers(self.recipient)

    def fail(self, how):
        kind, options = FAILURES[how]
        self.platform.fault("*", kind, None, **options)

    def connections(self):
        return self.platform.connections

    def previews(self):
        return self.platform.previews()


class PollingStage(MattermostStage):
    transport = "polling"

    async def rename(self):
        return False  # a name is asked for once


class TestMattermost(ChannelContract):
    name = "mattermost"
    failures = tuple(FAILURES)
    drawn = ("key", "at")
    stage = MattermostStage

    @contextmanager
    def running(self):
        with FakeMattermost() as platform:
            yield self.stage(platform, self.tmp_path)
        assert platform.problems == []


class TestMattermostThatPolls(TestMattermost):
    stage = PollingStage
