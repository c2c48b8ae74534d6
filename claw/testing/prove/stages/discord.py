"""Discord, for a proof: direct messages, as many as there are people."""

from claw.testing.fake_discord import FakeDiscord, Sent
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said


class DiscordStage(FakeStage[FakeDiscord]):
    """A Discord. What is in doubt has a nonce, and is shown once."""

    name = "discord"
    takes_files = True
    doubts = 0

    def __init__(self, *, drafts: bool = False, host: str = HERE) -> None:
        super().__init__(FakeDiscord(), host)
        self._stream_mode = "partial" if drafts else "off"

    def settings(self) -> str:
        """The table of config.toml."""
        people = [str(number) for number in range(1001, 1101)]
        return (f'[channels_config.discord]\n'
                f'bot_token = "{self.platform.token}"\n'
                f'allowed_users = {people}\n'
                f'api_base_url = "{self.platform.api_url}"\n'
                f'stream_mode = "{self._stream_mode}"\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.post(text, str(chat))
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        return [Got(m.channel_id, _read(m), _notice(m), m.deleted)
                for m in self.platform.messages()]


def _read(message: Sent) -> str:
    """The text as people see it: without the backslashes of escapes."""
    if message.file is None:
        return message.text.replace("\\", "")
    mark = MARK if message.text.startswith(MARK.strip()) else ""
    return mark + message.file.decode()


def _notice(message: Sent) -> str | None:
    """What a phone showed when it came."""
    if message.silent:
        return ""
    return (message.history[0].replace("\\", "")
            if message.file is None else None)
