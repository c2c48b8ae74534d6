"""The outbox: parts of messages on their way to a platform.

Plain functions on a connection, inside a transaction of the caller. A
chat is a channel and a recipient, with all its threads: messages of one
thread can't be told from those of another by their ids, so there is never
more than one whose fate is unknown. Its open parts go out one by one in the
order of `seq`. `sends` holds a message once, whatever the number of its
parts.
"""

import math
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from claw.core.abilities import Report
from claw.core.channel import SendMessage, strip_thread
from claw.core.errors import LeaseLostError, StorageError, UsageError
from claw.storage.queue import codec
from claw.storage.queue.codec import (
    pack,
    pack_or_none,
    unpack,
    unpack_or_none,
)
from claw.storage.queue.leases import check
from claw.storage.queue.model import (
    Lease,
    NewSend,
    OutboxRow,
    Reported,
    Seen,
)

# A part that was put off by a clock that is ahead of now by more than this
# is due: the clock was set back, and its `next_at` may be hours away. (A
# limit on `next_at` itself would cut waits that a platform asked for.)
CLOCK_SLACK_S = 60.0

COLUMNS = ("o.seq, o.source, o.number, o.channel, sends.message, o.part,"
           " o.state, o.message_id, o.uncertain, o.attempts, o.next_at,"
           " o.error, o.created_at, o.finished_at, o.seen")
# Of one source: a long message is read with its first part alone.
COLUMNS_ONCE = COLUMNS.replace(
    "sends.message", "CASE o.number WHEN (SELECT MIN(number) FROM outbox"
    " WHERE source = o.source) THEN sends.message END")
REPORTED = 3000  # rows back from the newest that a report can be about
NOT_THERE = "the platform took it, and it is not there"
TABLES = "outbox AS o JOIN sends ON sends.source = o.source"

# The first open part of each chat of a channel in which none is being
# sent: one index look-up for a chat, however much waits in it.
_HEADS = """
WITH RECURSIVE chats (chat) AS (
    SELECT MIN(chat) FROM outbox
    WHERE finished_at IS NULL AND channel = :channel
    UNION ALL
    SELECT (SELECT MIN(outbox.chat) FROM outbox
            WHERE finished_at IS NULL AND channel = :channel
            AND outbox.chat > chats.chat)
    FROM chats WHERE chats.chat IS NOT NULL
), heads (seq) AS (
    SELECT (SELECT MIN(outbox.seq) FROM outbox
            WHERE finished_at IS NULL AND channel = :channel
            AND outbox.chat = chats.chat)
    FROM chats WHERE chats.chat IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM outbox AS busy WHERE busy.state = 'sending'
        AND busy.channel = :channel AND busy.chat = chats.chat)
)
"""


def read_rows(found: Iterable[Sequence[Any]]) -> list[OutboxRow]:
    """Rows of COLUMNS; a message of many parts is decoded once, and a
    damaged part is shown as such."""
    messages: dict[str, SendMessage] = {}
    return [_read_row(row, messages, lenient=True) for row in found]


def _read_row(found: Sequence[Any], messages: dict[str, SendMessage], *,
            lenient: bool = False) -> OutboxRow:
    (seq, source, number, channel, message, part, state, message_id,
     uncertain, attempts, next_at, error, created_at, finished_at,
     seen) = found
    what = f"part {seq} of the outbox"
    if source not in messages:
        messages[source] = codec.send(message, what, lenient=lenient)
    return OutboxRow(
        seq, unpack(source), number, unpack(channel), messages[source],
        codec.part(part, what, lenient=lenient), state,
        unpack_or_none(message_id), bool(uncertain), attempts, next_at,
        unpack_or_none(error), created_at,
        finished_at if state == "sent" else None, seen)


def post(connection: sqlite3.Connection, sends: Sequence[NewSend],
         now: float) -> list[OutboxRow]:
    return [row for send in sends for row in _post_one(connection, send, now)]


def _post_one(connection: sqlite3.Connection, send: NewSend,
            now: float) -> list[OutboxRow]:
    if not send.parts or connection.execute(
            "INSERT INTO sends (source, message, created_at)"
            " VALUES (?, ?, ?) ON CONFLICT (source) DO NOTHING",
            (pack(send.source), codec.encode(send.message, "the message"),
             now)).rowcount != 1:
        return []
    first_text = next((number for number, part in enumerate(send.parts)
                       if part.kind == "text"), None)
    return [_add(connection, send, number,
                 send.draft_id if number == first_text else None, now)
            for number in range(len(send.parts))]


def _add(connection: sqlite3.Connection, send: NewSend, number: int,
         message_id: str | None, now: float) -> OutboxRow:
    part = send.parts[number]
    added = connection.execute(
        "INSERT INTO outbox (source, number, channel, chat, state,"
        " message_id, uncertain, attempts, next_at, put_at, created_at,"
        " part) VALUES (?, ?, ?, ?, 'waiting', ?, 0, 0, 0, 0, ?, ?)",
        (pack(send.source), number, pack(send.channel),
         chat_key(send.message), pack_or_none(message_id), now,
         codec.encode(part, "a part of the message")))
    return OutboxRow(added.lastrowid or 0, send.source, number,
                     send.channel, send.message, part,
                     message_id=message_id, created_at=now)


def chat_key(message: SendMessage) -> str:
    """The chat of a message, as rows name it. (Older versions wrote a
    thread beside the recipient.)"""
    return codec.encode([strip_thread(message), None], "the recipient")


def due(connection: sqlite3.Connection, channel: str, now: float,
        limit: int) -> tuple[list[OutboxRow], list[int]]:
    """Parts that may go, and the numbers of damaged ones."""
    rows: list[OutboxRow] = []
    damaged: list[int] = []
    messages: dict[str, SendMessage] = {}
    for found in connection.execute(
        f"{_HEADS} SELECT {COLUMNS} FROM heads CROSS JOIN {TABLES}"
        " WHERE o.seq = heads.seq"
        " AND (o.next_at <= :now OR o.put_at > :ahead)"
        " ORDER BY o.seq LIMIT :limit",
        {"channel": pack(channel), "now": now,
         "ahead": now + CLOCK_SLACK_S, "limit": max(limit, 0)}).fetchall():
        try:
            rows.append(_read_row(found, messages))
        except StorageError:
            damaged.append(found[0])
    return rows, damaged


def fail_damaged(connection: sqlite3.Connection, seqs: Sequence[int],
                 now: float) -> None:
    """Parts that nobody can read: they hold up their chat no longer."""
    connection.executemany(
        "UPDATE outbox SET state = 'failed', finished_at = ?, error = ?"
        " WHERE seq = ? AND finished_at IS NULL",
        ((now, pack("the part is damaged"), seq) for seq in seqs))


def next_due(connection: sqlite3.Connection, channel: str,
             now: float) -> float | None:
    found: tuple[float | None] = connection.execute(
        f"{_HEADS} SELECT MIN(CASE WHEN o.put_at > :ahead THEN 0"
        " ELSE o.next_at END)"
        " FROM heads CROSS JOIN outbox AS o WHERE o.seq = heads.seq",
        {"channel": pack(channel), "ahead": now + CLOCK_SLACK_S}
    ).fetchone()
    return found[0]


def mark_sending(connection: sqlite3.Connection, lease: Lease,
            row: OutboxRow) -> None:
    check(connection, lease)
    if connection.execute(
            "UPDATE outbox SET state = 'sending', attempts = attempts + 1,"
            " lease = ?, fence = ? WHERE seq = ?"
            " AND state IN ('waiting', 'uncertain') AND NOT EXISTS ("
            "SELECT 1 FROM outbox AS busy WHERE busy.state = 'sending'"
            " AND busy.channel = outbox.channel"
            " AND busy.chat = outbox.chat)",
            (pack(lease.name), lease.fence, row.seq)).rowcount != 1:
        raise LeaseLostError(
            f"part {row.number} of {row.source} is not ours to send: it, "
            "or another part for this chat, is on its way or finished")


def mark_sent(connection: sqlite3.Connection, lease: Lease, row: OutboxRow,
         message_id: str | None, now: float,
         seen: Seen | None = None) -> None:
    check(connection, lease)
    connection.execute(
        "UPDATE outbox SET state = 'sent', finished_at = ?, error = NULL,"
        " message_id = COALESCE(?, message_id), seen = ?, lease = NULL,"
        " fence = NULL WHERE seq = ? AND finished_at IS NULL",
        (now, pack_or_none(message_id), seen, row.seq))


def mark_seen(connection: sqlite3.Connection, lease: Lease, row: OutboxRow,
              message_id: str | None) -> None:
    check(connection, lease)
    if message_id is not None:
        connection.execute(
            "UPDATE outbox SET seen = 'verified', message_id = ?"
            " WHERE seq = ?", (pack(message_id), row.seq))
        return
    connection.execute("UPDATE outbox SET seen = 'not there' WHERE seq = ?",
                       (row.seq,))
    connection.execute(
        "UPDATE outbox SET state = 'failed', error = ?"
        " WHERE seq = ? AND finished_at IS NOT NULL AND state = 'sent'",
        (NOT_THERE, row.seq))


def mark_reported(connection: sqlite3.Connection, lease: Lease, channel: str,
                  report: Report) -> Reported:
    """A failure is the last word: reports come in any order."""
    check(connection, lease)
    found = connection.execute(
        "SELECT seq FROM outbox WHERE seq > (SELECT MAX(seq) FROM outbox) - ?"
        " AND channel = ? AND message_id = ? ORDER BY seq DESC LIMIT 1",
        (REPORTED, pack(channel), pack(report.message_id))).fetchone()
    if found is None:
        return "under way" if report.key and connection.execute(
            "SELECT 1 FROM outbox WHERE state = 'sending' AND channel = ?"
            " AND json_extract(part, '$.data.key') = ?",
            (pack(channel), report.key)).fetchone() else "unknown"
    if report.error is None:
        changed = connection.execute(
            "UPDATE outbox SET seen = 'verified' WHERE seq = ?"
            " AND state = 'sent' AND seen IS NULL", found)
    else:
        changed = connection.execute(
            "UPDATE outbox SET state = 'failed', seen = 'not there',"
            " error = ? WHERE seq = ? AND state = 'sent'"
            " AND finished_at IS NOT NULL", (pack(report.error), *found))
    return "kept" if changed.rowcount else "known"


def list_silent(connection: sqlite3.Connection, channel: str, since: float,
                until: float) -> list[OutboxRow]:
    return read_rows(connection.execute(
        f"SELECT {COLUMNS} FROM {TABLES} WHERE o.state = 'sent'"
        " AND o.finished_at IS NOT NULL AND o.finished_at BETWEEN ? AND ?"
        " AND o.channel = ? AND o.message_id IS NULL AND o.seen IS NULL"
        " ORDER BY o.seq LIMIT 100", (since, until, pack(channel))))


def put_off(connection: sqlite3.Connection, lease: Lease, row: OutboxRow,
            next_at: float, error: str, uncertain: bool,
            now: float) -> None:
    """Once in doubt, in doubt: an attempt that failed says nothing of the
    one before it."""
    if not math.isfinite(next_at):
        raise UsageError(f"{next_at} is no time to try again at")
    check(connection, lease)
    connection.execute(
        "UPDATE outbox SET uncertain = CASE WHEN ? = 1 THEN 1"
        " ELSE uncertain END, state = CASE WHEN ? = 1 OR uncertain = 1"
        " THEN 'uncertain' ELSE 'waiting' END, next_at = ?, put_at = ?,"
        " error = ?, lease = NULL, fence = NULL"
        " WHERE seq = ? AND finished_at IS NULL",
        (int(uncertain), int(uncertain), next_at, now, pack(error),
         row.seq))


def mark_failed(connection: sqlite3.Connection, lease: Lease, row: OutboxRow,
           error: str, now: float) -> None:
    check(connection, lease)
    fail = ("UPDATE outbox SET state = 'failed', finished_at = ?,"
            " error = ?, lease = NULL, fence = NULL"
            " WHERE finished_at IS NULL")
    if connection.execute(f"{fail} AND seq = ?",
                          (now, pack(error), row.seq)).rowcount:
        connection.execute(f"{fail} AND source = ? AND number > ?",
                           (now, "an earlier part failed",
                            pack(row.source), row.number))


def hasten(connection: sqlite3.Connection, seqs: Sequence[int]) -> None:
    connection.executemany(
        "UPDATE outbox SET next_at = 0, put_at = 0 WHERE seq = ?"
        " AND finished_at IS NULL AND state <> 'sending'",
        ((seq,) for seq in seqs))


def retry(connection: sqlite3.Connection, seqs: Sequence[int]) -> int:
    """With a part come the others of its message that failed. What may
    have arrived stays in doubt."""
    again = ("UPDATE outbox SET state = CASE WHEN uncertain = 1 THEN"
             " 'uncertain' ELSE 'waiting' END, attempts = 0, next_at = 0,"
             " put_at = 0, error = NULL, seen = NULL, finished_at = NULL"
             " WHERE finished_at IS NOT NULL AND state = 'failed'")
    if not seqs:
        return connection.execute(again).rowcount
    return sum(connection.execute(
        f"{again} AND source = (SELECT other.source FROM outbox AS other"
        " WHERE other.seq = ? AND other.state = 'failed')",
        (seq,)).rowcount for seq in seqs)
