"""The skeleton channel against the contract."""

from contextlib import contextmanager

from claw.core.channel import ChannelDeps
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import Kept, listening, until
from claw.testing.fake_skeleton import TOKEN, FakeSkeleton
from claw.testing.skeleton_channel import SkeletonChannel, SkeletonSettings


class SkeletonStage(Stage):
    secret = TOKEN

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        super().__init__()

    def make(self):
        return SkeletonChannel(
            SkeletonSettings(api_url=self.platform.url, token=TOKEN,
                             allowed_users=("alice",)),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log))

    async def say(self, text):
        self.platform.post(text)

    def shown(self):
        return [message["text"] for message in self.platform.sent]

    def acknowledged(self):
        return not self.platform.waiting

    def fail(self, how):
        self.platform.fault("*", how, None)

    def connections(self):
        return self.platform.connections


class TestSkeleton(ChannelContract):
    name = "skeleton"
    failures = ("reset", "half", "status", "429", "html")

    @contextmanager
    def running(self):
        with FakeSkeleton() as platform:
            yield SkeletonStage(platform, self.tmp_path)


def test_a_stranger_is_told_how_to_get_in_and_comes_no_further(tmp_path):
    async def work(stage):
        inbox = Kept()
        async with listening(stage.channel, inbox):
            stage.platform.post("let me in", sender="mallory")
            await stage.say("hello")
            await until(lambda: inbox.messages)
        return inbox.messages, stage.platform.sent

    suite = TestSkeleton()
    suite.tmp_path = tmp_path
    messages, sent = suite.use(work)

    assert [m.sender for m in messages] == ["alice"]
    assert [m["to"] for m in sent] == ["mallory"]
    assert "[channels_config.skeleton]" in sent[0]["text"]
