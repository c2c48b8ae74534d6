"""Signal behind signal-cli's daemon, for a proof."""

from claw.testing.fake_signal import ACCOUNT, FakeSignal, Sent
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import MARK, Got, Said

_FIRST, _LAST = 1001, 1100


def _make_aci(chat: int) -> str:
    return f"00000000-0000-4000-8000-{chat:012d}"


class SignalStage(FakeStage[FakeSignal]):
    """Each chat is a person's. The real daemon forgets what it has handed
    over; this one gives again what was on its way when claw was killed, so
    that what is lost is lost by claw."""

    name = "signal"
    takes_files = True
    doubts = 1

    def __init__(self, *, host: str = HERE) -> None:
        super().__init__(FakeSignal(keeps_s=2.0), host)
        self._chats = {_make_aci(chat): str(chat)
                       for chat in range(_FIRST, _LAST + 1)}

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.signal]\n'
                f'http_url = "{self.platform.url}"\n'
                f'account = "{ACCOUNT}"\n'
                f'allowed_users = {list(self._chats)}\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes, once the bot has been there."""
        self.platform.write_when_heard(lambda: self.platform.post(
            text, aci=_make_aci(chat), number=None))
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order; one with a file counts
        twice."""
        return [Got(self._chats[sent.chat], text)
                for sent in list(self.platform.sent)
                for text in _read(sent)]


def _read(sent: Sent) -> list[str]:
    mark = MARK if sent.text.startswith(MARK.strip()) else ""
    words = sent.text.removeprefix(mark) if sent.files else sent.text
    return [*([words] if words.strip(" ()") and words != MARK.strip()
              else []), *(mark + content.decode("utf-8", "replace")
                          for _, _, content in sent.files)]
