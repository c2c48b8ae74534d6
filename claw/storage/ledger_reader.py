"""Looking at the ledger from a command: nothing is made, nothing changed."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from claw.core.errors import NotFoundError
from claw.core.ledger import Call, CallEnd, Spent, Total
from claw.core.times import rfc3339
from claw.security.files.nofollow import check_database
from claw.storage.ledger import OPEN_S, describe_damage
from claw.storage.ledger_tables import (
    COUNTED,
    END_COLUMNS,
    VERSION,
    local_day,
    sum_calls,
    sum_spent,
    total,
)
from claw.storage.sqlite import (
    CorruptError,
    Reader,
    connect,
    read_version,
    translated,
)

# what to sum by -> its column
NAMES = {"day": "day", "month": "substr(day, 1, 7)", "origin": "origin",
         "model": "model", "provider": "provider"}
# The settled calls, and those that nobody has settled yet.
_EVERY = (
    "SELECT day, origin, provider, model, " + ", ".join(COUNTED)
    + " FROM sums UNION ALL SELECT day, origin, provider, model, 1, at < ?,"
    " reserved_usd IS NULL, 1, 0, 0, 0, 0, COALESCE(reserved_usd, 0)"
    " FROM calls WHERE outcome IS NULL")


class LedgerReader(Reader):
    """Sums and single calls. Days are "2026-11-20", both ends are part of
    a span."""

    def __init__(self, connection: sqlite3.Connection, path: Path,
                 now: Callable[[], float], version: int = VERSION) -> None:
        # format 1 has no such column, and nothing is changed here
        self._kind = "kind" if version > 1 else "'chat'"
        self._connection = connection
        self._path = path
        self._now = now

    def totals(self, by: str, since: str, until: str) -> dict[str, Total]:
        """Calls by a key of NAMES: days and months in order, the rest with
        the dearest first. A call under way counts with what is reserved
        for it."""
        order = "1" if by in ("day", "month") \
            else f"{4 + len(COUNTED) - 3} DESC, 2 DESC, 1"
        with translated(self._path):
            rows = self._connection.execute(
                f"SELECT {NAMES[by]}, "
                + ", ".join(f"SUM({name})" for name in COUNTED)
                + f" FROM ({_EVERY}) WHERE day BETWEEN ? AND ? GROUP BY 1 "
                f"HAVING SUM(calls) > 0 ORDER BY {order}",
                (rfc3339(self._now() - OPEN_S), since, until)).fetchall()
        return {row[0]: total(row[1:]) for row in rows}

    def days_by_model(self, since: str, until: str
                      ) -> list[tuple[str, str, Total]]:
        """Day, model and what its calls were, in order."""
        with translated(self._path):
            rows = self._connection.execute(
                "SELECT day, model, "
                + ", ".join(f"SUM({name})" for name in COUNTED)
                + f" FROM ({_EVERY}) WHERE day BETWEEN ? AND ? GROUP BY 1, 2"
                " HAVING SUM(calls) > 0 ORDER BY 1, 2",
                (rfc3339(self._now() - OPEN_S), since, until)).fetchall()
        return [(day, model, total(rest)) for day, model, *rest in rows]

    def turns(self, since: str, until: str) -> dict[str, Total]:
        """Calls by turn, the latest first; "" are those outside of
        one."""
        with translated(self._path):
            return sum_calls(
                self._connection, "COALESCE(turn_id, '')",
                "day BETWEEN ? AND ?", (since, until))

    def kinds(self, since: str, until: str) -> dict[str, Total]:
        """Calls by kind, as `calls` has them."""
        with translated(self._path):
            return sum_calls(self._connection, self._kind,
                             "day BETWEEN ? AND ?", (since, until))

    def unfinished(self, since: str, until: str) -> Total:
        """Calls that were left or never ended: what they cost is not what
        the vendor said."""
        with translated(self._path):
            return sum_calls(
                self._connection, "''", "day BETWEEN ? AND ? AND outcome IN "
                "('timeout', 'cancelled', 'unknown', 'incomplete_answer')",
                (since, until)).get("", Total())

    def calls(self, since: str, until: str, limit: int) -> list[Call]:
        """Single calls, the latest first."""
        with translated(self._path):
            rows = self._connection.execute(
                "SELECT id, at, day, provider, model, origin, turn_id, "
                f"channel, session, streamed, attempt, {self._kind}, "
                "reserved_usd, "
                + ", ".join(END_COLUMNS)
                + " FROM calls WHERE day BETWEEN ? AND ? "
                "ORDER BY id DESC LIMIT ?", (since, until, limit)).fetchall()
        late = rfc3339(self._now() - OPEN_S)
        return [_call(row, late) for row in rows]

    def unpriced(self, since: str, until: str) -> list[str]:
        """Models without a known price."""
        with translated(self._path):
            return [row[0] for row in self._connection.execute(
                "SELECT model FROM sums WHERE day BETWEEN ? AND ? "
                "AND unpriced > 0 GROUP BY model ORDER BY model",
                (since, until))]

    def spent(self) -> Spent:
        """What is spent in the running day and month."""
        with translated(self._path):
            return sum_spent(self._connection, local_day(self._now()))


def _call(row: tuple[object, ...], late: str) -> Call:
    head, reserved, tail = row[:12], row[12], list(row[13:])
    if tail[0] is None:
        tail[0] = "unknown" if str(row[1]) < late else "open"
        tail[END_COLUMNS.index("cost_usd")] = reserved
        tail[END_COLUMNS.index("estimated")] = True
    flag = END_COLUMNS.index("estimated")
    tail[flag] = bool(tail[flag])
    first: list[object] = list(head)
    first[9] = bool(first[9])
    return Call(*first, end=CallEnd(*tail))  # type: ignore[arg-type, misc]


def open_reader(path: Path, *, now: Callable[[], float] = time.time
                ) -> LedgerReader:
    """A look at the ledger. Raises NotFoundError where there is none yet,
    StorageError."""
    try:
        check_database(path)  # a folder that may not be read is said
        path.stat()
    except FileNotFoundError:
        raise none_yet() from None
    try:
        connection = connect(path, readonly=True)
        try:
            version = read_version(connection, path, VERSION)
            if version == 0:
                raise none_yet()
        except BaseException:
            connection.close()
            raise
    except CorruptError as error:
        raise describe_damage(error, path) from error
    return LedgerReader(connection, path, now, version)


def none_yet() -> NotFoundError:
    return NotFoundError("no call of a model is recorded yet",
                         hint="claw ask, agent and listen record theirs")
