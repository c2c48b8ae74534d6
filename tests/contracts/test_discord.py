"""The Discord channel against the contract of every channel."""

from contextlib import contextmanager
from pathlib import Path

from claw.channels.discord import DiscordChannel, DiscordSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.contracts.stage import FAULTS, hasten
from claw.testing.fake_discord import FakeDiscord

SPEC = Path(__file__).parents[1] / "channels" / "discord" / "openapi.json"


class DiscordStage(Stage):
    recipient = "1001"
    person = "alice"

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.secret = platform.secret
        self.marks = Marks()
        self.said = 0
        super().__init__()

    def make(self):
        return DiscordChannel(
            DiscordSettings(
                bot_token=self.platform.token, allowed_users=("*", "1001"),
                api_base_url=self.platform.api_url),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=self.log, marks=self.marks), sleep=hasten)

    async def say(self, text):
        await self.platform.until(lambda: self.platform.sessions)
        self.said += 1
        self.platform.post(text, name=self.person)

    async def rename(self):
        self.person = "alicia"
        return True

    def shown(self):
        return self.platform.answers()

    def acknowledged(self):
        """What a heartbeat or a resume would tell, it keeps in its mark."""
        marks = self.marks.get("session") or ""
        session = self.platform.sessions[-1]
        last = max(event["s"] for event in session.events
                   if event["t"] == "MESSAGE_CREATE")
        return f'"sequence":{last},' in marks

    def fail(self, how):
        kind, options = FAULTS[how]
        self.platform.fault("*", kind, None, **options)

    def connections(self):
        return self.platform.connections

    def previews(self):
        return sum(sent.previews for sent in self.platform.messages())


class TestDiscord(ChannelContract):
    name = "discord"
    failures = tuple(FAULTS)
    drawn = ("nonce",)

    @contextmanager
    def running(self):
        with FakeDiscord(spec=SPEC) as platform:
            yield DiscordStage(platform, self.tmp_path)
        assert platform.problems == []
