"""Questions to the owner that survive a restart, each answered once."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from claw.core.value import replace
from claw.storage.queue import codec, outbox
from claw.storage.queue.codec import pack, unpack
from claw.storage.queue.leases import check
from claw.storage.queue.model import Approval, Lease, NewSend, OutboxRow

_COLUMNS = ("id, turn_id, key, channel, sender, summary, expires_at,"
            " decision")


def ask(connection: sqlite3.Connection, lease: Lease, approval: Approval,
        send: NewSend, now: float) -> Approval:
    check(connection, lease)
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM approvals WHERE turn_id = ? AND key = ?"
        " AND expires_at >= ? LIMIT 1",
        (pack(approval.turn_id), pack(approval.key), now)).fetchone()
    if found is not None:
        return _read_approval(found)
    connection.execute(
        f"INSERT INTO approvals ({_COLUMNS})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (pack(approval.id), pack(approval.turn_id), pack(approval.key),
         pack(approval.channel), pack(approval.sender),
         pack(approval.summary), approval.expires_at, approval.decision))
    outbox.post(connection, (send,), now)
    return approval


def get(connection: sqlite3.Connection,
        approval_id: str) -> Approval | None:
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM approvals WHERE id = ?",
        (pack(approval_id),)).fetchone()
    return None if found is None else _read_approval(found)


def decide(connection: sqlite3.Connection, approval_id: str,
           decision: str, sender: str, now: float) -> Approval | None:
    decided = connection.execute(
        "UPDATE approvals SET decision = ? WHERE id = ? AND sender = ?"
        " AND decision IS NULL AND expires_at >= ?",
        (decision, pack(approval_id), pack(sender), now))
    return get(connection, approval_id) if decided.rowcount else None


def close(connection: sqlite3.Connection, lease: Lease,
          approval_id: str) -> None:
    check(connection, lease)
    connection.execute("UPDATE approvals SET expires_at = 0 WHERE id = ?",
                       (pack(approval_id),))


def close_all(connection: sqlite3.Connection, turn_id: str) -> None:
    """The turn is over: nobody waits for an answer any more."""
    connection.execute(
        "UPDATE approvals SET expires_at = 0 WHERE turn_id = ?",
        (pack(turn_id),))


def list_stale(connection: sqlite3.Connection, now: float,
               limit: int) -> list[OutboxRow]:
    """The part under which the buttons of each question stand that nobody
    waits for: decided, closed or out of time, sent and not cleared."""
    return outbox.read_rows(connection.execute(
        f"SELECT {outbox.COLUMNS} FROM approvals"
        " JOIN outbox AS o ON o.source = 'approval:' || approvals.id"
        " JOIN sends ON sends.source = o.source"
        " WHERE (approvals.decision IS NOT NULL OR approvals.expires_at < ?)"
        " AND sends.message NOT LIKE '%\"buttons\":[]%'"
        " AND o.state = 'sent' AND o.message_id IS NOT NULL AND o.number ="
        " (SELECT MAX(number) FROM outbox WHERE source = sends.source)"
        " ORDER BY o.seq DESC LIMIT ?", (now, limit)).fetchall())


def mark_cleared(connection: sqlite3.Connection, lease: Lease,
                 row: OutboxRow) -> None:
    """Its message has no buttons any more."""
    check(connection, lease)
    connection.execute(
        "UPDATE sends SET message = ? WHERE source = ?",
        (codec.encode(replace(row.message, buttons=()), "the message"),
         pack(row.source)))


def _read_approval(found: Sequence[Any]) -> Approval:
    (approval_id, turn_id, key, channel, sender, summary, expires_at,
     decision) = found
    return Approval(unpack(approval_id), unpack(turn_id), unpack(key),
                    unpack(channel), unpack(sender), unpack(summary),
                    expires_at, decision)
