"""The inbox: messages that were accepted, and the turns that answer them.

Plain functions on a connection, inside a transaction of the caller. A
claim is known by its fence and, for each row, by how often that row was
claimed: what was claimed again since is no longer its to finish.
"""

import sqlite3
import uuid
from collections.abc import Sequence
from typing import Any, get_args

from claw.core.errors import LeaseLostError, StorageError, UsageError
from claw.storage.queue import approvals, codec, outbox
from claw.storage.queue.codec import (
    pack,
    pack_or_none,
    unpack,
    unpack_or_none,
)
from claw.storage.queue.departures import Left
from claw.storage.queue.leases import Place, check, is_held
from claw.storage.queue.model import (
    Arrival,
    Claim,
    Completion,
    InboxRow,
    JournalEntry,
    Lease,
    OutboxRow,
    Outcome,
    PendingNotes,
)

_NOTES = "notes:"  # in front of a turn's id, in the journal

COLUMNS = ("seq, conversation, turn_id, received_at, state, attempts,"
           " draft_id, finished_at, reason, payload")
OUTCOMES: tuple[str, ...] = get_args(Outcome)


def read_row(found: Sequence[Any], *, lenient: bool = False) -> InboxRow:
    """A row of COLUMNS. Raises StorageError for a damaged one, which
    `lenient` shows as such."""
    (seq, conversation, turn_id, received_at, state, attempts, draft_id,
     finished_at, reason, payload) = found
    return InboxRow(
        seq, codec.message(payload, f"message {seq} of the inbox",
                           lenient=lenient),
        unpack(conversation), turn_id, received_at, state, attempts,
        unpack_or_none(draft_id), finished_at, unpack_or_none(reason))


def accept(connection: sqlite3.Connection, lease: Lease,
           arrivals: Sequence[Arrival], now: float
           ) -> list[InboxRow | None]:
    check(connection, lease)
    return [_accept_one(connection, arrival, now) for arrival in arrivals]


def _accept_one(connection: sqlite3.Connection, arrival: Arrival,
              now: float) -> InboxRow | None:
    message, turn_id = arrival.message, uuid.uuid4().hex
    # Without an id a redelivery can't be told from a new message.
    message_id = pack(message.id) or f"none:{turn_id}"
    added = connection.execute(
        "INSERT INTO inbox (channel, message_id, conversation, turn_id,"
        " received_at, state, attempts, payload)"
        " VALUES (?, ?, ?, ?, ?, 'waiting', 0, ?)"
        " ON CONFLICT (message_id, channel) DO NOTHING",
        (pack(message.channel), message_id, pack(arrival.conversation),
         turn_id, now, codec.encode(message, "the message")))
    if added.rowcount != 1:
        return None
    return InboxRow(added.lastrowid or 0, message, arrival.conversation,
                    turn_id, now)


def recover(connection: sqlite3.Connection, lease: Lease,
            place: Place, left: Left | None = None) -> int:
    """Rows of this lease, and those of leases that nobody holds (their
    names may never be taken again). `left` says which calls left the
    process that held it."""
    check(connection, lease)
    count = 0
    for table, running, change in _RECOVERED:
        for (name,) in connection.execute(
                f"SELECT DISTINCT lease FROM {table} WHERE {running}"
                ).fetchall():
            if name == pack(lease.name) \
                    or not is_held(connection, unpack(name), place):
                if table == "outbox" and left and pack(left.lease) == name:
                    count += _put_back(connection, name, left)
                count += connection.execute(
                    f"{change} WHERE {running} AND lease = ?",
                    (name,)).rowcount
    return count


def _put_back(connection: sqlite3.Connection, name: str,
              left: Left) -> int:
    """Parts whose call never left are as they were before it."""
    found = connection.execute(
        "SELECT seq, attempts FROM outbox WHERE state = 'sending'"
        " AND lease = ? AND fence = ?", (name, left.fence)).fetchall()
    here = [(seq,) for seq, attempt in found
            if (seq, attempt) not in left.calls]
    connection.executemany(
        "UPDATE outbox SET state = CASE WHEN uncertain = 1 THEN 'uncertain'"
        " ELSE 'waiting' END, attempts = attempts - 1, next_at = 0,"
        " put_at = 0, lease = NULL, fence = NULL WHERE seq = ?", here)
    return len(here)


_RECOVERED = (
    ("inbox", "finished_at IS NULL AND state = 'running'",
     "UPDATE inbox SET state = 'waiting', lease = NULL, fence = NULL"),
    ("outbox", "state = 'sending'",
     "UPDATE outbox SET state = 'uncertain', uncertain = 1, next_at = 0,"
     " put_at = 0, lease = NULL, fence = NULL"),
)


def waiting(connection: sqlite3.Connection) -> list[str]:
    """One index look-up for each conversation, however much waits."""
    found = connection.execute("""
        WITH RECURSIVE heads (conversation) AS (
            SELECT MIN(conversation) FROM inbox
            WHERE finished_at IS NULL AND state = 'waiting'
            UNION ALL
            SELECT (SELECT MIN(inbox.conversation) FROM inbox
                    WHERE finished_at IS NULL AND state = 'waiting'
                    AND inbox.conversation > heads.conversation)
            FROM heads WHERE heads.conversation IS NOT NULL
        )
        SELECT conversation,
            (SELECT MIN(seq) FROM inbox WHERE finished_at IS NULL
             AND state = 'waiting'
             AND inbox.conversation = heads.conversation) AS first
        FROM heads WHERE conversation IS NOT NULL ORDER BY first""")
    return [unpack(conversation) for conversation, _ in found]


def claim(connection: sqlite3.Connection, lease: Lease, conversation: str,
          most: int, now: float) -> Claim | None:
    check(connection, lease)
    key = pack(conversation)
    if connection.execute(
            "SELECT 1 FROM inbox WHERE finished_at IS NULL"
            " AND state = 'running' AND conversation = ? LIMIT 1",
            (key,)).fetchone():
        return None
    rows: list[InboxRow] = []
    while not rows:
        found = connection.execute(
            f"SELECT {COLUMNS} FROM inbox WHERE finished_at IS NULL"
            " AND state = 'waiting' AND conversation = ?"
            " ORDER BY seq LIMIT ?", (key, max(most, 1))).fetchall()
        if not found:
            return None
        rows = _readable(connection, found, now)
    connection.executemany(
        "UPDATE inbox SET state = 'running', attempts = attempts + 1,"
        " lease = ?, fence = ? WHERE seq = ?",
        ((pack(lease.name), lease.fence, row.seq) for row in rows))
    return Claim(tuple(rows), lease.fence)


def _readable(connection: sqlite3.Connection,
              found: Sequence[Sequence[Any]], now: float) -> list[InboxRow]:
    """The rows, to be running; one that is damaged fails and costs nobody
    else anything."""
    rows: list[InboxRow] = []
    for row in found:
        try:
            rows.append(read_row((*row[:4], "running", *row[5:])))
        except StorageError as error:
            connection.execute(
                "UPDATE inbox SET state = 'failed', finished_at = ?,"
                " reason = ? WHERE seq = ?",
                (now, pack(error.message), row[0]))
    return rows


# A row that is still what a claim claimed.
_OURS = ("seq = ? AND state = 'running' AND lease = ? AND fence = ?"
         " AND attempts = ?")


def _ours(lease: Lease, claim: Claim) -> list[tuple[Any, ...]]:
    return [(row.seq, pack(lease.name), claim.fence, row.attempts + 1)
            for row in claim.rows]


def unclaim(connection: sqlite3.Connection, lease: Lease,
            claim: Claim) -> None:
    check(connection, lease)
    connection.executemany(
        "UPDATE inbox SET state = 'waiting', attempts = attempts - 1,"
        f" lease = NULL, fence = NULL WHERE {_OURS}", _ours(lease, claim))


def keep_draft(connection: sqlite3.Connection, lease: Lease, claim: Claim,
               draft_id: str | None) -> None:
    check(connection, lease)
    connection.execute(
        f"UPDATE inbox SET draft_id = ? WHERE {_OURS}",
        (pack_or_none(draft_id), *_ours(lease, claim)[0]))


def complete(connection: sqlite3.Connection, lease: Lease, claim: Claim,
             completion: Completion, now: float) -> list[OutboxRow]:
    check(connection, lease)
    if claim.fence != lease.fence:
        raise LeaseLostError(
            f"turn {claim.turn_id} was claimed before {lease.name} was "
            "lost; it will be answered by who claimed it since")
    if completion.outcome not in OUTCOMES:
        raise UsageError(f"{completion.outcome!r} is no outcome of a turn")
    ours = _ours(lease, claim)
    if not all(connection.execute(
            f"SELECT 1 FROM inbox WHERE {_OURS}", one).fetchone()
            for one in ours):
        return []
    connection.executemany(
        "UPDATE inbox SET state = ?, finished_at = ?, reason = ?,"
        " payload = ?, answered_in = ?, lease = NULL, fence = NULL"
        f" WHERE {_OURS}",
        ((completion.outcome, now, pack_or_none(completion.reason),
          codec.encode(row.message, "the message"),
          None if row.turn_id == claim.turn_id else claim.turn_id, *one)
         for row, one in zip(claim.rows, ours, strict=True)))
    connection.executemany(
        "DELETE FROM journal WHERE turn_id = ?",
        ((row.turn_id,) for row in claim.rows))
    for row in claim.rows:
        approvals.close_all(connection, row.turn_id)
    connection.executemany(
        "INSERT INTO history (conversation, op, record) VALUES (?, ?, ?)",
        ((pack(claim.conversation), change.op,
          codec.encode(change.record, "a record of the history"))
         for change in completion.history))
    _keep_trace(connection, claim.turn_id, completion, now)
    if completion.notes is not None:
        connection.execute(
            "INSERT INTO journal (turn_id, kind, data, written_at)"
            " VALUES (?, 'notes', ?, ?)",
            (f"{_NOTES}{claim.turn_id}",
             codec.encode(completion.notes, "notes"), now))
    return outbox.post(connection, completion.sends, now)


def _keep_trace(connection: sqlite3.Connection, turn_id: str,
                completion: Completion, now: float) -> None:
    """The trace is for people: what JSON can't say in it becomes text."""
    data = codec.encode(completion.trace or {}, "the trace", lenient=True)
    connection.execute(
        "INSERT INTO traces (turn_id, data, finished_at) VALUES (?, ?, ?)"
        " ON CONFLICT (turn_id) DO UPDATE SET data = excluded.data,"
        " finished_at = excluded.finished_at", (turn_id, data, now))


def journal(connection: sqlite3.Connection, lease: Lease, turn_id: str,
            entry: JournalEntry, now: float) -> None:
    check(connection, lease)
    connection.execute(
        "INSERT INTO journal (turn_id, kind, data, written_at)"
        " VALUES (?, ?, ?, ?)",
        (turn_id, entry.kind,
         codec.encode(entry.data, "a step of the turn"), now))


def read_notes(connection: sqlite3.Connection,
               limit: int) -> list[PendingNotes]:
    """Of the journal, but of no running turn."""
    return [PendingNotes(seq, codec.decode(data, f"journal {seq}"))
            for seq, data in connection.execute(
                "SELECT seq, data FROM journal WHERE turn_id >= ?"
                " AND turn_id < ? ORDER BY seq LIMIT ?",
                (_NOTES, f"{_NOTES[:-1]};", limit)).fetchall()]


def drop_notes(connection: sqlite3.Connection, seqs: Sequence[int]) -> None:
    connection.executemany("DELETE FROM journal WHERE seq = ?"
                           " AND kind = 'notes'", ((seq,) for seq in seqs))


def read_journal(connection: sqlite3.Connection,
               turn_id: str) -> list[JournalEntry]:
    return [JournalEntry(kind, codec.decode(data, f"journal {seq}"))
            for seq, kind, data in connection.execute(
                "SELECT seq, kind, data FROM journal WHERE turn_id = ?"
                " ORDER BY seq", (turn_id,)).fetchall()]
