"""Conversations of channels: in memory, in the queue, in session files.

The queue's rows are the truth until they stand in the session file; they
are written there after each commit, and at the start what a killed process
left behind. A conversation is read when its next message comes, and only
the most recent ones stay in memory.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

from claw.agent.history import decode, encode
from claw.core.errors import ClawError, StorageError
from claw.core.labels import sort_labels
from claw.core.log import Log
from claw.core.provider import Chat, ChatMessage, Role
from claw.storage.queue.model import HistoryOp, HistoryRow, Queue
from claw.storage.sessions import SessionStore

KEPT_TURNS = 50
IN_MEMORY = 500
TAIL = 4 * KEPT_TURNS
BATCH = 1000

Turns = list[ChatMessage]


def build_turn(role: Role, text: str,
               labels: Iterable[str] = ()) -> ChatMessage:
    """A turn of "user" or "assistant" that holds, or was made from, text
    of these origins."""
    return ChatMessage(role, text, sort_labels(labels))


def build_append(role: Role, text: str, turn_id: str,
             labels: Iterable[str] = ()) -> HistoryOp:
    """A message for the session file; `turn` says whose it is."""
    return HistoryOp("append", {
        **encode(Chat(build_turn(role, text, labels))), "turn": turn_id})


CLEARED = HistoryOp("clear")


class Histories:
    """The turns of every conversation by its key, newest 50 each.

    `store` None keeps them in memory alone.
    """

    def __init__(self, queue: Queue, store: SessionStore | None,
                 log: Log) -> None:
        self._queue = queue
        self._store = store
        self._log = log
        self._turns: OrderedDict[str, Turns] = OrderedDict()
        self._writing = asyncio.Lock()

    async def get(self, key: str) -> Turns:
        """The turns so far; the list is ours to append to."""
        turns = self._turns.get(key)
        if turns is None:
            turns = self._turns[key] = await self._read(key)
            while len(self._turns) > IN_MEMORY:
                self._turns.popitem(last=False)
        self._turns.move_to_end(key)
        return turns

    async def append(self, key: str, role: Role, text: str,
                     labels: Iterable[str] = (), *,
                     turn_id: str = "") -> HistoryOp:
        """Remember a turn of the running process; what comes back puts it
        into the session file, and the completion commits it."""
        turns = await self.get(key)
        turns.append(build_turn(role, text, labels))
        del turns[:-KEPT_TURNS]
        return build_append(role, text, turn_id, labels)

    async def forget(self, key: str) -> None:
        self._turns[key] = []

    def drop_all(self) -> None:
        """Read every conversation anew when it is next asked for."""
        self._turns.clear()

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """While no session file is written."""
        async with self._writing:
            yield

    def drop(self, key: str) -> None:
        """Read it anew when it is next asked for: what was appended since
        and is not committed has not happened."""
        self._turns.pop(key, None)

    async def write_out(self, *, looking: bool = False) -> int:
        """Put committed changes into the session files; how many. What
        can't be written stays in the queue and is told. `looking` is for
        the start: a kill may have fallen between a file and its mark."""
        work = asyncio.ensure_future(self._write_all(looking))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # The thread can't be stopped: what it writes is marked too,
            # or the next one would write it again.
            await asyncio.gather(work, return_exceptions=True)
            raise

    async def _write_all(self, looking: bool) -> int:
        async with self._writing:
            done = 0
            while rows := await self._queue.read_unwritten(BATCH):
                seqs = await asyncio.to_thread(self._write, rows, looking)
                await self._queue.mark_written(seqs)
                done += len(seqs)
                if len(seqs) < len(rows) or len(rows) < BATCH:
                    break
            return done

    def _write(self, rows: list[HistoryRow], looking: bool) -> list[int]:
        if self._store is None:
            return [row.seq for row in rows]
        written: list[int] = []
        conversations: dict[str, list[HistoryRow]] = {}
        for row in rows:
            conversations.setdefault(row.conversation, []).append(row)
        for key, changes in conversations.items():
            try:
                # A turn's two records are one write.
                for _, group in groupby(changes, lambda row: row.op.op):
                    run = list(group)
                    _apply(self._store, key, run, looking)
                    written += [row.seq for row in run]
            except ClawError as error:
                self._log("session.unwritten", session=key,
                          error=error.message)
        return written

    async def _read(self, key: str) -> Turns:
        """File, then what is committed and not yet in it. The rows are
        read first: one that is written out meanwhile is seen twice, which
        its number tells, and never not at all."""
        pending = await self._queue.pending_history(key)
        records: list[dict[str, Any]] = []
        if self._store is not None:
            try:
                records = await asyncio.to_thread(
                    self._store.tail, key, TAIL)
            except StorageError as error:
                self._log("session.unreadable", session=key,
                          error=error.message)
        known = _numbers(records)
        for row in pending:
            if row.op.op == "clear":
                records, known = [], set()
            elif row.seq not in known:
                records.append(dict(row.op.record))
        return _turns(records)[-KEPT_TURNS:]


def _apply(store: SessionStore, key: str, run: Sequence[HistoryRow],
           looking: bool) -> None:
    """Changes of one kind; with `looking` not again what the file has
    already."""
    if run[0].op.op == "clear":
        store.clear(key)
        return
    known: set[int] = (_numbers(store.tail(key, BATCH)) if looking
                       else set())
    records = [{**row.op.record, "row": row.seq} for row in run
               if row.seq not in known]
    if records:
        store.append(key, records)


def _numbers(records: Iterable[dict[str, Any]]) -> set[int]:
    return {record["row"] for record in records
            if isinstance(record.get("row"), int)}


def _turns(records: Iterable[dict[str, Any]]) -> Turns:
    turns: Turns = []
    for record in records:
        try:
            message = decode(record)
        except StorageError:
            continue  # a damaged line costs that line
        if isinstance(message, Chat) and message.message.role in (
                "user", "assistant"):
            turns.append(message.message)
    return turns
