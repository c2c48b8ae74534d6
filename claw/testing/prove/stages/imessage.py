"""Messages on a Mac, for a proof.

No proof runs on a Mac, and nothing that a user could set makes claw believe
that it does: the home gets a channel of the owner's own, which is the one of
the tree on the fake's Mac.
"""

import json
import shutil
from pathlib import Path

from claw.storage.marks import MarksFile
from claw.testing.fake_imessage import FakeMac, person
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said

_NAME = "texts"
_CHANNEL = """\
from pathlib import Path
from claw.channels.imessage import ImessageChannel
from claw.channels.imessage.mac import Mac

class TextsChannel(ImessageChannel):
    name = {name!r}

    def __init__(self, settings, deps):
        super().__init__(settings, deps, mac=Mac(
            "darwin", Path({folder!r}), {osascript!r}))
"""


class ImessageStage(FakeStage[FakeMac]):
    """People who write in private. What is killed between the outbox's
    note and the start of osascript comes again with a note."""

    name = "imessage"
    takes_files = True
    doubts = 8

    def __init__(self, *, host: str = HERE) -> None:
        super().__init__(FakeMac(), host)
        self._people = {chat: person(chat) for chat in range(1001, 1101)}

    def prepare(self, home: Path) -> None:
        """Put the channel into the home, where it was started before: the
        first start reads nothing old."""
        mac = self.platform.mac
        folder = home / "channels"
        folder.mkdir(mode=0o700)
        (folder / f"{_NAME}.py").write_text(_CHANNEL.format(
            name=_NAME, folder=str(mac.folder), osascript=mac.osascript))
        MarksFile(home / "workspace" / "state" / "marks" / f"{_NAME}.json"
                  ).set("at", json.dumps([0, "", 0]))

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.platform.folder, ignore_errors=True)

    def settings(self) -> str:
        """The table of config.toml."""
        return (f"[channels_config.{_NAME}]\npoll_secs = 0.2\n"
                f"allowed_users = {list(self._people.values())}\n")

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.say(text, who=self._people[chat])
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        chats = {number: str(chat) for chat, number in self._people.items()}
        return [Got(chats[chat], _read_file(file) if file else text)
                for chat, text, file in self.platform.sent()]


def _read_file(file: Path) -> str:
    mark = MARK if file.name.startswith(MARK.strip()) else ""
    return mark + file.read_text("utf-8")
