"""DingTalk, for a proof."""

from claw.testing.fake_dingtalk import FakeDingtalk, Message, show
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said

_PEOPLE = [f"user{number}" for number in range(1001, 1101)]


class DingtalkStage(FakeStage[FakeDingtalk]):
    """A DingTalk; each chat is somebody's private one."""

    name = "dingtalk"
    takes_files = True
    doubts = 1

    def __init__(self, *, host: str = HERE) -> None:
        super().__init__(FakeDingtalk(retry_s=1.0), host)

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.dingtalk]\n'
                f'client_id = "{self.platform.client_id}"\n'
                f'client_secret = "{self.platform.secret}"\n'
                f'allowed_users = {_PEOPLE}\n'
                f'api_base_url = "{self.platform.url}"\n'
                f'oapi_base_url = "{self.platform.url}"\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes, once the bot is connected: else it is lost."""
        self.platform.say_once_there(text, f"user{chat}")
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order. A file that may have come
        before is announced by a message before it."""
        found, marked = list[Got](), set[str]()
        for message in self.platform.messages():
            chat = message.chat.removeprefix("user")
            text = _read(message)
            if message.kind == "sampleMarkdown" \
                    and text.startswith(f"{MARK}Document: "):
                marked.add(chat)
                continue
            if message.content and chat in marked:
                marked.discard(chat)
                text = MARK + text
            found.append(Got(chat, text))
        return found


def _read(message: Message) -> str:
    return message.content.decode() if message.content \
        else show(message.text)
