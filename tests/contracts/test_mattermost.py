"""The Mattermost channel against the contract of every channel."""

import asyncio
from contextlib import contextmanager

import pytest

from claw.channels.mattermost import MattermostChannel, MattermostSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.fake_mattermost import FakeMattermost

# (fault, its options) for each way in which a server can fail
FAULTS = {
    "reset": ("reset", {}),
    "half": ("half", {}),
    "gateway": ("html", {"status": 502}),
    "page": ("html", {"status": 200}),
    "broken": ("status", {"status": 500}),
    "refused": ("status", {"status": 400}),
    "forbidden": ("status", {"status": 403}),
    "unauthorized": ("status", {"status": 401}),
    "slow down": ("429", {"retry_after": 900}),
}


@pytest.fixture(autouse=True)
def _places(tmp_path, request):
    if request.instance is not None:
        request.instance.tmp_path = tmp_path


async def hasten(seconds):
    """Waiting that takes no time."""
    await asyncio.sleep(min(seconds, 0.01))


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
        kind, options = FAULTS[how]
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
    failures = tuple(FAULTS)
    drawn = ("key", "at")
    stage = MattermostStage

    @contextmanager
    def running(self):
        with FakeMattermost() as platform:
            yield self.stage(platform, self.tmp_path)
        assert platform.problems == []


class TestMattermostThatPolls(TestMattermost):
    stage = PollingStage
