"""FakeMail: both servers on a loop in a thread of its own."""

import asyncio
import socket
from collections.abc import Callable
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from typing import Any

from claw.testing.fake_mail.imap import Hung, ImapSession
from claw.testing.fake_mail.smtp import SmtpSession
from claw.testing.fake_mail.store import Folder, Kept, Sent, Store
from claw.testing.faults import Faults
from claw.testing.loop_thread import LoopThread

_LIMIT = 2**26
_SESSIONS: tuple[type[ImapSession] | type[SmtpSession], ...] = (
    ImapSession, SmtpSession)


class FakeMail:
    """A server with one account. `problems` are commands that it does not
    have; `capabilities`, `size`, `password` and `token` may be changed."""

    host = "127.0.0.1"
    user = "agent@fake.test"

    def __init__(self) -> None:
        self.password = "a-password-of-the-fake"
        self.token = "a-token-of-the-fake"
        self.capabilities = "IDLE UIDPLUS AUTH=PLAIN AUTH=XOAUTH2"
        self.size = 30 * 2**20
        self.faults = Faults()
        self.problems: list[str] = []
        self.store = Store()
        self.imap_port = self.smtp_port = 0
        self._count = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sessions: set[ImapSession | SmtpSession] = set()
        self._loop = LoopThread("fake-mail")

    def __enter__(self) -> "FakeMail":
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    # -- coming and going

    def up(self) -> None:
        """On the ports of before, where it was up before."""
        listeners = [_listen(self.host, self.imap_port),
                     _listen(self.host, self.smtp_port)]
        self.imap_port, self.smtp_port = (
            int(sock.getsockname()[1]) for sock in listeners)

        self._loop.start()
        self._servers = [self._loop.run(asyncio.start_server(
            self._serve(make), sock=sock, limit=_LIMIT))
            for sock, make in zip(listeners, _SESSIONS, strict=True)]

    def down(self) -> None:
        """Hang up on everyone."""
        if self._loop.running:
            self._loop.run(self._close())
            self._loop.stop()

    def kill_connections(self) -> int:
        """End them all; how many there were."""
        count = len(self._tasks)
        self._loop.run(self._hang_up())
        return count

    def connections(self) -> int:
        return len(self._tasks)

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        await self._hang_up()

    async def _hang_up(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _serve(self, make: type[ImapSession] | type[SmtpSession]
               ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter],
                             Any]:
        async def serve(reader: asyncio.StreamReader,
                        writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            writer.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            session = make(self, reader, writer)
            self._sessions.add(session)
            try:
                await session.run()
            except (Hung, ConnectionError, asyncio.IncompleteReadError,
                    asyncio.CancelledError):
                pass  # a client that went, or was sent away
            except Exception as error:  # the test is told
                self.problems.append(f"the fake failed: {error!r}")
            finally:
                self._tasks.discard(task)
                self._sessions.discard(session)
                writer.transport.abort()
        return serve

    def wake(self) -> None:
        """Tell those who wait that there is news."""
        self._loop.call_soon(self._tell)

    def _tell(self) -> None:
        for session in self._sessions:
            if isinstance(session, ImapSession):
                session.news.set()

    # -- people

    @property
    def inbox(self) -> Folder:
        return self.store.folders["INBOX"]

    @property
    def sent(self) -> list[Sent]:
        with self.store.lock:
            return list(self.store.sent)

    def deliver(self, raw: bytes, at: datetime | None = None,
                flags: tuple[str, ...] = ()) -> Kept:
        """A mail as another server gave it."""
        with self.store.lock:
            kept = self.inbox.add(raw, at, flags)
        self.wake()
        return kept

    def post(self, text: str | bytes = "", *,
             sender: str = "alice@people.test", name: str = "",
             subject: str = "", message_id: str = "", proof: str = "pass",
             at: datetime | None = None, **headers: str) -> Kept:
        """A person writes; `headers` have "_" for "-". The server puts its
        word on top, whether DKIM said `proof`; none where that is ""."""
        self._count += 1
        domain = sender.rpartition("@")[2]
        mail = EmailMessage()
        if proof:
            mail["Authentication-Results"] = (
                f"fake.test; dkim={proof} header.d={domain}")
        mail["From"] = f"{name} <{sender}>" if name else sender
        mail["To"] = self.user
        mail["Date"] = format_datetime(localtime())
        mail["Message-ID"] = message_id or f"<m{self._count}@{domain}>"
        if subject:
            mail["Subject"] = subject
        for header, value in headers.items():
            mail[header.replace("_", "-")] = value
        data = text.encode("utf-8", "surrogatepass") \
            if isinstance(text, str) else text
        mail.set_content(data, maintype="text", subtype="plain", cte="base64",
                         params={"charset": "utf-8"})
        del mail["Content-Disposition"]
        wide = mail.policy.clone(linesep="\r\n", max_line_length=0)
        return self.deliver(mail.as_bytes(policy=wide), at)


def _listen(host: str, port: int) -> socket.socket:
    return socket.create_server((host, port), backlog=128)
