"""Mattermost, for a proof."""

from typing import Any

from claw.testing.fake_mattermost import FakeMattermost
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said


class MattermostStage(FakeStage[FakeMattermost]):
    """A Mattermost; each chat is somebody's direct messages."""

    name = "mattermost"
    takes_files = True
    doubts = 0

    def __init__(self, *, host: str = HERE) -> None:
        super().__init__(FakeMattermost(), host)
        self._people = {chat: self.platform.person(f"p{chat}")
                        for chat in range(1001, 1101)}
        self._chats = {self.platform.direct(person): str(chat)
                       for chat, person in self._people.items()}

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.mattermost]\n'
                f'url = "{self.platform.url}"\n'
                f'bot_token = "{self.platform.token}"\n'
                f'allowed_users = {list(self._people.values())}\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes, once the bot listens."""
        self.platform.write_when_heard(lambda: self.platform.post(
            text, user=self._people[chat]))
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's posts, in order; one with a file counts twice."""
        return [Got(self._chats[post["channel_id"]], text)
                for post in self.platform.messages()
                for text in self._read(post)]

    def _read(self, post: dict[str, Any]) -> list[str]:
        text = _plain(post["message"])
        mark = MARK if text.startswith(MARK.strip()) else ""
        words = text.removeprefix(mark) if post["file_ids"] else text
        return [*([mark + words] if words.strip() else []), *(
            mark + content.decode()
            for content in self.platform.files_of(post))]


def _plain(message: str) -> str:
    """What is read: without the signs that keep text from being markup."""
    return message.replace("\\", "")
