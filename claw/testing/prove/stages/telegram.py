"""Telegram, for a proof."""

from claw.testing.fake_telegram import FakeTelegram
from claw.testing.fake_telegram.model import Sent
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said

POLL_S = 2


class TelegramStage(FakeStage[FakeTelegram]):
    """A Telegram."""

    name = "telegram"
    takes_files = True
    doubts = 8

    def __init__(self, poll_s: int = POLL_S, *,
                 drafts: bool = False, host: str = HERE) -> None:
        super().__init__(FakeTelegram(), host)
        self._poll_s = poll_s
        self._stream_mode = "partial" if drafts else "off"

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.telegram]\n'
                f'bot_token = "{self.platform.token}"\n'
                f'allowed_users = {list(range(1001, 1101))}\n'
                f'api_base_url = "{self.platform.url}"\n'
                f'stream_mode = "{self._stream_mode}"\n'
                f'poll_timeout_secs = {self._poll_s}\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.post(text, chat_id=chat)
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        return [Got(str(m.chat_id), self._read(m), _notice(m), m.deleted)
                for m in self.platform.messages()]

    def _read(self, message: Sent) -> str:
        if message.file_id is None:
            return message.text
        mark = MARK if message.text.startswith(MARK.strip()) else ""
        return mark + self.platform.file(message.file_id).decode()


def _notice(message: Sent) -> str | None:
    """What a phone showed when it came."""
    if message.silent:
        return ""
    return message.history[0] if message.file_id is None else None
