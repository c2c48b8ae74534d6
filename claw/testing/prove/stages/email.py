"""A mail server, for a proof."""

from claw.testing.fake_mail import FakeMail
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import Got, Said

_DOMAIN = "people.test"


class EmailStage(FakeStage[FakeMail]):
    """A mailbox; a chat is a thread of one person."""

    name = "email"
    takes_files = True
    doubts = 8

    def __init__(self, host: str = HERE) -> None:
        super().__init__(FakeMail(), host)

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.email]\n'
                f'imap_host = "{self.host}"\n'
                f'imap_port = {self.platform.imap_port}\n'
                f'imap_tls = false\n'
                f'smtp_host = "{self.host}"\n'
                f'smtp_port = {self.platform.smtp_port}\n'
                f'smtp_tls = false\n'
                f'username = "{self.platform.user}"\n'
                f'password = "{self.platform.password}"\n'
                f'allowed_users = ["@{_DOMAIN}"]\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.post(text, sender=f"{chat}@{_DOMAIN}",
                       References=f"<thread-{chat}@{_DOMAIN}>")
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's mails, in order, each with its files."""
        return [Got(sent.recipient.partition("@")[0], "\n\n".join(
            [sent.text, *(content.decode() for content in sent.files)]))
            for sent in self.platform.sent]
