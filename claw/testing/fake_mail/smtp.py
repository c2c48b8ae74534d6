"""The SMTP half: submission with a password or a token.

Faults strike by the verb; "content" is the end of a mail. Source: RFC 5321,
4954, 1870.
"""

import asyncio
import base64
from typing import TYPE_CHECKING

from claw.testing.fake_mail.imap import Hung
from claw.testing.fake_mail.store import Sent

if TYPE_CHECKING:
    from claw.testing.fake_mail.server import FakeMail


class SmtpSession:
    """One client."""

    def __init__(self, server: "FakeMail", reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self._sender = self._recipient = ""
        self._logged_in = False

    async def run(self) -> None:
        await self._say("220 fake.test ready")
        while True:
            line = await self._line()
            verb = line.split(" ")[0].upper()
            if not await self._struck(verb):
                await self._answer(verb, line)

    async def _line(self) -> str:
        line = await self._reader.readline()
        if not line:
            raise Hung
        return line.decode("utf-8", "replace").rstrip("\r\n")

    async def _say(self, *lines: str) -> None:
        self._writer.write("".join(f"{one}\r\n" for one in lines).encode())
        await self._writer.drain()

    async def _struck(self, verb: str) -> bool:
        fault = self._server.faults.take(verb)
        if fault is None or fault.kind == "reset_after":
            return False
        if fault.kind == "stall":
            await asyncio.Event().wait()
        if fault.kind == "reset":
            raise Hung
        await self._say(f"{fault.status} "
                        f"{fault.description or 'not now'}")
        return True

    async def _answer(self, verb: str, line: str) -> None:
        if verb == "EHLO":
            await self._say("250-fake.test", f"250-SIZE {self._server.size}",
                            "250-8BITMIME", "250-SMTPUTF8",
                            "250 AUTH PLAIN XOAUTH2")
        elif verb == "AUTH":
            await self._authenticate(line.split(" "))
        elif verb == "MAIL" and self._logged_in:
            self._sender = _address(line)
            await self._say("250 ok")
        elif verb == "RCPT" and self._sender:
            self._recipient = _address(line)
            await self._say("250 ok")
        elif verb == "DATA" and self._recipient:
            await self._data()
        elif verb == "QUIT":
            await self._say("221 bye")
            raise Hung
        elif verb in ("RSET", "NOOP"):
            await self._say("250 ok")
        else:
            self._server.problems.append(f"SMTP {line}")
            await self._say("503 what?")

    async def _authenticate(self, words: list[str]) -> None:
        server = self._server
        said = base64.b64decode(words[2]).decode()
        if words[1].upper() == "PLAIN":
            good = said == f"\0{server.user}\0{server.password}"
        else:
            good = said == (f"user={server.user}\1auth=Bearer "
                            f"{server.token}\1\1")
        self._logged_in = good
        await self._say("235 welcome" if good else "535 5.7.8 wrong")

    async def _data(self) -> None:
        await self._say("354 go on")
        lines: list[bytes] = []
        while (line := await self._reader.readline()) != b".\r\n":
            if not line:
                raise Hung
            lines.append(line.removeprefix(b"."))
        if any(len(one) > 1000 for one in lines):
            self._server.problems.append("SMTP: a line of over 998 bytes")
        if await self._struck("content"):
            return
        faults = self._server.faults
        with self._server.store.lock:
            self._server.store.sent.append(Sent(
                self._sender, self._recipient, b"".join(lines)))
        fault = faults.take("after content")
        if fault is not None:  # taken, and nobody hears of it
            raise Hung
        await self._say("250 2.0.0 taken")


def _address(line: str) -> str:
    return line.partition("<")[2].partition(">")[0]
