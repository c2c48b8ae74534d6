"""Receiving: the rows of chat.db, in their order, each once.

Marks: "at" is the last row that was dealt with (its number, its guid, its
time), "edited" the time of the last edit, "from" when claw began: what is
older is never read, and the first start reads nothing. A row's guid is the
message's id, so that a database that was built anew (Messages in iCloud) or
put back brings nothing twice.

Bounds: after an outage messages of the last seven days are read; edits are
found among the last 2,000 rows.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from claw.channels.connection import Connection, put_all
from claw.channels.imessage.database import PAGE, Database
from claw.channels.imessage.intake import Intake
from claw.channels.imessage.rows import Row, read_content, to_apple
from claw.core.channel import ChannelDeps, ChannelMessage, Inbox
from claw.core.errors import UnavailableError

OUTAGE_S = 7 * 86_400
LOOK_S = 30.0  # until the database is read whatever its files say
# A row is written before it is put in its chat, and its words a moment after.
_UNREADY_S = 5.0
_OVERLAP_NS = 120 * 10**9


class Listener:
    """One reader of one database."""

    def __init__(self, database: Database, intake: Intake,
                 deps: ChannelDeps, poll_s: float, *,
                 sleep: Callable[[float], Awaitable[Any]],
                 clock: Callable[[], float], now: Callable[[], float]
                 ) -> None:
        self._database = database
        self._intake = intake
        self._marks = deps.marks
        self._log = deps.log
        self._poll_s = poll_s
        self._sleep = sleep
        self._clock = clock
        self._now = now
        self._link = Connection(deps.log, sleep)
        self._since: dict[str, float] = {}  # unready rows: first seen

    async def run(self, inbox: Inbox) -> None:
        self._link.begin(inbox)
        self._intake.door.open_pairing()
        seen: object = None
        looked = float("-inf")
        checked = False
        while True:
            try:
                print_now = self._database.fingerprint()
                if (print_now is None or print_now != seen or self._since
                        or self._clock() - looked > LOOK_S):
                    checked = checked or await self._start()
                    if not await self._look(inbox):
                        seen, looked = print_now, self._clock()
                        checked = print_now is not None
                self._link.recover()
            except UnavailableError as error:
                checked, seen = False, None
                await self._link.wait_out(error)
                continue
            await self._sleep(self._poll_s)

    # -- where to begin

    async def _start(self) -> bool:
        """Set the marks at the first start; afterwards see whether this is
        still the same database."""
        at = self._at()
        if at is None:
            highest, last = await asyncio.to_thread(self._database.newest)
            began = to_apple(self._now())
            self._marks.set("from", str(min(
                began, last.date if last and last.date > 10**12 else began)))
            self._marks.set("edited", str(began))
            self._note(highest, last.guid if last else "", began)
            return True
        rowid, guid, date = at
        highest, there = await asyncio.to_thread(
            self._database.guid_at, rowid)
        if highest < rowid or (there is not None and guid
                               and there != guid):
            self._log("database_replaced", hint="Messages' database is "
                      "another one than before: it is read from where the "
                      "last message was written")
            first = await asyncio.to_thread(
                self._database.first_since, date - _OVERLAP_NS)
            self._note(first - 1 if first else highest, "", date)
        return True

    def _at(self) -> tuple[int, str, int] | None:
        try:
            rowid, guid, date = json.loads(self._marks.get("at") or "null")
            return int(rowid), str(guid), int(date)
        except (ValueError, TypeError):
            return None

    def _note(self, rowid: int, guid: str, date: int) -> None:
        self._marks.set("at", json.dumps([rowid, guid, date]))

    # -- reading

    async def _look(self, inbox: Inbox) -> bool:
        """Deal with what is new; whether there is more."""
        at = self._at()
        assert at is not None, "the start has set it"
        edited = int(self._marks.get("edited") or 0)
        for row in await asyncio.to_thread(
                self._database.read_edited, at[0], edited):
            await self._put(inbox, [row])
            self._marks.set("edited", str(max(edited, row.edited)))
        rows = await asyncio.to_thread(self._database.read_after, at[0])
        ready = await self._ready(rows)
        if ready:
            await self._put(inbox, ready)
            last = ready[-1]
            self._note(last.rowid, last.guid, max(at[2], last.date))
        return len(ready) == PAGE

    async def _ready(self, rows: list[Row]) -> list[Row]:
        """The rows before the first that is not written whole yet. Those
        behind it wait too: order is kept."""
        for number, row in enumerate(rows):
            if row.is_from_me or not row.is_said or await self._is_whole(row):
                continue
            first = self._since.setdefault(row.guid, self._clock())
            if self._clock() - first < _UNREADY_S:
                return rows[:number]
        self._since.clear()
        return rows

    async def _is_whole(self, row: Row) -> bool:
        return bool(row.chat) and bool(read_content(row) or (
            await asyncio.to_thread(self._database.read_files, row.rowid)))

    async def _put(self, inbox: Inbox, rows: list[Row]) -> None:
        found: list[ChannelMessage] = []
        for row in filter(self._is_news, rows):
            files = [] if row.is_from_me else await asyncio.to_thread(
                self._database.read_files, row.rowid)
            message = await self._intake.read(row, files, self._link.heard)
            if message is not None:
                found.append(message)
        await put_all(inbox, found)

    def _is_news(self, row: Row) -> bool:
        """Whether it was written since claw began, and not too long ago."""
        moment = row.edited or row.date
        if moment < int(self._marks.get("from") or 0):
            return False
        is_old = moment < to_apple(self._now() - OUTAGE_S)
        if is_old and not row.is_from_me:
            self._log("message_left_out", chat=row.reply_target,
                      hint="it is older than seven days")
        return not is_old
