"""QQ, for a proof: private chats, as many as there are people."""

from claw.testing.fake_qq import FakeQq, Sent
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said

_CHAT = "users/PERSON"


class QqStage(FakeStage[FakeQq]):
    """A QQ. What is in doubt answers a message under a number, and is shown
    once; what has no number may come twice, and says so."""

    name = "qq"
    takes_files = True
    doubts = 0

    def __init__(self, *, host: str = HERE) -> None:
        super().__init__(FakeQq(), host)
        self.platform.patient = True

    def settings(self) -> str:
        """The table of config.toml."""
        people = [f"PERSON{number}" for number in range(1001, 1101)]
        return (f'[channels_config.qq]\n'
                f'app_id = "{self.platform.app_id}"\n'
                f'app_secret = "{self.platform.secret}"\n'
                f'allowed_users = {people}\n'
                f'api_base_url = "{self.platform.url}"\n'
                f'token_url = "{self.platform.token_url}"\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.say(text, user=f"PERSON{chat}")
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        return [Got(m.chat.removeprefix(_CHAT), _read(m))
                for m in self.platform.messages()]


def _read(message: Sent) -> str:
    if message.file is None:
        return message.text
    mark = MARK if message.text.startswith(MARK.strip()) else ""
    return mark + message.file.decode()
