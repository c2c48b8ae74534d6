"""The iMessage channel against the contract of every channel."""

import json
from contextlib import contextmanager

from claw.channels.imessage import ImessageChannel, ImessageSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import hasten
from claw.testing.fake_imessage import FakeMac, person

FAILURES = {"no automation": {"error": -1743}, "not running": {"error": -600},
            "no answer": {"error": -1712}, "strange": {"error": -2700},
            "refused": {"failed": True}, "signed out": {"error": -1728}}


class ImessageStage(Stage):
    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.recipient = person()
        self.marks = Marks()  # it was started before
        self.marks.set("at", json.dumps([0, "", 0]))
        super().__init__()

    def make(self):
        return ImessageChannel(
            ImessageSettings(allowed_users=(person(),), poll_secs=0.2),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks),
            mac=self.platform.mac, sleep=hasten)

    async def say(self, text):
        self.platform.say(text)

    def shown(self):
        return self.platform.shown(self.recipient)

    def fail(self, how):
        self.platform.store.set_mode(**FAILURES[how])


class TestImessage(ChannelContract):
    name = "imessage"
    failures = tuple(FAILURES)
    drawn = ("at",)

    @contextmanager
    def running(self):
        with FakeMac(self.tmp_path / "mac") as platform:
            yield ImessageStage(platform, self.tmp_path)
        assert platform.problems == []
