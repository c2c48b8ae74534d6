"""The IMAP half: the commands that claw uses, and no others.

CAPABILITY, LOGIN, AUTHENTICATE (PLAIN, XOAUTH2), LIST, SELECT, EXAMINE, UID
SEARCH/FETCH/STORE, IDLE, APPEND, NOOP, LOGOUT. Source: RFC 9051, 2177, 6154.
"""

import asyncio
import base64
import email
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import Message
from typing import TYPE_CHECKING, Any

from claw.testing.fake_mail.store import Folder, Kept

if TYPE_CHECKING:
    from claw.testing.fake_mail.server import FakeMail

_LITERAL = re.compile(rb"\{(\d+)\+?\}\r\n$")
_TOKEN = re.compile(rb'\s*(?:(\()|(\))|"((?:[^"\\]|\\.)*)"|\x00(\d+)\x00'
                    rb'|((?:\[[^\]]*\]|[^\s()"])+))')


class Hung(Exception):
    """The connection ends here."""


class ImapSession:
    """One client."""

    def __init__(self, server: "FakeMail", reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self._folder: Folder | None = None
        self._known = 0
        self.news = asyncio.Event()

    async def run(self) -> None:
        self._say("* OK ready")
        while True:
            tag, name, args = await self._command()
            fault = self._server.faults.take(name)
            if fault is not None and fault.kind == "stall":
                await asyncio.Event().wait()
            if fault is not None and fault.kind == "reset":
                raise Hung
            if fault is not None and fault.kind == "status":
                self._say(f"{tag} NO {fault.description or 'refused'}")
                continue
            await self._answer(tag, name, args)
            if name == "LOGOUT":
                raise Hung

    # -- the wire

    def _say(self, line: str | bytes) -> None:
        if self._writer.is_closing():
            raise Hung
        self._writer.write((line.encode() if isinstance(line, str)
                            else line) + b"\r\n")

    async def _command(self) -> tuple[str, str, list[Any]]:
        await self._writer.drain()
        whole, literals = b"", list[bytes]()
        while True:
            line = await self._reader.readline()
            if not line:
                raise Hung
            found = _LITERAL.search(line)
            if found is None:
                whole += line
                break
            whole += line[:found.start()] + b"\x00%d\x00" % len(literals)
            self._say("+ go on")
            literals.append(await self._reader.readexactly(int(found[1])))
        words = _parse(whole, literals)
        name = _text(words[1]).upper()
        args = words[2:]
        if name == "UID":
            name, args = _text(args[0]).upper(), args[1:]
        return _text(words[0]), name, args

    # -- commands

    async def _answer(self, tag: str, name: str, args: list[Any]) -> None:
        server = self._server
        if name == "CAPABILITY":
            self._say(f"* CAPABILITY IMAP4rev1 {server.capabilities}")
        elif name == "LOGIN":
            if [_text(a) for a in args] != [server.user, server.password]:
                self._say(f"{tag} NO [AUTHENTICATIONFAILED] wrong")
                return
        elif name == "AUTHENTICATE":
            if not await self._authenticate(_text(args[0]).upper()):
                self._say(f"{tag} NO [AUTHENTICATIONFAILED] wrong")
                return
        elif name == "LIST":
            for folder in server.store.folders:
                mark = "\\Sent" if folder == "Sent" else "\\Marked"
                self._say(f'* LIST ({mark}) "/" "{folder}"')
        elif name in ("SELECT", "EXAMINE"):
            self._folder = server.store.folders.get(_text(args[0]))
            if self._folder is None:
                self._say(f"{tag} NO no such folder")
                return
            self._select(self._folder)
        elif name == "APPEND":
            server.store.folders[_text(args[0])].add(args[-1])
            server.wake()
        elif name == "IDLE":
            await self._idle()
        elif name in ("SEARCH", "FETCH", "STORE") and self._folder:
            with server.store.lock:
                getattr(self, f"_{name.lower()}")(self._folder, args)
        elif name not in ("NOOP", "LOGOUT"):
            server.problems.append(f"IMAP {name} {args!r}")
            self._say(f"{tag} BAD what?")
            return
        if name in ("NOOP", "SEARCH", "FETCH", "STORE"):
            self._tell()
        if name == "LOGOUT":
            self._say("* BYE")
        self._say(f"{tag} OK done")

    async def _authenticate(self, how: str) -> bool:
        self._say("+ ")
        words = base64.b64decode(await self._reader.readline()).decode()
        server = self._server
        if how == "PLAIN":
            return words == f"\0{server.user}\0{server.password}"
        if words == (f"user={server.user}\1auth=Bearer {server.token}\1\1"):
            return True
        self._say("+ " + base64.b64encode(b'{"status":"401"}').decode())
        await self._reader.readline()
        return False

    def _select(self, folder: Folder) -> None:
        self._known = len(folder.mails)
        self._say(f"* {self._known} EXISTS")
        self._say(f"* OK [UIDVALIDITY {folder.validity}] ok")
        self._say(f"* OK [UIDNEXT {folder.next_uid}] ok")

    def _tell(self) -> None:
        if self._folder is not None \
                and len(self._folder.mails) != self._known:
            self._known = len(self._folder.mails)
            self._say(f"* {self._known} EXISTS")

    async def _idle(self) -> None:
        self._say("+ idling")
        done = asyncio.ensure_future(self._reader.readline())
        while not done.done():
            self.news.clear()
            self._tell()
            await self._writer.drain()
            news = asyncio.ensure_future(self.news.wait())
            await asyncio.wait({done, news},
                               return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
        if not done.result():
            raise Hung

    def _search(self, folder: Folder, args: list[Any]) -> None:
        words = [_text(a) for a in args]
        found = " ".join(str(kept.uid) for kept in folder.mails
                         if _matches(folder, kept, list(words)))
        self._say(f"* SEARCH {found}".rstrip())

    def _fetch(self, folder: Folder, args: list[Any]) -> None:
        items = args[1] if isinstance(args[1], list) else [args[1]]
        for number, kept in enumerate(folder.mails, 1):
            if kept.uid not in _uids(folder, _text(args[0])):
                continue
            fields = [b"UID %d" % kept.uid]
            fields += [_field(kept, _text(item).upper()) for item in items]
            self._say(b"* %d FETCH (%s)" % (number, b" ".join(fields)))

    def _store(self, folder: Folder, args: list[Any]) -> None:
        for kept in folder.mails:
            if kept.uid in _uids(folder, _text(args[0])):
                kept.flags |= {_text(flag) for flag in args[2]}


def _parse(line: bytes, literals: list[bytes]) -> list[Any]:
    stack: list[list[Any]] = [[]]
    for found in _TOKEN.finditer(line.rstrip(b"\r\n")):
        opening, closing, quoted, literal, atom = found.groups()
        if opening:
            stack.append([])
        elif closing:
            inner = stack.pop()
            stack[-1].append(inner)
        elif literal is not None:
            stack[-1].append(literals[int(literal)])
        elif quoted is not None:
            stack[-1].append(re.sub(rb"\\(.)", rb"\1", quoted))
        else:
            stack[-1].append(atom)
    return stack[0]


def _text(value: Any) -> str:
    return str(value, "utf-8", "replace")


def _uids(folder: Folder, said: str) -> Iterator[int]:
    most = max((kept.uid for kept in folder.mails), default=0)
    for piece in said.split(","):
        first, _, last = piece.partition(":")
        ends = sorted(most if end == "*" else int(end)
                      for end in (first, last or first))
        yield from range(ends[0], ends[1] + 1)


def _matches(folder: Folder, kept: Kept, words: list[str]) -> bool:
    while words:
        word = words.pop(0).upper()
        if word == "UNSEEN" and "\\Seen" in kept.flags:
            return False
        if word == "UID" and kept.uid not in _uids(folder, words.pop(0)):
            return False
        if word == "SINCE" and kept.at.date() < datetime.strptime(
                words.pop(0), "%d-%b-%Y").replace(tzinfo=UTC).date():
            return False
        if word == "HEADER":
            name, value = words.pop(0), words.pop(0)
            if value not in str(kept.message.get(name, "")):
                return False
    return True


def _field(kept: Kept, item: str) -> bytes:
    if item == "INTERNALDATE":
        return kept.at.strftime(
            'INTERNALDATE "%d-%b-%Y %H:%M:%S +0000"').encode()
    if item == "RFC822.SIZE":
        return b"RFC822.SIZE %d" % len(kept.raw)
    if item == "BODYSTRUCTURE":
        return b"BODYSTRUCTURE " + _structure(
            email.message_from_bytes(kept.raw))
    found = re.fullmatch(r"BODY\.PEEK\[([\w.]*)\](?:<0\.(\d+)>)?", item)
    if found is None:
        return item.encode() + b" NIL"
    data = _section(kept.raw, found[1])[:int(found[2] or 10**9)]
    return b"BODY[%s]<0> {%d}\r\n%s" % (found[1].encode(), len(data), data)


def _section(raw: bytes, section: str) -> bytes:
    head, blank, _ = raw.partition(b"\r\n\r\n")
    if section == "HEADER":
        return head + blank
    if not section:
        return raw
    part: Any = email.message_from_bytes(raw)
    for number in section.split("."):
        if part.is_multipart():
            part = part.get_payload()[int(number) - 1]
    content = part.as_bytes() if part.is_multipart() else part.get_payload(
        ).encode("ascii", "surrogateescape")
    return bytes(content)


def _structure(part: Message) -> bytes:
    def quote(value: str | None) -> bytes:
        return b"NIL" if value is None else b'"%s"' % value.encode()

    if part.is_multipart() and part.get_content_maintype() == "multipart":
        inner = b"".join(_structure(p) for p in part.get_payload())  # type: ignore[arg-type]
        return b"(%s %s)" % (inner, quote(part.get_content_subtype()))
    params = b"NIL" if part.get_content_charset() is None else (
        b'("charset" %s)' % quote(part.get_content_charset()))
    payload = part.get_payload()
    size = len(payload) if isinstance(payload, str) else 0
    name = part.get_filename()
    disposition = b"NIL" if name is None else (
        b'("attachment" ("filename" %s))' % quote(name))
    lines = b" 1" if part.get_content_maintype() == "text" else b""
    return b"(%s %s %s NIL NIL %s %d%s NIL %s NIL)" % (
        quote(part.get_content_maintype()), quote(part.get_content_subtype()),
        params, quote(part.get("Content-Transfer-Encoding", "7bit")), size,
        lines, disposition)
