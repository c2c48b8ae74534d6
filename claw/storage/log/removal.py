"""Entries that go: by age and size, by name, and texts out of all of them.

Their words go with them. `wipe` leaves nothing of them in the file: pages
are overwritten as rows go (secure_delete), the index is merged, the log of
SQLite is emptied.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claw.core.errors import UnavailableError
from claw.core.value import Value
from claw.storage.log import schema
from claw.storage.log.opening import open_writer
from claw.storage.log.settings import LogSettings
from claw.storage.sqlite import translated, write

# With one new entry so many old ones go at most.
_AT_ONCE = 200
# Of a log that is too large so much goes, so that the next entry has room.
_ROOM = 0.05
_MOST_DAYS = 36_500
_PATIENCE_S = 20.0
_PAUSE_S = 0.05


def remove_oldest(connection: sqlite3.Connection, settings: LogSettings,
                  now: float) -> int:
    """Remove what is older or more than the settings say, inside the
    caller's transaction; how many entries."""
    gone = 0
    if settings.keep_days:
        moment = datetime.fromtimestamp(now, UTC) - timedelta(
            days=min(settings.keep_days, _MOST_DAYS))
        bound = moment.isoformat(timespec="microseconds")
        gone = remove(connection, [seq for seq, in connection.execute(
            "SELECT seq FROM entries WHERE at < ? ORDER BY at LIMIT ?",
            (bound, _AT_ONCE))])
    most = settings.max_mb << 20
    if most and _measure(connection) > most:
        gone += _make_room(connection, round(most * (1 - _ROOM)))
    return gone


def _make_room(connection: sqlite3.Connection, most: int) -> int:
    """Remove the oldest entries but the last one."""
    gone = 0
    rows = connection.execute(
        "SELECT seq FROM entries WHERE seq < (SELECT max(seq) FROM entries)"
        " ORDER BY seq LIMIT ?", (_AT_ONCE,)).fetchall()
    for seq, in rows:
        gone += remove(connection, [seq])
        if gone % 10 == 0 and _measure(connection) <= most:
            break
    return gone


def _measure(connection: sqlite3.Connection) -> int:
    """Bytes of the pages that are in use."""
    sizes = [connection.execute(f"PRAGMA {name}").fetchone()[0]
             for name in ("page_count", "freelist_count", "page_size")]
    return int((sizes[0] - sizes[1]) * sizes[2])


class Which(Value):
    """Entries by id, of a session, from before a canonical time, or
    all."""

    ids: tuple[str, ...] = ()
    session: str | None = None
    before: str | None = None
    every: bool = False


def remove_for_good(path: Path, which: Which) -> int:
    """Remove entries and leave nothing of them in the file; how many.
    Raises StorageError, UnavailableError."""
    with closing(open_writer(path)) as connection:
        with write(connection, path):
            gone = remove(connection, _find(connection, which))
        wipe(connection, path)
    return gone


def _find(connection: sqlite3.Connection, which: Which) -> list[int]:
    rows: list[tuple[str, Any]] = [("id = ?", one) for one in which.ids]
    if which.session is not None:
        rows.append(("session = ?", which.session))
    if which.before is not None:
        rows.append(("at < ?", which.before))
    if which.every:
        rows.append(("?", 1))
    return [seq for where, value in rows for seq, in connection.execute(
        f"SELECT seq FROM entries WHERE {where}", (value,))]


def remove(connection: sqlite3.Connection, seqs: Iterable[int]) -> int:
    """Remove entries and their words, inside the caller's transaction; how
    many there were."""
    gone = 0
    for seq in seqs:
        row = connection.execute(
            "SELECT prompt, under, answer FROM entries WHERE seq = ?",
            (seq,)).fetchone()
        if row is None:
            continue
        schema.unindex(connection, seq, dict(zip(
            ("prompt", "under", "answer"), row, strict=True)))
        connection.execute("DELETE FROM entries WHERE seq = ?", (seq,))
        gone += 1
    return gone


def rewrite(connection: sqlite3.Connection,
            clean: Callable[[str], str]) -> int:
    """Put every text of every entry as `clean` gives it back, inside the
    caller's transaction; how many entries changed."""
    changed = 0
    names = ", ".join(schema.TEXTS)
    for seq, in connection.execute(
            "SELECT seq FROM entries ORDER BY seq").fetchall():
        values = connection.execute(
            f"SELECT {names} FROM entries WHERE seq = ?", (seq,)).fetchone()
        row = dict(zip(schema.TEXTS, values, strict=True))
        after = {name: text and clean(text) for name, text in row.items()}
        if after == row:
            continue
        schema.unindex(connection, seq, row)
        connection.execute(
            "UPDATE entries SET "
            + ", ".join(f"{name} = ?" for name in after)
            + " WHERE seq = ?", (*after.values(), seq))
        schema.index(connection, seq, after)
        changed += 1
    return changed


def wipe(connection: sqlite3.Connection, path: Path) -> None:
    """Leave nothing in the file that is in no row. Raises
    UnavailableError where another process reads it for long."""
    with translated(path):
        connection.execute(
            "INSERT INTO entry_words(entry_words) VALUES ('optimize')")
        deadline = time.monotonic() + _PATIENCE_S
        while connection.execute(
                "PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"another process reads {path}: it is gone from the "
                    "log, and its bytes will be when that is done",
                    hint="run the same again then")
            time.sleep(_PAUSE_S)
