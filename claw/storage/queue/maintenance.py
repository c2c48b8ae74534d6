"""Looking at the queue and keeping house in it.

Plain functions on a connection. Finished rows are forgotten first (no
payload any more, the id stays, so that a redelivery is recognised), then
removed; forgotten rows are shown nowhere.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, get_args

from claw.core.errors import StorageError, UsageError
from claw.storage.queue import codec, inbox, outbox
from claw.storage.queue.codec import pack, unpack, unpack_or_none
from claw.storage.queue.model import (
    HistoryOp,
    HistoryRow,
    InboxRow,
    InboxState,
    OutboxRow,
    OutboxState,
    QueueCounts,
    Record,
)

DAY_S = 86400.0
PAYLOADS_S = 7 * DAY_S
IDS_S = 30 * DAY_S
# The newest ids stay whatever the clock says: it may jump by years.
IDS_KEPT = 1000
CHUNK = 500
ALL = 2**31 - 1

INBOX_STATES: tuple[str, ...] = get_args(InboxState)
OUTBOX_STATES: tuple[str, ...] = get_args(OutboxState)
FINISHED = (*inbox.OUTCOMES, "sent")


def counts(connection: sqlite3.Connection, now: float) -> QueueCounts:
    oldest = connection.execute(
        "SELECT MIN(received_at) FROM inbox WHERE finished_at IS NULL"
    ).fetchone()[0]
    return QueueCounts(
        _by_state(connection, "inbox", INBOX_STATES),
        _by_state(connection, "outbox", OUTBOX_STATES),
        None if oldest is None else max(0.0, now - oldest))


def _by_state(connection: sqlite3.Connection, table: str,
              states: Sequence[str]) -> dict[str, int]:
    found = dict(connection.execute(
        f"SELECT state, COUNT(*) FROM {table} WHERE finished_at IS NULL"
        f" GROUP BY state UNION ALL SELECT state, COUNT(*) FROM {table}"
        " WHERE finished_at IS NOT NULL GROUP BY state").fetchall())
    return {state: found.get(state, 0) for state in states}


def inbox_rows(connection: sqlite3.Connection, states: Sequence[str],
               limit: int) -> list[InboxRow]:
    return [inbox.read_row(row, lenient=True) for row in _newest(
        connection, f"SELECT {inbox.COLUMNS} FROM inbox", "received_at",
        states or INBOX_STATES, limit)]


def outbox_rows(connection: sqlite3.Connection, states: Sequence[str],
                source: str | None, limit: int) -> list[OutboxRow]:
    states = states or OUTBOX_STATES
    if source is None:
        return outbox.read_rows(_newest(
            connection, f"SELECT {outbox.COLUMNS} FROM {outbox.TABLES}",
            "o.created_at", states, limit))
    found = outbox.read_rows(connection.execute(
        f"SELECT {outbox.COLUMNS_ONCE} FROM {outbox.TABLES}"
        " WHERE o.source = ? ORDER BY o.number", (pack(source),)))
    return [row for row in found if row.state in states][:max(limit, 0)]


def _newest(connection: sqlite3.Connection, start: str, born: str,
            states: Sequence[str], limit: int) -> list[Sequence[Any]]:
    """The newest of each state by its index, together oldest first."""
    found: list[Sequence[Any]] = []
    for state in states:
        if state == "forgotten":
            continue
        which, when = (("NOT NULL", "finished_at") if state in FINISHED
                       else ("NULL", born))
        found += connection.execute(
            f"{start} WHERE state = ? AND finished_at IS {which}"
            f" ORDER BY {when} DESC, seq DESC LIMIT ?",
            (state, max(limit, 0))).fetchall()
    return sorted(found, key=lambda row: int(row[0]))[-max(limit, 1):]


def history(connection: sqlite3.Connection, conversation: str | None,
            limit: int) -> list[HistoryRow]:
    """Changes that the files lack, of one conversation or of all. One
    that can't be read says so in its place: it must cost itself only."""
    where = "" if conversation is None else "WHERE conversation = ?"
    given = () if conversation is None else (pack(conversation),)
    return [HistoryRow(seq, unpack(name), HistoryOp(
                op, _record(record, f"history {seq}")))
            for seq, name, op, record in connection.execute(
                "SELECT seq, conversation, op, record FROM history"
                f" {where} ORDER BY seq LIMIT ?",
                (*given, limit)).fetchall()]


def _record(text: str, what: str) -> Record:
    try:
        return codec.decode(text, what)
    except StorageError as error:
        return {"damaged": error.message}


def mark_written(connection: sqlite3.Connection, seqs: Sequence[int]) -> None:
    connection.executemany("DELETE FROM history WHERE seq = ?",
                           ((seq,) for seq in seqs))


# -- what is known of a turn

def trace(connection: sqlite3.Connection,
          wanted: str | None) -> Record | None:
    """The trace that the turn left, with what the queue knows itself
    under "queue"."""
    turn_id = _turn_id(connection, wanted)
    if turn_id is None:
        return None
    found = connection.execute(
        "SELECT data FROM traces WHERE turn_id = ?", (turn_id,)).fetchone()
    left = codec.decode(found[0], f"trace {turn_id}") if found else {}
    return {"turn_id": turn_id, **left,
            "queue": _read_states(connection, turn_id)}


def _turn_id(connection: sqlite3.Connection,
             wanted: str | None) -> str | None:
    if wanted is None:
        last = connection.execute(
            "SELECT turn_id FROM traces ORDER BY finished_at DESC LIMIT 1"
        ).fetchone()
        return last[0] if last else None
    key = pack(wanted)
    by_message = connection.execute(
        "SELECT COALESCE(answered_in, turn_id) FROM inbox"
        " WHERE message_id = ? ORDER BY seq DESC LIMIT 1",
        (key,)).fetchone()
    return (by_message[0] if by_message
            else _by_prefix(connection, key.lower()))


def _by_prefix(connection: sqlite3.Connection, prefix: str) -> str | None:
    found = [turn_id for (turn_id,) in connection.execute(
        "SELECT turn_id FROM inbox WHERE turn_id >= ? AND turn_id < ?"
        " UNION SELECT turn_id FROM traces"
        " WHERE turn_id >= ? AND turn_id < ? LIMIT 2",
        (prefix, f"{prefix}g") * 2).fetchall()]
    if len(found) > 1 and prefix not in found:
        raise UsageError(f"several turns begin with {prefix!r}",
                         hint="give more of the id")
    return found[0] if found else None


def _read_states(connection: sqlite3.Connection,
              turn_id: str) -> dict[str, Any]:
    rows = connection.execute(
        "SELECT channel, message_id, conversation, state, received_at,"
        " finished_at, attempts, reason FROM inbox"
        " WHERE turn_id = ? OR answered_in = ? ORDER BY seq",
        (turn_id, turn_id)).fetchall()
    parts = connection.execute(
        "SELECT seq, number, state, uncertain, attempts, error, seen"
        " FROM outbox"
        " WHERE source = ? ORDER BY number", (f"turn:{turn_id}",))
    known: dict[str, Any] = {
        "messages": [unpack(row[1]) for row in rows],
        "parts": [{"seq": seq, "number": number, "state": state,
                   "uncertain": bool(uncertain), "attempts": attempts,
                   "error": unpack_or_none(error), "seen": seen}
                  for seq, number, state, uncertain, attempts, error, seen
                  in parts.fetchall()]}
    if rows:
        channel, _, conversation, state, received, finished, times, why \
            = rows[0]
        known.update(
            channel=unpack(channel), conversation=unpack(conversation),
            state=state, received_at=received, finished_at=finished,
            attempts=times, reason=unpack_or_none(why))
    return known


# -- retention: a chunk at a time, so that others can write in between

def forget(connection: sqlite3.Connection, states: Sequence[str],
           before: float) -> int:
    """Take the payloads of up to CHUNK rows of each kind."""
    unknown = [state for state in states if state not in FINISHED]
    if unknown:
        raise UsageError(f"rows that are {unknown[0]!r} are not finished",
                         hint=f"choose from {', '.join(FINISHED)}")
    return sum(_forget_inbox(connection, state, before)
               + _forget_outbox(connection, state, before)
               for state in states)


def _forget_inbox(connection: sqlite3.Connection, state: str,
                  before: float) -> int:
    return connection.execute(
        "UPDATE inbox SET state = 'forgotten', payload = NULL,"
        " reason = NULL, draft_id = NULL"
        " WHERE seq IN (SELECT seq FROM inbox WHERE state = ?"
        f" AND finished_at < ? LIMIT {CHUNK})", (state, before)).rowcount


def _forget_outbox(connection: sqlite3.Connection, state: str,
                   before: float) -> int:
    """A message goes with the last of its parts."""
    old = connection.execute(
        "SELECT seq, source FROM outbox WHERE state = ?"
        f" AND finished_at < ? LIMIT {CHUNK}", (state, before)).fetchall()
    return _forget_parts(connection, old)


def _forget_parts(connection: sqlite3.Connection,
                  old: Sequence[tuple[int, str]]) -> int:
    connection.executemany(
        "UPDATE outbox SET state = 'forgotten', part = NULL, error = NULL"
        " WHERE seq = ?", ((seq,) for seq, _ in old))
    connection.executemany(
        "UPDATE sends SET message = NULL WHERE source = ?"
        " AND NOT EXISTS (SELECT 1 FROM outbox WHERE"
        " outbox.source = sends.source AND outbox.state <> 'forgotten')",
        {(source,) for _, source in old})
    return len(old)


def list_unsent(connection: sqlite3.Connection, holding: str) -> list[str]:
    return [part for (part,) in connection.execute(
        "SELECT part FROM outbox WHERE finished_at IS NULL"
        " AND instr(part, ?) > 0 UNION ALL"
        " SELECT part FROM outbox WHERE finished_at IS NOT NULL"
        " AND state = 'failed' AND instr(part, ?) > 0",
        (holding, holding)).fetchall()]


def forget_channel(connection: sqlite3.Connection, channel: str,
                   now: float) -> int:
    """End up to CHUNK rows of each kind that wait or failed for a channel,
    and take their payloads."""
    name = pack(channel)
    mine = (name, len(name) + 1, f"{name}:")
    gone = connection.execute(
        "UPDATE inbox SET state = 'forgotten', payload = NULL,"
        " reason = NULL, draft_id = NULL, finished_at = ?"
        " WHERE seq IN (SELECT seq FROM inbox WHERE state IN ('waiting',"
        " 'failed') AND (channel = ? OR substr(channel, 1, ?) = ?)"
        f" LIMIT {CHUNK})", (now, *mine)).rowcount
    ended = connection.execute(
        "UPDATE outbox SET finished_at = ?"
        " WHERE seq IN (SELECT seq FROM outbox WHERE state IN ('waiting',"
        " 'uncertain', 'failed') AND (channel = ? OR substr(channel, 1, ?)"
        f" = ?) LIMIT {CHUNK}) RETURNING seq, source", (now, *mine))
    return gone + _forget_parts(connection, ended.fetchall())


_REMOVED = (
    ("inbox", "seq", "state = 'forgotten' AND finished_at < ? AND seq <="
     f" (SELECT MAX(newest.seq) - {IDS_KEPT} FROM inbox AS newest)"),
    ("outbox", "seq", "state = 'forgotten' AND finished_at < ? AND seq <="
     f" (SELECT MAX(newest.seq) - {IDS_KEPT} FROM outbox AS newest)"),
    ("traces", "turn_id", "finished_at < ?"),
    ("approvals", "id", "expires_at < ?"),
    ("journal", "seq", "written_at < ? AND NOT EXISTS (SELECT 1 FROM inbox"
     " WHERE inbox.turn_id = journal.turn_id"
     " AND inbox.finished_at IS NULL)"),
)


def remove(connection: sqlite3.Connection, before: float) -> int:
    """Remove up to CHUNK rows of each table that are older. Sources go
    with the last of their parts."""
    sources = connection.execute(
        "SELECT DISTINCT source FROM outbox WHERE seq IN"
        f" (SELECT seq FROM outbox WHERE {_REMOVED[1][2]} LIMIT {CHUNK})",
        (before,)).fetchall()
    gone = sum(connection.execute(
        f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table}"
        f" WHERE {where} LIMIT {CHUNK})", (before,)).rowcount
        for table, key, where in _REMOVED)
    connection.executemany(
        "DELETE FROM sends WHERE source = ? AND NOT EXISTS ("
        "SELECT 1 FROM outbox WHERE outbox.source = sends.source)", sources)
    return gone
