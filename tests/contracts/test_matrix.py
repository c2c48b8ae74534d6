"""The Matrix channel against the contract."""

from contextlib import contextmanager

from claw.channels.matrix import MatrixChannel, MatrixSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import hasten, until
from claw.testing.fake_matrix import ALICE, ROOM, FakeMatrix

FAULTS = {"reset": {}, "half": {}, "status": {}, "429": {"retry_after": 60},
          "html": {}, "refused": {"status": 401}, "page": {"status": 404}}
KINDS = {"refused": "status", "page": "html"}


class MatrixStage(Stage):
    recipient = ROOM

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.secret = platform.token
        self.marks = Marks()
        super().__init__()

    def make(self):
        return MatrixChannel(
            MatrixSettings(homeserver=self.platform.url,
                           access_token=self.platform.token,
                           allowed_users=(ALICE.upper(),)),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        marks=self.marks, log=self.log),
            sleep=hasten, sync_s=1.0)

    async def say(self, text):
        # what is said before the first start is not answered
        await until(lambda: self.marks.keys())
        self.platform.post(text)

    async def rename(self):
        self.platform.rename(ALICE, "Alicia")
        return True

    def shown(self):
        return self.platform.answers()

    def acknowledged(self):
        return self.platform.since >= self.platform.world.at

    def fail(self, how):
        self.platform.fault("*", KINDS.get(how, how), None, **FAULTS[how])

    def previews(self):
        return sum("https:" in str(event["content"])
                   and event["content"].get("com.beeper.linkpreviews") != []
                   for _, event in self.platform.sends())

    def connections(self):
        return self.platform.connections


class TestMatrix(ChannelContract):
    name = "matrix"
    failures = tuple(FAULTS)
    drawn = ("txn", "at")

    @contextmanager
    def running(self):
        with FakeMatrix() as platform:
            yield MatrixStage(platform, self.tmp_path)
        assert platform.problems == []
