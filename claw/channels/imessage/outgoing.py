"""Sending: parts, the script that sends them, and the rows that they become.

Messages reports success for what it never sends, so the row is looked for
after each send: its guid is the message's id. A row that has not come within
some seconds gives no id; the outbox looks again later.

A file is copied to where Messages may read (it runs in a sandbox): elsewhere
it shows an empty bubble and reports success.
Source: claude-plugins-official#1113, imsg#90 and #249, read 2026-11.
"""

import asyncio
import time
import unicodedata
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from claw.channels.imessage.database import Database
from claw.channels.imessage.mac import (
    SCRIPT,
    Mac,
    NoSuchTargetError,
    ScriptError,
    run_script,
)
from claw.channels.imessage.rows import (
    GROUP,
    NAME,
    FileRow,
    Row,
    Target,
    parse_recipient,
    read_content,
    to_apple,
)
from claw.channels.outfiles import (
    OutFiles,
    OutsideError,
    mark_received,
)
from claw.channels.rendering import disarm, render_plain
from claw.channels.splitting import split_text
from claw.core.abilities import Doubt
from claw.core.channel import ChannelDeps, Part, SendMessage
from claw.core.errors import (
    ClawError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.files import safe_name, save_bytes
from claw.core.folders import make_private
from claw.core.value import replace

TEXT_CHARS = 4000
NOTE_CHARS = 40
FILE_BYTES = 100 * 2**20
APPEARS_S = 3.0
_LOOK_S = 0.1
_SKEW_S = 2.0
_FOLDER = "claw"  # below Attachments
_STAGED_S = 3600.0  # then Messages has long made its own copy


class Sender:
    """The sending half."""

    def __init__(self, mac: Mac, database: Database, deps: ChannelDeps, *,
                 sleep: Callable[[float], Awaitable[Any]],
                 now: Callable[[], float] = time.time) -> None:
        self._mac = mac
        self._database = database
        self._files = OutFiles(deps, lambda chat: mark_received(NAME, chat))
        self._sleep = sleep
        self._now = now
        # Messages does one thing at a time anyway.
        self._turn = asyncio.Lock()

    # -- parts

    def parts(self, message: SendMessage) -> list[Part]:
        """Texts and files, in order; [] for a blank one without files."""
        text, files = (self._files.split(message.content, message.recipient)
                       if message.files else (message.content, []))
        files += self._files.attached(message.attachments)
        lines = [file.text for file in files if not file.path]
        shown = render_plain("\n".join([text, *lines]))
        if message.links is not None:
            shown = disarm(shown, message.links)
        at = self._now()
        return [*(Part("text", piece, {"at": at}) for piece, _ in split_text(
            shown, limit=TEXT_CHARS - NOTE_CHARS)),
            *(Part("file", file.text, {"at": at, "path": file.path,
                                       "name": safe_name(file.name, "file")})
              for file in files if file.path)]

    def mark(self, part: Part, note: str) -> Part:
        """The part with a note in front of what people read: of a file,
        its name."""
        data = dict(part.data)
        if part.kind == "file":
            data["name"] = note + str(data["name"])
        return replace(part, text=note + part.text, data=data)

    # -- sending

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] = lambda: None
                   ) -> str | None:
        """Deliver one part; the guid of its row, None where there is none
        yet. Raises RequestRefusedError, AuthError, UnavailableError."""
        target = parse_recipient(message.recipient)
        content = part.text
        if part.kind == "file":
            try:
                content = str(await asyncio.to_thread(self._stage, part))
            except (ClawError, OutsideError, OSError) as error:
                part = Part("text", f"({part.data.get('name')} can not be "
                            f"sent: {error})", part.data)
                content = part.text
        async with self._turn:
            known = {row.guid for row, _ in await self._read_rows(
                target, part)}
            leaving()
            await self._send(target, part.kind, content)
        return await self._confirm(target, part, known)

    async def _send(self, target: Target, kind: str, content: str) -> None:
        """By the account that the chat has; a person that Messages does not
        find so by the chat that is there."""
        chat = await asyncio.to_thread(self._database.find_chat,
                                       target.identifier)
        guid, service = chat or ("", "")
        ways = [("chat", known) for known in dict.fromkeys((
            guid or f"any;+;{target.identifier}",
            f"iMessage;+;{target.identifier}"))] if target.is_group else [
            ("sms" if service in ("SMS", "RCS") else "imessage",
             target.identifier), *([("chat", guid)] if guid else [])]
        for way, name in ways[:-1]:
            try:
                await run_script(self._mac, SCRIPT, kind, way, name, content)
                return
            except NoSuchTargetError:
                continue
        await run_script(self._mac, SCRIPT, kind, *ways[-1], content)

    async def _confirm(self, target: Target, part: Part,
                       known: set[str]) -> str | None:
        waited = 0.0
        while True:
            rows = [row for row, files in await self._read_rows(target, part)
                    if row.guid not in known and _is_it(row, files, part)]
            for row in filter(lambda row: row.error, rows):
                raise explain_error(row.error)
            if done := [row.guid for row in rows if row.is_sent]:
                return done[0]
            if waited >= APPEARS_S:
                return None
            await self._sleep(_LOOK_S)
            waited += _LOOK_S

    async def _read_rows(self, target: Target, part: Part
                         ) -> list[tuple[Row, list[FileRow]]]:
        at = part.data.get("at")
        since = float(at) if isinstance(at, int | float) else self._now()
        return await asyncio.to_thread(
            self._database.read_sent, target.identifier,
            to_apple(since - _SKEW_S))

    def _stage(self, part: Part) -> Path:
        """A copy where Messages may read. Raises OutsideError, ClawError,
        OSError."""
        content = self._files.read(str(part.data["path"]), FILE_BYTES)
        folder = self._mac.folder / "Attachments" / _FOLDER
        make_private(folder)
        for old in folder.iterdir():
            if old.stat().st_mtime < self._now() - _STAGED_S:
                for file in old.iterdir():
                    file.unlink(missing_ok=True)
                old.rmdir()
        return save_bytes(folder / uuid.uuid4().hex,
                          str(part.data["name"]), content)

    # -- finding

    async def find(self, doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says. A row may come a moment after the kill: the
        script lives on. Raises UnavailableError, AuthError."""
        target = parse_recipient(doubt.message.recipient)
        known = {given for _, given in (*doubt.before, *doubt.owned)}
        waited = 0.0
        while True:
            rows = [row for row, files in await self._read_rows(
                target, doubt.part) if row.guid not in known
                and not row.error and _is_it(row, files, doubt.part)]
            if any(not row.is_sent for row in rows):
                raise ScriptError("Messages is still sending it")
            if rows or waited >= APPEARS_S:
                return tuple(row.guid for row in rows)
            await self._sleep(_LOOK_S)
            waited += _LOOK_S


def explain_error(number: int) -> UnavailableError:
    """What the number in a message's row means: it stands there with a red
    mark. It is not sent again by itself, since each try leaves another."""
    why = {22: "the recipient has no iMessage"}.get(
        number, "see the red mark in Messages")
    return RequestRefusedError(
        f"Messages could not deliver it (error {number}): {why}",
        hint="claw queue retry sends it again; for people without iMessage "
             f"set channels_config.{NAME}.sms")


def _is_it(row: Row, files: list[FileRow], part: Part) -> bool:
    if part.kind == "file":
        return any(_fold(file.name) == _fold(str(part.data.get("name")))
                   for file in files)
    return _fold(read_content(row)) == _fold(part.text)


def _fold(text: str) -> str:
    """As Messages may keep it: composed, other white space at the ends."""
    return unicodedata.normalize("NFC", text).strip()


def reply_key(row: Row) -> str:
    """Under which the outbox keeps what the channel says of its own."""
    return f"{row.reply_target.removeprefix(GROUP)}:{row.guid}"
