"""The queue in one SQLite file.

One thread writes: all jobs that wait share one transaction and one wait
for the disk (threads.py). A second thread with a connection of its own
reads, so that looking does not stand behind that wait. The verbs
themselves are plain functions (leases.py, inbox.py, outbox.py,
approvals.py, maintenance.py).
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from claw.core.abilities import Doubt, Report
from claw.core.value import replace
from claw.storage.queue import (
    approvals,
    doubt,
    inbox,
    leases,
    maintenance,
    outbox,
    owner,
    schema,
)
from claw.storage.queue.departures import Departures
from claw.storage.queue.guard import Guard
from claw.storage.queue.model import (
    Approval,
    Arrival,
    Claim,
    Completion,
    HistoryRow,
    Holder,
    InboxRow,
    JournalEntry,
    Lease,
    NewSend,
    OutboxRow,
    PendingNotes,
    Queue,
    QueueCounts,
    Record,
    Reported,
    Seen,
)
from claw.storage.queue.owner import Owner, this_process
from claw.storage.queue.rekey import Rekeyed, Renames, rekey
from claw.storage.queue.threads import Worker, commit_together, read_together
from claw.storage.sqlite import (
    connect,
    make_private,
    make_tables,
    read_version,
    translated,
)

P = ParamSpec("P")
T = TypeVar("T")

_LOG_BYTES = 8 * 2**20  # what a burst leaves of the -wal file


def _keep_all(value: Any) -> Any:
    return value


class SqliteQueue(Queue):
    """The queue of this machine. Opening makes the file and its directory
    where they are missing; raises StorageError, UnavailableError. What a
    turn did and said is kept as `clean` gives the JSON value back."""

    def __init__(self, path: str | Path, *, owner: Owner | None = None,
                 now: Callable[[], float] = time.time,
                 uptime: Callable[[], float] = owner.uptime,
                 clean: Callable[[Any], Any] = _keep_all) -> None:
        self._path = Path(path)
        self._here = owner or this_process()
        self._now = now
        self._uptime = uptime
        self._clean = clean
        self._watch = leases.Watch()
        self._departures = Departures(self._path, self._here)
        writing = _open(self._path)
        try:
            reading = connect(self._path, readonly=True, small=True)
        except BaseException:
            writing.close()
            raise
        self._guard = Guard(self._path)
        self._writer = Worker("queue-write", partial(
            commit_together, writing, self._path, self._guard),
            writing.close)
        self._reader = Worker("queue-read", partial(
            read_together, reading, self._path), reading.close)

    def _write(self, verb: Callable[Concatenate[sqlite3.Connection, P], T],
               *args: P.args, **named: P.kwargs) -> "asyncio.Future[T]":
        return self._writer.submit(
            lambda connection: verb(connection, *args, **named))

    def _light(self, verb: Callable[Concatenate[sqlite3.Connection, P], T],
               *args: P.args, **named: P.kwargs) -> "asyncio.Future[T]":
        return self._writer.submit(
            lambda connection: verb(connection, *args, **named), light=True)

    def _quiet(self, verb: Callable[Concatenate[sqlite3.Connection, P], T],
               *args: P.args, **named: P.kwargs) -> "asyncio.Future[T]":
        return self._writer.submit(
            lambda connection: verb(connection, *args, **named), light=True,
            quiet=True)

    def _read(self, verb: Callable[Concatenate[sqlite3.Connection, P], T],
              *args: P.args, **named: P.kwargs) -> "asyncio.Future[T]":
        return self._reader.submit(
            lambda connection: verb(connection, *args, **named))

    def _place(self) -> leases.Place:
        return leases.Place(self._here, self._uptime(), self._watch)

    # -- leases

    async def lease(self, name: str, ttl_s: float) -> Lease | None:
        return await self._write(leases.take, name, ttl_s, self._place())

    async def renew(self, lease: Lease, ttl_s: float) -> None:
        await self._quiet(leases.renew, lease, ttl_s, self._uptime())

    async def yield_lease(self, lease: Lease) -> None:
        await self._light(leases.give_back, lease)

    async def holder(self, name: str) -> Holder | None:
        return await self._read(leases.holder, name, self._here)

    # -- inbox

    async def accept(self, lease: Lease, arrivals: Sequence[Arrival]
                     ) -> list[InboxRow | None]:
        return await self._write(inbox.accept, lease, tuple(arrivals),
                                 self._now())

    async def recover(self, lease: Lease) -> int:
        count = await self._write(inbox.recover, lease, self._place(),
                                  self._departures.read())
        self._departures.begin(lease)
        return count

    async def waiting(self) -> list[str]:
        return await self._read(inbox.waiting)

    async def claim(self, lease: Lease, conversation: str, *,
                    most: int = 1) -> Claim | None:
        claimed = self._light(inbox.claim, lease, conversation, most,
                              self._now())
        try:
            return await asyncio.shield(claimed)
        except asyncio.CancelledError:
            claimed.add_done_callback(partial(self._give_back, lease))
            raise

    def _give_back(self, lease: Lease,
                   claimed: "asyncio.Future[Claim | None]") -> None:
        """Who asked for a claim is gone: nobody would ever finish it."""
        if claimed.cancelled() or claimed.exception() is not None:
            return
        claim = claimed.result()
        if claim is not None and not self._writer.closed:
            self._light(inbox.unclaim, lease, claim)

    async def unclaim(self, lease: Lease, claim: Claim) -> None:
        await self._light(inbox.unclaim, lease, claim)

    async def complete(self, lease: Lease, claim: Claim,
                       completion: Completion) -> list[OutboxRow]:
        clean = self._clean
        # What waits must stay as it came; what is answered is only looked
        # at from here on.
        claim = replace(claim, rows=tuple(
            replace(row, message=replace(
                row.message, content=clean(row.message.content)))
            for row in claim.rows))
        return await self._write(inbox.complete, lease, claim, replace(
            completion, reason=clean(completion.reason),
            trace=clean(completion.trace), notes=clean(completion.notes),
            history=tuple(
                replace(op, record=clean(op.record))
                for op in completion.history)), self._now())

    async def keep_draft(self, lease: Lease, claim: Claim,
                         draft_id: str | None) -> None:
        await self._light(inbox.keep_draft, lease, claim, draft_id)

    async def journal(self, lease: Lease, turn_id: str,
                      entry: JournalEntry) -> None:
        await self._write(inbox.journal, lease, turn_id, replace(
            entry, data=self._clean(entry.data)), self._now())

    async def read_journal(self, turn_id: str) -> list[JournalEntry]:
        return await self._read(inbox.read_journal, turn_id)

    async def read_notes(self, limit: int = 100) -> list[PendingNotes]:
        return await self._read(inbox.read_notes, limit)

    async def drop_notes(self, seqs: Sequence[int]) -> None:
        await self._light(inbox.drop_notes, tuple(seqs))

    # -- approvals

    async def ask(self, lease: Lease, approval: Approval,
                  send: NewSend) -> Approval:
        return await self._write(approvals.ask, lease, approval, send,
                                 self._now())

    async def approval(self, approval_id: str) -> Approval | None:
        return await self._read(approvals.get, approval_id)

    async def decide(self, approval_id: str, decision: str,
                     sender: str, now: float) -> Approval | None:
        return await self._write(approvals.decide, approval_id, decision,
                                 sender, now)

    async def close_approval(self, lease: Lease, approval_id: str) -> None:
        await self._write(approvals.close, lease, approval_id)

    async def stale_questions(self, limit: int) -> list[OutboxRow]:
        return await self._read(approvals.list_stale, self._now(), limit)

    async def mark_cleared(self, lease: Lease, row: OutboxRow) -> None:
        await self._write(approvals.mark_cleared, lease, row)

    async def rekey(self, lease: Lease, renames: Renames) -> Rekeyed:
        """Bring rows under the id of the person whose name they carry, in
        one transaction."""
        return await self._write(rekey, lease, renames)

    # -- outbox

    async def post(self, sends: Sequence[NewSend]) -> list[OutboxRow]:
        return await self._write(outbox.post, tuple(sends), self._now())

    async def due(self, channel: str, now: float, limit: int
                  ) -> list[OutboxRow]:
        # Under the lock on writing: the commit of another process shows in
        # the fingerprint while it is synced, before anyone can read it.
        rows, damaged = await self._quiet(outbox.due, channel, now, limit)
        if damaged:
            await self._write(outbox.fail_damaged, damaged, self._now())
        return rows

    def fingerprint(self) -> object:
        return self._guard.fingerprint()

    async def next_due(self, channel: str) -> float | None:
        return await self._read(outbox.next_due, channel, self._now())

    async def mark_sending(self, lease: Lease, row: OutboxRow) -> None:
        await self._write(outbox.mark_sending, lease, row)

    def note_leaving(self, row: OutboxRow) -> None:
        self._departures.note(row.seq, row.attempts + 1)

    async def mark_sent(self, lease: Lease, row: OutboxRow,
                        message_id: str | None, *,
                        seen: Seen | None = None) -> None:
        await self._light(outbox.mark_sent, lease, row, message_id,
                          self._now(), seen)
        self._departures.settle(row.seq)

    async def mark_seen(self, lease: Lease, row: OutboxRow,
                        message_id: str | None) -> None:
        await self._light(outbox.mark_seen, lease, row, message_id)

    async def mark_reported(self, lease: Lease, channel: str,
                            report: Report) -> Reported:
        return await self._light(outbox.mark_reported, lease, channel,
                                 report)

    async def silent(self, channel: str, since: float, until: float
                     ) -> list[OutboxRow]:
        return await self._read(outbox.list_silent, channel, since, until)

    async def put_off(self, lease: Lease, row: OutboxRow, next_at: float,
                      error: str, *, uncertain: bool) -> None:
        await self._write(outbox.put_off, lease, row, next_at, error,
                          uncertain, self._now())
        self._departures.settle(row.seq)

    async def mark_failed(self, lease: Lease, row: OutboxRow,
                     error: str) -> None:
        await self._write(outbox.mark_failed, lease, row, error, self._now())
        self._departures.settle(row.seq)

    async def hasten(self, seqs: Sequence[int]) -> None:
        await self._light(outbox.hasten, tuple(seqs))

    async def read_doubt(self, row: OutboxRow) -> Doubt:
        return await self._read(doubt.read, row)

    # -- session files

    async def read_unwritten(self, limit: int = 1000) -> list[HistoryRow]:
        return await self._read(maintenance.history, None, limit)

    async def mark_written(self, seqs: Sequence[int]) -> None:
        await self._light(maintenance.mark_written, tuple(seqs))

    async def pending_history(self, conversation: str
                              ) -> list[HistoryRow]:
        return await self._read(maintenance.history, conversation,
                                maintenance.ALL)

    # -- looking and maintenance

    async def counts(self) -> QueueCounts:
        return await self._read(maintenance.counts, self._now())

    async def inbox_rows(self, *, states: Sequence[str] = (),
                         limit: int = 100) -> list[InboxRow]:
        return await self._read(maintenance.inbox_rows, tuple(states), limit)

    async def outbox_rows(self, *, states: Sequence[str] = (),
                          source: str | None = None, limit: int = 100
                          ) -> list[OutboxRow]:
        return await self._read(maintenance.outbox_rows, tuple(states), source,
                                limit)

    async def trace(self, wanted: str | None) -> Record | None:
        return await self._read(maintenance.trace, wanted)

    async def retry(self, seqs: Sequence[int] = ()) -> int:
        return await self._write(outbox.retry, tuple(seqs))

    async def purge(self, *, older_than_s: float,
                    states: Sequence[str] = ()) -> int:
        before = self._now() - older_than_s
        return await self._repeat(
            maintenance.forget, tuple(states) or maintenance.FINISHED,
            before)

    async def unsent_parts(self, holding: str) -> list[str]:
        return await self._read(maintenance.list_unsent, holding)

    async def purge_channel(self, channel: str) -> int:
        return await self._repeat(maintenance.forget_channel, channel,
                                  self._now())

    async def tend(self) -> int:
        now = self._now()
        return (await self._repeat(maintenance.forget, maintenance.FINISHED,
                                   now - maintenance.PAYLOADS_S)
                + await self._repeat(maintenance.remove,
                                     now - maintenance.IDS_S))

    async def _repeat(self, verb: Callable[
            Concatenate[sqlite3.Connection, P], int],
            *args: P.args, **named: P.kwargs) -> int:
        """Chunk after chunk, so that others can write in between."""
        total = 0
        while changed := await self._write(verb, *args, **named):
            total += changed
        return total

    async def aclose(self) -> None:
        """Finish what was submitted and close the file."""
        await self._writer.aclose()
        await self._reader.aclose()
        self._departures.close()


def _open(path: Path) -> sqlite3.Connection:
    """A connection that writes, to a file with our tables. Messages are
    private: a new file is the owner's alone."""
    make_private(path)
    connection = connect(path, synchronous="FULL", small=True)
    try:
        with translated(path):
            connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")
        version = read_version(connection, path, schema.VERSION)
        if version != schema.VERSION:
            make_tables(connection, path, schema.FROM_1 if version == 1
                        else schema.TABLES, schema.VERSION)
    except BaseException:
        connection.close()
        raise
    return connection
