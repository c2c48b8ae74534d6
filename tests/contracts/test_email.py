"""The mail channel against the contract of all channels."""

from contextlib import contextmanager

from claw.channels.email.channel import EmailChannel
from claw.channels.email.settings import EmailSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.contracts.channel import ChannelContract, Stage
from claw.testing.fake_mail import FakeMail

FAULTS = {
    "reset": "reset",
    "busy": "status",
}


class EmailStage(Stage):
    recipient = "alice@people.test"

    def __init__(self, mail, folder):
        self.mail, self.folder = mail, folder
        self.secret = mail.password
        self.person = ""
        self.marks = Marks()
        super().__init__()

    def make(self):
        return EmailChannel(EmailSettings(
            imap_host="127.0.0.1", imap_port=self.mail.imap_port,
            imap_tls=False, smtp_host="127.0.0.1",
            smtp_port=self.mail.smtp_port, smtp_tls=False,
            username=self.mail.user, password=self.mail.password,
            allowed_users=("@people.test",)), ChannelDeps(
                workspace=self.folder, files=self.folder / "files",
                log=self.log, marks=self.marks))

    async def say(self, text):
        self.mail.post(text, name=self.person)

    async def rename(self):
        self.person = "Alicia"
        return True

    def shown(self):
        return [sent.text for sent in self.mail.sent]

    def acknowledged(self):
        return all("\\Seen" in kept.flags for kept in self.mail.inbox.mails)

    def fail(self, how):
        if how == "away":
            self.mail.down()
        elif how == "unauthorized":
            self.mail.password = "another"
        else:
            self.mail.faults.add("*", FAULTS[how], times=None, status=451)

    def connections(self):
        return self.mail.connections()


class TestEmail(ChannelContract):
    name = "email"
    failures = ("reset", "busy", "unauthorized", "away")
    drawn = ("message_id",)

    @contextmanager
    def running(self):
        with FakeMail() as mail:
            yield EmailStage(mail, self.tmp_path)
        assert mail.problems == []
