"""The IRC channel against the contract, on a server that keeps history."""

from contextlib import contextmanager

from claw.channels.irc import IrcChannel, IrcSettings
from claw.channels.irc.session import Patience
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.fake_irc import FakeIrc

SECRET = "a-password-of-the-fake"


class IrcStage(Stage):
    secret = SECRET
    recipient = "account:alice"

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.marks = Marks()
        self.marks.set("read:", "2026-01-01T00:00:00.000Z")
        self.nick = "alice"
        super().__init__()

    def make(self):
        return IrcChannel(
            IrcSettings(server=self.server.host, port=self.server.port,
                        use_tls=False, sasl_password=SECRET, flood_secs=0.0,
                        allowed_users=("alice",)),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks),
            patience=Patience(answer_s=1.0, register_s=1.0))

    async def say(self, text):
        self.server.say(text, nick=self.nick)

    async def rename(self):
        self.server.people = {"alicia": "alice"}
        self.nick = "alicia"
        return True

    def shown(self):
        return [said.text for said in self.server.sent
                if said.target == self.nick]

    def fail(self, how):
        if how == "no answer":
            self.server.frozen = True
        elif how == "gone":
            self.server.down()
        elif how == "nobody":
            self.server.people = {}
        else:
            self.server.fault = how

    def connections(self):
        return self.server.connections


class TestIrc(ChannelContract):
    name = "irc"
    failures = ("refuse", "reset", "garbage", "no answer", "gone")

    @contextmanager
    def running(self):
        with FakeIrc() as server:
            yield IrcStage(server, self.tmp_path)
            server.frozen = False
            assert server.problems == []
