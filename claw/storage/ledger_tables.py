"""The tables of the ledger, and what is read and summed from them.

`sums` holds the settled calls by day, origin, provider and model; it stays
when the rows of single calls are gone.
"""

import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from claw.core.ledger import Spent, Total

VERSION = 2

TABLES = (
    """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    day TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    origin TEXT NOT NULL,
    turn_id TEXT,
    channel TEXT,
    session TEXT,
    streamed INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    reserved_usd REAL,
    outcome TEXT,
    answered TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_tokens INTEGER,
    cache_write_tokens INTEGER,
    cost_usd REAL,
    estimated INTEGER,
    first_token_ms INTEGER,
    duration_ms INTEGER,
    kind TEXT NOT NULL DEFAULT 'chat'
)""",
    "CREATE INDEX calls_open ON calls (day) WHERE outcome IS NULL",
    "CREATE INDEX calls_turns ON calls (turn_id) WHERE turn_id IS NOT NULL",
    "CREATE INDEX calls_sessions ON calls (session, day)"
    " WHERE session IS NOT NULL",
    """
CREATE TABLE sums (
    day TEXT NOT NULL,
    origin TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    PRIMARY KEY (day, origin, provider, model)
) WITHOUT ROWID""",
)

# Format 1 knew no calls but those of chats.
FROM_1 = (
    "ALTER TABLE calls ADD COLUMN kind TEXT NOT NULL DEFAULT 'chat'",)

START_COLUMNS = ("provider", "model", "origin", "turn_id", "channel",
                 "session", "streamed", "attempt", "kind")
END_COLUMNS = ("outcome", "answered", "input_tokens", "output_tokens",
               "cached_tokens", "cache_write_tokens", "cost_usd",
               "estimated", "first_token_ms", "duration_ms")
COUNTED = ("calls", "failed", "unpriced", "estimated", "input_tokens",
           "output_tokens", "cached_tokens", "cache_write_tokens",
           "cost_usd")

_TEXT_CHARS = 300  # names come from outside


def local_day(seconds: float) -> str:
    """The day of a time where the user is: "2026-11-20"."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def sum_calls(connection: sqlite3.Connection, name: str, where: str,
              values: tuple[Any, ...]) -> dict[str, Total]:
    """Sums of the calls that a condition finds, by what `name` gives;
    those under way with what is reserved for them."""
    cost = "CASE WHEN outcome IS NULL THEN reserved_usd ELSE cost_usd END"
    rows = connection.execute(
        f"SELECT {name}, COUNT(*), TOTAL(outcome <> 'ok'), "
        f"TOTAL(({cost}) IS NULL), TOTAL(outcome IS NULL OR estimated), "
        + ", ".join(f"TOTAL({c})" for c in COUNTED[4:-1])
        + f", TOTAL({cost}) FROM calls WHERE {where} GROUP BY 1 "
        "ORDER BY MAX(id) DESC",
        values)
    return {row[0]: total(row[1:]) for row in rows}


def total(numbers: Sequence[float]) -> Total:
    """The columns of COUNTED as a Total."""
    (calls, failed, unpriced, estimated, sent, read, cached, written,
     cost) = numbers
    return Total(int(calls), int(failed), int(unpriced), int(estimated),
                 int(sent), int(read), int(cached), int(written),
                 float(cost))


def text(value: str | None) -> str | None:
    """A name as SQLite can keep it."""
    return (None if value is None
            else value[:_TEXT_CHARS].encode("utf-8", "replace").decode())


def sum_spent(connection: sqlite3.Connection, day: str) -> Spent:
    """What is spent on a day and in its month, days to come included: a
    clock that was set back, or a way home, gives no money back."""
    month = (f"{day[:7]}-01", f"{day[:7]}-31")
    settled = connection.execute(
        "SELECT TOTAL(cost_usd) FILTER (WHERE day = ?1), TOTAL(cost_usd) "
        "FROM sums WHERE day BETWEEN ?2 AND ?3", (day, *month)).fetchone()
    held = connection.execute(
        "SELECT TOTAL(reserved_usd) FILTER (WHERE day = ?1), "
        "TOTAL(reserved_usd) FROM calls WHERE outcome IS NULL "
        "AND day BETWEEN ?2 AND ?3", (day, *month)).fetchone()
    return Spent(settled[0] + held[0], settled[1] + held[1])
