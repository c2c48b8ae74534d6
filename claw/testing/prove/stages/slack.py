"""Slack, for a proof. Answers go to the chat itself: each thread would be
a conversation of its own, and have no order among the others."""

from claw.testing.fake_slack import FakeSlack
from claw.testing.fake_slack.methods import show
from claw.testing.fake_slack.world import Json
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said


class SlackStage(FakeStage[FakeSlack]):
    """A Slack, over Socket Mode; `polls`: without an app token."""

    name = "slack"
    takes_files = True
    doubts = 8

    def __init__(self, *, polls: bool = False, host: str = HERE) -> None:
        super().__init__(FakeSlack(retry_s=1.0), host)
        self._polls = polls

    def open(self) -> None:
        for chat in range(1001, 1101):
            self.platform.world.channel(f"D{chat}")
            self.platform.world.person(f"U{chat}")
        super().open()

    def settings(self) -> str:
        """The table of config.toml."""
        app_token = "" if self._polls else self.platform.app_token
        return (f'[channels_config.slack]\n'
                f'bot_token = "{self.platform.bot_token}"\n'
                f'app_token = "{app_token}"\n'
                f'allowed_users = {[f"U{n}" for n in range(1001, 1101)]}\n'
                f'api_base_url = "{self.platform.url}"\n'
                f'thread_replies = false\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.say(text, f"D{chat}")
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        return [Got(m["channel"][1:], self._read(m))
                for m in self.platform.messages()]

    def _read(self, message: Json) -> str:
        if not message.get("files"):
            return show(message["text"], message.get("blocks"))
        mark = MARK if message["text"].startswith(MARK.strip()) else ""
        return mark + self.platform.world.contents[
            message["files"][0]["id"]].decode()
