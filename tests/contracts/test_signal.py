"""The Signal channel against the contract of every channel."""

from contextlib import contextmanager

from claw.channels.signal import SignalChannel, SignalSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten
from claw.testing.fake_signal import ACCOUNT, ALICE_ACI, FakeSignal


class SignalStage(Stage):
    recipient = ALICE_ACI

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.last, self.person = None, 0
        self.marks = Marks()
        super().__init__()

    def make(self):
        return SignalChannel(
            SignalSettings(http_url=self.platform.url, account=ACCOUNT,
                           allowed_users=(ALICE_ACI,)),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks), sleep=hasten)

    async def say(self, text):
        self.last = self.platform.post(
            text, name=f"Alice{self.person or ''}")

    async def rename(self):
        self.person += 1
        return True

    async def resend(self):
        """The daemon does nothing; the journal does."""

    def shown(self):
        return self.platform.texts(ALICE_ACI)

    def fail(self, how):
        kind, options = FAULTS[how]
        for method in ("*", "events"):
            self.platform.fault(method, kind, None, **options)

    def connections(self):
        return self.platform.connections

    def previews(self):
        return sum("previewUrl" in one.params for one in self.platform.sent)


class TestSignal(ChannelContract):
    name = "signal"
    failures = tuple(FAULTS)

    @contextmanager
    def running(self):
        # A listener that has just gone may be written to once more.
        with FakeSignal(keeps_s=1.0) as platform:
            yield SignalStage(platform, self.tmp_path)
        assert platform.problems == []
