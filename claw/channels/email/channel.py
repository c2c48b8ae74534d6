"""EmailChannel: the contract of core/channel.py over IMAP and SMTP.

What the platform is stands here; the parts that speak to it load when a
channel is made, their libraries when a server is asked.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from claw.channels.connection import works
from claw.channels.email.settings import SETUP, EmailSettings
from claw.core.abilities import Doubt, Finding, TakesReplies
from claw.core.channel import (
    Capabilities,
    Channel,
    ChannelDeps,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.errors import ClawError, ConfigError, MissingPartError
from claw.core.installed import install_command
from claw.core.value import replace

_TABLE = "channels_config.email"
_NEEDED = ("imap_host", "smtp_host", "address")
_HEALTH_S = 10.0
_FILE_BYTES = 25 * 2**20


class EmailChannel(Channel):
    """One mailbox, read alone. Parts, looking for them, closing and
    diagnosis included; nothing is asked of the network before the first
    call."""

    name = "email"
    Settings = EmailSettings
    setup = SETUP
    capabilities = Capabilities(list_back=True, several_connections=False,
                                private_chat_is_person=True)
    first_setting = "imap_host imap.example.org"
    example_recipient = "you@example.org"
    guidance = """## Writing mail

- Your answer is a whole mail: greet, answer, sign off briefly. The subject \
is kept; to name that of a new mail begin with a line "Subject: ...".
- Markdown is shown; do not quote the mail that you answer.
- To send a file, write a marker on a line of its own: [DOCUMENT:path] or \
[IMAGE:path]."""

    def __init__(self, settings: EmailSettings, deps: ChannelDeps, *,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        from importlib.util import find_spec

        from claw.channels.email.intake import Intake
        from claw.channels.email.listener import Listener
        from claw.channels.email.logins import Logins
        from claw.channels.email.sent import SentFolder
        from claw.channels.email.smtp import Courier
        from claw.channels.email.threads import Threads
        from claw.channels.outfiles import OutFiles, mark_received
        for key in _NEEDED:
            if not getattr(settings, key).strip():
                key = "from_address" if key == "address" else key
                raise ConfigError(f"{_TABLE} has no {key}",
                                  hint=f"claw config set {_TABLE}.{key} ...; "
                                  "claw channel setup email tells all")
        missing = [name for name in ("IMAPClient", "aiosmtplib")
                   if find_spec(name.lower()) is None]
        if missing:
            raise MissingPartError(
                f"mail needs {' and '.join(missing)}, not installed here",
                hint=install_command("email"))
        self.settings = settings
        logins = Logins(settings)
        self._logins = logins
        self._threads = Threads(deps.marks)
        self._files = OutFiles(deps, lambda chat: mark_received(
            self.name, chat))
        self._courier = Courier(settings, logins)
        self._sent = SentFolder(settings, logins, deps.log)
        self._intake = Intake(settings, deps, self._threads, self._reply,
                              clock=clock)
        self._listener = Listener(settings, deps, logins, self._intake,
                                  sleep=sleep, now=now)
        self._inbox: Inbox | None = None

    @property
    def poll_time_s(self) -> float:
        return self._listener.wait_s

    @property
    def account(self) -> str:
        given = self.settings
        return (f"email:{given.username.strip().lower()}@"
                f"{given.imap_host.strip().lower()}/{given.imap_folder}")

    async def aclose(self) -> None:
        await self._sent.aclose()

    # -- in

    async def listen(self, inbox: Inbox) -> None:
        self._inbox = inbox
        await self._listener.run(inbox)

    async def _reply(self, key: str, message: SendMessage) -> None:
        """What the channel says of its own."""
        for part in self.parts(message):
            if isinstance(self._inbox, TakesReplies):
                await self._inbox.reply(key, message, part)
            else:
                await self.send_part(message, part)

    # -- out

    def parts(self, message: SendMessage) -> list[Part]:
        """One mail, files and all; its Message-ID is drawn here."""
        from claw.channels.email.outgoing import make_part
        text, files = (self._files.split(message.content, message.recipient)
                       if message.files else (message.content, []))
        files = [*files, *self._files.attached(message.attachments)]
        part = make_part(message, text, files, self._threads,
                         self.settings.address,
                         self.settings.default_subject)
        return [] if part is None else [part]

    async def send_part(self, message: SendMessage, part: Part) -> str:
        return await self.send_part_telling(message, part, lambda: None)

    async def send(self, message: SendMessage) -> None:
        for part in self.parts(message):
            await self.send_part(message, part)

    async def send_part_telling(self, message: SendMessage, part: Part,
                                leaving: Callable[[], None]) -> str:
        import asyncio

        from claw.channels.email.outgoing import build, parse_recipient
        recipient = parse_recipient(message.recipient)
        part, files = await asyncio.to_thread(self._read_files, part)
        mail = await asyncio.to_thread(build, part, recipient,
                                       self.settings.address, files)
        await self._courier.send(mail, leaving)
        self._sent.keep(mail)
        return mail.message_id

    def _read_files(self, part: Part) -> tuple[Part, list[tuple[str, bytes]]]:
        """The files of a part; what can't be read is said in its text."""
        from claw.channels.outfiles import OutsideError
        found: list[tuple[str, bytes]] = []
        for file in part.data.get("files") or ():
            name = str(file["name"])
            try:
                found.append((name, self._files.read(str(file["path"]),
                                                     _FILE_BYTES)))
            except (ClawError, OutsideError, OSError) as error:
                part = replace(part, text=f"{part.text}\n\n({name} can not "
                               f"be sent: {error})")
        return part, found

    def mark_repeated(self, part: Part, note: str) -> Part:
        return replace(part, text=note + part.text)

    async def catch_up(self) -> None:
        """What people write has no part in the ids of our mails."""

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        message_id = str(doubt.part.data["message_id"])
        if message_id in {known for _, known in doubt.owned}:
            return ()
        found = await self._sent.find(message_id)
        return None if found is None else (message_id,) if found else ()

    # -- health

    async def health_check(self) -> bool:
        import asyncio
        try:
            async with asyncio.timeout(_HEALTH_S):
                return await works(self._log_in())
        except TimeoutError:
            return False

    async def _log_in(self) -> None:
        from claw.channels.email.listener import open_mailbox
        box = await open_mailbox(self.settings, self._logins)
        box.close()

    async def diagnose(self) -> list[Finding]:
        from claw.channels.email.diagnose import diagnose
        return await diagnose(self.settings, self._logins, self._courier,
                              self._intake.door.allowed)
