"""A mailbox against the fake server."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from claw.channels.email.channel import EmailChannel
from claw.channels.email.settings import EmailSettings
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.testing.contracts.stage import KeepingInbox, run_listener, until
from claw.testing.fake_mail import FakeMail


class Post:
    """A channel with what surrounds it, ready to be driven by a test."""

    def __init__(self, mail, tmp_path):
        self.mail = mail
        self.inbox = KeepingInbox()
        self.logs = []
        self.slept = []
        self.remembered = []
        self.marks = Marks()
        self.now = 1000.0
        self.wall = time.time()
        self.workspace = tmp_path / "workspace"
        self.workspace.mkdir()
        self.deps = ChannelDeps(
            workspace=self.workspace, files=tmp_path / "files",
            marks=self.marks, log=lambda event, **fields: self.logs.append(
                (event, fields)), remember=self._remember)

    def _remember(self, sender):
        self.remembered.append(sender)
        return True

    def logged(self, event):
        return [fields for name, fields in self.logs if name == event]

    async def _sleep(self, seconds):
        self.slept.append(seconds)
        await asyncio.sleep(0.01)

    def make(self, **given):
        return EmailChannel(EmailSettings(**{
            "imap_host": "127.0.0.1", "imap_port": self.mail.imap_port,
            "imap_tls": False, "smtp_host": "127.0.0.1",
            "smtp_port": self.mail.smtp_port, "smtp_tls": False,
            "username": self.mail.user, "password": self.mail.password,
            "allowed_users": ("alice@people.test", "@friends.test"),
            "auth_results": "fake.test",
            **given}), self.deps, sleep=self._sleep,
            clock=lambda: self.now, now=lambda: self.wall)

    @asynccontextmanager
    async def listening(self, **given):
        channel = self.make(**given)
        try:
            async with run_listener(channel, self.inbox) as self.task:
                yield channel
        finally:
            await channel.aclose()

    def hears(self, count=1, **given):
        """Listen until so many messages are here and the folder is read
        to its end."""
        async def go():
            async with self.listening(**given):
                await until(lambda: self.task.done() or (
                    len(self.inbox.messages) >= count and self.is_read()))
        asyncio.run(go())
        return self.inbox.messages

    def hears_nothing(self, **given):
        assert self.hears(0, **given) == []

    def is_read(self):
        last = self.mail.inbox.next_uid - 1
        return any(f'"uid": {last},' in (self.marks.get(key) or "")
                   for key in self.marks.keys())  # noqa: SIM118

    def sends(self, content="", recipient="alice@people.test", *,
              channel=None, **given):
        async def go():
            sender = channel or self.make()
            await sender.send(SendMessage(content, recipient, **given))
            await sender.aclose()
        asyncio.run(go())
        return self.mail.sent[-1]


@pytest.fixture
def mail():
    with FakeMail() as running:
        yield running
    assert running.problems == []


@pytest.fixture
def post(mail, tmp_path):
    made = Post(mail, tmp_path)
    yield made
    assert mail.password not in repr(made.logs)
