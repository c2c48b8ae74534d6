"""An IRC network that keeps history, for a proof."""

from collections import defaultdict
from collections.abc import Iterable

from claw.testing.fake_irc import CAPS, FakeIrc
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said

_FIRST, _LAST = 1001, 1100
_START = "re:"


class IrcStage(FakeStage[FakeIrc]):
    """People who are logged in write to the bot in private. The lines of
    one paragraph are read as one."""

    name = "irc"
    takes_files = False
    doubts = 1

    def __init__(self, host: str = HERE,
                 caps: Iterable[str] = CAPS) -> None:
        super().__init__(FakeIrc(caps), host)
        self.platform.people = {f"u{n}": f"u{n}"
                                for n in range(_FIRST, _LAST + 1)}

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.irc]\n'
                f'server = "{self.host}"\n'
                f'port = {self.platform.port}\n'
                f'use_tls = false\n'
                f'channels = ["#proof"]\n'
                f'sasl_password = "{self.platform.accounts["claw"]}"\n'
                f'allowed_users = {list(self.platform.people)}\n'
                f'flood_secs = 0.0\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes, at first when the bot has come."""
        self.platform.say_once_there(text, nick=f"u{chat}")
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's paragraphs; a line that says that it may have come
        before says it of its paragraph."""
        talks: defaultdict[str, list[str]] = defaultdict(list)
        for said in list(self.platform.sent):
            talks[said.target.removeprefix("u")].append(said.text)
        return [Got(chat, text) for chat, lines in talks.items()
                for text in _join_lines(lines)]


def _join_lines(lines: list[str]) -> list[str]:
    found: list[list[str]] = []
    for line in lines:
        plain = line.removeprefix(MARK)
        if plain.startswith(_START) or not found:
            found.append([line])
            continue
        found[-1].append(plain)
        if plain != line and not found[-1][0].startswith(MARK):
            found[-1][0] = MARK + found[-1][0]
    return [" ".join(paragraph) for paragraph in found]
