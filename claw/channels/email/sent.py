"""The folder for what was sent: a copy of each mail, and the place to look
for one whose fate is unknown.

A copy is put there only after the server took the mail, so one that is
there has left. One that is not may have left as well. Where the server
keeps what it sends by itself no copy is added.
"""

import asyncio

from claw.channels.email.listener import open_mailbox
from claw.channels.email.logins import Logins
from claw.channels.email.mailbox import Mailbox
from claw.channels.email.outgoing import OutMail
from claw.channels.email.settings import EmailSettings
from claw.core.errors import ClawError
from claw.core.log import Log

_KEEP_S = 60.0
_CLOSE_S = 5.0
_MOST = 50  # copies that wait; a server that is away for long has no more


class SentFolder:
    """What was sent, as the mailbox has it."""

    def __init__(self, settings: EmailSettings, logins: Logins,
                 log: Log) -> None:
        self._settings = settings
        self._logins = logins
        self._log = log
        self._keeping: set[asyncio.Task[None]] = set()
        self._one = asyncio.Lock()

    def keep(self, mail: OutMail) -> None:
        """Put a copy there, while others go on: it was sent, whatever
        comes of this."""
        if self._settings.save_sent is False \
                or not self._settings.imap_host.strip():
            return
        if len(self._keeping) >= _MOST:
            self._log("sent.unsaved", error="too many copies wait")
            return
        task = asyncio.create_task(self._keep(mail))
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)

    async def _keep(self, mail: OutMail) -> None:
        try:
            async with self._one, asyncio.timeout(_KEEP_S):
                box, folder = await self._open()
                try:
                    if folder is None:
                        self._log("sent.unsaved", error="there is no folder "
                                  "for sent mail")
                    elif not (box.keeps_sent
                              and self._settings.save_sent is None) \
                            and not await self._search(box, folder,
                                                       mail.message_id):
                        await box.append(folder, mail.data)
                finally:
                    box.close()
        except (ClawError, TimeoutError) as error:
            self._log("sent.unsaved", error=str(error)[:200],
                      hint="the mail was sent; its copy is missing")

    async def find(self, message_id: str) -> bool | None:
        """Whether a mail is there; None where there is no such folder.
        Raises what a call raises."""
        if not self._settings.imap_host.strip():
            return None
        if self._keeping:
            await asyncio.wait(self._keeping, timeout=_CLOSE_S)
        box, folder = await self._open()
        try:
            return None if folder is None else await self._search(
                box, folder, message_id)
        finally:
            box.close()

    async def _open(self) -> tuple[Mailbox, str | None]:
        box = await open_mailbox(self._settings, self._logins)
        try:
            return box, await box.find_sent_folder()
        except BaseException:
            box.close()
            raise

    async def _search(self, box: Mailbox, folder: str,
                      message_id: str) -> bool:
        await box.select(folder, readonly=True)
        return bool(await box.search("HEADER", "Message-ID", message_id))

    async def aclose(self) -> None:
        """Wait a moment for the copies that are under way."""
        if self._keeping:
            await asyncio.wait(self._keeping, timeout=_CLOSE_S)
        for task in list(self._keeping):
            task.cancel()
        if self._keeping:
            await asyncio.gather(*self._keeping, return_exceptions=True)
