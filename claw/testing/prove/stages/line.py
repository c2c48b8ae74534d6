"""LINE, for a proof."""

from claw.testing.fake_line import FakeLine
from claw.testing.fake_line.platform import read
from claw.testing.prove.stages import HERE, PostedStage
from claw.testing.prove.verdict import Got, Said


class LineStage(PostedStage[FakeLine]):
    """An official account; each chat is a person. A reply token and a retry
    key are taken once: nothing is in doubt."""

    name = "line"
    takes_files = False
    doubts = 0
    path = "/line"

    def __init__(self, *, host: str = HERE) -> None:
        super().__init__(FakeLine(), host)

    def settings(self) -> str:
        """The tables of config.toml."""
        return (super().settings() + f'[channels_config.line]\n'
                f'channel_access_token = "{self.platform.token}"\n'
                f'channel_secret = "{self.platform.secret}"\n'
                f'api_base_url = "{self.platform.url}"\n'
                f'data_base_url = "{self.platform.url}"\n'
                f'allowed_users = {[_name(n) for n in range(1001, 1101)]}\n')

    def post(self, chat: int, text: str) -> Said:
        self.platform.write(text, user=_name(chat))
        return Said(_name(chat), text)

    def got(self) -> list[Got]:
        """What people read."""
        return [Got(message["to"], read(message))
                for message in self.platform.list_sent()]


def _name(chat: int) -> str:
    return f"U{chat:032x}"
