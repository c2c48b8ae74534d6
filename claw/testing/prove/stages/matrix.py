"""Matrix, for a proof."""

from typing import Any

from claw.testing.fake_matrix import FakeMatrix
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said

CHATS = range(1001, 1101)


class MatrixStage(FakeStage[FakeMatrix]):
    """A homeserver with a room of two for each chat. The bot has been
    there before: a first start answers nothing that is older."""

    name = "matrix"
    takes_files = True
    doubts = 0

    def __init__(self, *, host: str = HERE) -> None:
        super().__init__(FakeMatrix(), host)
        for chat in CHATS:
            self.platform.add_room(_room(chat), _person(chat))
        self.platform.first_place = self.platform.world.at

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.matrix]\n'
                f'homeserver = "{self.platform.url}"\n'
                f'access_token = "{self.platform.token}"\n'
                f'allowed_users = {[_person(chat) for chat in CHATS]}\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.post(text, _room(chat), _person(chat))
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        return [Got(room.removeprefix("!c").partition(":")[0],
                    self._read(event["content"]))
                for room, event in self.platform.sends()
                if event["type"] == "m.room.message"]

    def _read(self, content: dict[str, Any]) -> str:
        body = str(content["body"])
        if "url" not in content:
            return body
        mark = MARK if body.startswith(MARK.strip()) else ""
        return mark + self.platform.file(content["url"]).decode()


def _room(chat: int) -> str:
    return f"!c{chat}:fake"


def _person(chat: int) -> str:
    return f"@p{chat}:fake"
