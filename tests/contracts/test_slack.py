"""Slack against the contract of every channel, over Socket Mode and
polling."""

from contextlib import contextmanager

from claw.channels.slack import SlackChannel, SlackSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten, until
from claw.testing.fake_slack import FakeSlack


class SlackStage(Stage):
    recipient = "D1001"
    app_token = True

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.marks = Marks()
        self.secret = platform.bot_token
        super().__init__()

    def make(self):
        return SlackChannel(
            SlackSettings(
                bot_token=self.platform.bot_token,
                app_token=self.platform.app_token if self.app_token else "",
                allowed_users=("*", "U1001"),
                api_base_url=self.platform.url),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        marks=self.marks, log=self.log), sleep=hasten)

    async def say(self, text):
        self.platform.say(text)

    async def rename(self):
        person = self.platform.world.people["U1001"]
        person["profile"]["display_name"] = "alicia"
        self.platform.send_event({"type": "user_change", "user": person})
        return True

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

    def previews(self):
        return self.platform.previews()


class TestSlack(ChannelContract):
    name = "slack"
    failures = tuple(FAULTS)
    drawn = ("key",)
    stage = SlackStage

    @contextmanager
    def running(self):
        with FakeSlack() as platform:
            yield self.stage(platform, self.tmp_path)
        assert platform.problems == []


class PollingStage(SlackStage):
    app_token = False

    async def say(self, text):
        await until(lambda: self.marks.get("since"))  # the rest is new
        await super().say(text)

    async def rename(self):
        return False  # a name is asked for again after six hours

    def acknowledged(self):
        return None


class TestSlackThatPolls(TestSlack):
    stage = PollingStage
