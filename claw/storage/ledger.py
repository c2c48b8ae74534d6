"""The ledger in one SQLite file, <workspace>/state/ledger.db.

A reservation is the row of its call, with `outcome` NULL until it is
settled. Checking the limits and reserving are one BEGIN IMMEDIATE, so no
two processes spend the same money. `sums` holds the settled calls by day,
origin, provider and model; it stays when the rows of single calls, which
are kept for 400 days, are gone. `day` is the local day on which a call
began: who travels keeps the days as they were.

A process that is killed leaves its reservation. It is counted like money
spent (it probably was), and after an hour becomes a call with the outcome
"unknown" that cost what was reserved.

synchronous=NORMAL: what is committed survives the end of a process; a
power cut may take the last calls, which costs no answer.
"""

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

from claw.core.errors import BudgetError, UnavailableError
from claw.core.ledger import (
    NO_LIMITS,
    CallEnd,
    CallStart,
    Limits,
    Reservation,
    Spent,
    Total,
    dollars,
)
from claw.core.times import rfc3339
from claw.core.value import replace
from claw.storage.ledger_tables import (
    COUNTED,
    END_COLUMNS,
    FROM_1,
    START_COLUMNS,
    TABLES,
    VERSION,
    local_day,
    sum_calls,
    sum_spent,
    text,
)
from claw.storage.sqlite import (
    CorruptError,
    connect,
    file_id,
    make_private,
    make_tables,
    read_version,
    translated,
    write,
)

KEPT_DAYS = 400
OPEN_S = 3600.0  # no call takes longer
_LOOK_S = 5.0
_MANY = 1_000  # rows that one process clears away
_CENT = 1e-9  # sums of floats: less is no difference

_INSERT = ("INSERT INTO calls (at, day, reserved_usd, "
           + ", ".join(START_COLUMNS + END_COLUMNS) + ") VALUES ("
           + ", ".join("?" * (3 + len(START_COLUMNS + END_COLUMNS))) + ")")
_END = ("UPDATE calls SET " + ", ".join(f"{c}=?" for c in END_COLUMNS)
        + " WHERE id=?")
_ADD = ("INSERT INTO sums (day, origin, provider, model, "
        + ", ".join(COUNTED) + ") VALUES ("
        + ", ".join("?" * (4 + len(COUNTED)))
        + ") ON CONFLICT (day, origin, provider, model) DO UPDATE SET "
        + ", ".join(f"{c}={c}+excluded.{c}" for c in COUNTED))


class SqliteLedger:
    """The Ledger of this machine. The file and its folder are made, and
    opened, when the first call is kept; any thread may use it. Names are
    kept as `clean` gives them back: a model's may be a key by mistake."""

    def __init__(self, path: str | Path, *,
                 now: Callable[[], float] = time.time,
                 clean: Callable[[str], str] = str) -> None:
        self._path = Path(path)
        self._now = now
        self._clean = clean
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._wait_s = 0.0  # of the open connection
        self._tidied = 0.0  # when it was last put in order

    def reserve(self, start: CallStart, limits: Limits = NO_LIMITS, *,
                wait_s: float = 0.0) -> Reservation:
        now = self._now()
        day = local_day(now)
        start = replace(start, provider=self._clean(start.provider),
                        model=self._clean(start.model),
                        session=start.session and self._clean(start.session))
        with self._writing(wait_s) as connection:
            spent = Spent()
            if limits.daily_usd is not None \
                    or limits.monthly_usd is not None:
                spent = sum_spent(connection, day)
            _check(connection, start, limits, spent, day)
            first = start.estimate_usd is None and connection.execute(
                "SELECT 1 FROM sums WHERE day=? AND model=? LIMIT 1",
                (day, text(start.model))).fetchone() is None
            row = _insert(connection, now, day, start)
        return Reservation(row, start, spent, first)

    def settle(self, reservation: Reservation, end: CallEnd, *,
               wait_s: float = 0.0) -> None:
        now = self._now()
        end = replace(end, answered=end.answered
                      and self._clean(end.answered))
        with self._writing(wait_s) as connection:
            row = _row(connection, reservation)
            if row is None:  # the file was replaced meanwhile
                number = _insert(connection, now, local_day(now),
                                 reservation.start)
                row = _row(connection, Reservation(number,
                                                   reservation.start))
            _settle(connection, row, end)

    def release(self, reservation: Reservation, *,
                wait_s: float = 0.0) -> None:
        if reservation.id is not None:
            with self._writing(wait_s) as connection:
                connection.execute(
                    "DELETE FROM calls WHERE id=? AND outcome IS NULL",
                    (reservation.id,))

    def turn_cost(self, turn_id: str) -> float | None:
        """What the calls of a turn cost together, None where one of them
        has no price."""
        with self._looking() as connection:
            if connection is None:
                return 0.0
            cost, unpriced = connection.execute(
                "SELECT TOTAL(cost_usd), TOTAL(outcome IS NOT NULL AND "
                "cost_usd IS NULL) FROM calls WHERE turn_id=?",
                (text(turn_id),)).fetchone()
            return None if unpriced else float(cost)

    def count_spent(self, session: str) -> float:
        """What all calls of a session may have cost together: what was
        reserved for those under way, cut off or never counted."""
        with self._looking() as connection:
            if connection is None:
                return 0.0
            (spent,) = connection.execute(
                "SELECT TOTAL(CASE WHEN outcome IS NULL THEN reserved_usd "
                "WHEN estimated THEN MAX(reserved_usd, cost_usd) "
                "ELSE cost_usd END) FROM calls WHERE session=?",
                (text(self._clean(session)),)).fetchone()
            return float(spent)

    def session_cost(self, session: str) -> tuple[Total, Total]:
        """What the calls of a session were on this day and in this
        month."""
        day = local_day(self._now())
        session = self._clean(session)
        with self._looking() as connection:
            if connection is None:
                return Total(), Total()
            return tuple(  # type: ignore[return-value]
                sum_calls(connection, "'' AS name", "session=? AND day>=?",
                          (text(session), since)).get("", Total())
                for since in (day, f"{day[:7]}-01"))

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            self._shut()

    def _shut(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    @contextmanager
    def _hold(self, wait_s: float) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone."""
        if not self._lock.acquire(timeout=wait_s):
            raise UnavailableError(f"{self._path} is locked",
                                   hint="try again in a moment")
        try:
            try:
                yield self._open(wait_s)
            except CorruptError as error:
                self._shut()
                raise describe_damage(error, self._path) from error
        finally:
            self._lock.release()

    @contextmanager
    def _looking(self) -> Iterator[sqlite3.Connection | None]:
        """To read; None where nothing was ever kept."""
        if self._connection is None and not os.path.exists(self._path):
            yield None
            return
        with self._hold(_LOOK_S) as connection, translated(self._path):
            yield connection

    @contextmanager
    def _writing(self, wait_s: float) -> Iterator[sqlite3.Connection]:
        with self._hold(wait_s) as connection:
            if wait_s != self._wait_s:
                self._wait_s = wait_s
                connection.execute(
                    f"PRAGMA busy_timeout={round(wait_s * 1000)}")
            with write(connection, self._path):
                yield connection

    def _open(self, wait_s: float) -> sqlite3.Connection:
        """The connection; a new one where the file was removed or replaced
        (what is written into a file without a name is lost)."""
        if self._connection is not None:
            if file_id(self._path) == self._file:
                self._tidy(self._connection)
                return self._connection
            self._shut()
        make_private(self._path)
        connection = connect(self._path, busy_timeout_s=wait_s, small=True)
        try:
            self._tidy(connection, at_once=True)
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, file_id(self._path)
        self._wait_s = wait_s
        return connection

    def _tidy(self, connection: sqlite3.Connection, *,
              at_once: bool = False) -> None:
        """Every hour too: a service keeps the file open for months."""
        now = self._now()
        if at_once or abs(now - self._tidied) > OPEN_S:
            _ready(connection, self._path, now)
            self._tidied = now


def describe_damage(error: CorruptError, path: Path) -> CorruptError:
    """The same, with what to do."""
    return CorruptError(error.message, hint=(
        "move it away (what was spent is forgotten then): mv "
        f"{path} {path}.damaged"))


def _ready(connection: sqlite3.Connection, path: Path, now: float) -> None:
    """Tables in a new file; in an old one, what has to be put in order.
    The looks that decide on it cost some microseconds."""
    version = read_version(connection, path, VERSION)
    if version == 1:
        make_tables(connection, path, FROM_1, VERSION)
    elif version != VERSION:
        make_tables(connection, path, TABLES, VERSION)
        return
    late, oldest = rfc3339(now - OPEN_S), local_day(now - KEPT_DAYS * 86400)
    with translated(path):
        old = connection.execute(
            "SELECT day < ? FROM calls ORDER BY id LIMIT 1",
            (oldest,)).fetchone()
        left = connection.execute(
            "SELECT 1 FROM calls WHERE outcome IS NULL AND at < ? LIMIT 1",
            (late,)).fetchone()
    if left or (old and old[0]):
        with write(connection, path):
            _give_up(connection, late)
            connection.execute(
                "DELETE FROM calls WHERE day < ? AND outcome IS NOT NULL "
                "AND id IN (SELECT id FROM calls ORDER BY id LIMIT ?)",
                (oldest, _MANY))


def _give_up(connection: sqlite3.Connection, late: str) -> None:
    """Calls that nobody will settle."""
    for row in _rows(connection, "outcome IS NULL AND at < ?", (late,)):
        _settle(connection, row, CallEnd(
            "unknown", cost_usd=row["reserved_usd"],
            estimated=row["reserved_usd"] is not None))


def _check(connection: sqlite3.Connection, start: CallStart, limits: Limits,
           spent: Spent, day: str) -> None:
    """Raise BudgetError where the call could pass a limit."""
    estimate = start.estimate_usd or 0.0
    for name, used, limit in (
            ("daily", spent.day_usd, limits.daily_usd),
            ("monthly", spent.month_usd, limits.monthly_usd)):
        if limit is not None and used + estimate > limit + _CENT:
            raise _over_budget(name, used, limit, estimate, start.model, hint=(
                "see: claw cost; raise it with: claw config set "
                + _more(name, max(2 * limit, used + estimate), limits)))
    if limits.turn_usd is not None and start.turn_id is not None:
        used = connection.execute(
            "SELECT TOTAL(CASE WHEN outcome IS NULL THEN reserved_usd "
            "ELSE cost_usd END) FROM calls WHERE turn_id=?",
            (start.turn_id,)).fetchone()[0]
        if used + estimate > limits.turn_usd + _CENT:
            raise _over_budget(
                "--max-cost" if start.channel is None else "turn's", used,
                limits.turn_usd, estimate, start.model, hint=_hint_turn(start))


    if limits.channel_usd is not None and start.channel is not None:
        used = _sum_channel(connection, start.channel, day)
        if used + estimate > limits.channel_usd + _CENT:
            raise _over_budget(
                f"daily {start.channel}", used, limits.channel_usd, estimate,
                start.model, hint="tomorrow there is more, or raise "
                                  "gateway.daily_limit_usd")


def _sum_channel(connection: sqlite3.Connection, channel: str, day: str
                 ) -> float:
    """What the calls of a channel cost on the running day; they are the
    newest, so that no index is needed."""
    rows = connection.execute(
        "SELECT day, channel, CASE WHEN outcome IS NULL THEN reserved_usd "
        "ELSE cost_usd END FROM calls ORDER BY id DESC")
    return sum(cost or 0.0 for _, name, cost in takewhile(
        lambda row: row[0] == day, rows) if name == channel)


def _hint_turn(start: CallStart) -> str:
    more = "--max-cost" if start.channel is None else (
        f"autonomy.channels.{start.channel.partition(':')[0]}"
        ".max_cost_per_turn_cents")
    return (f"--max-tokens makes a call cheaper; raise {more}, or choose "
            "another model")


def _over_budget(name: str, used: float, limit: float, estimate: float,
              model: str, hint: str) -> BudgetError:
    return BudgetError(
        f"Budget exceeded: {dollars(used)} of {dollars(limit)} {name} limit"
        f" is spent, and a call of {model} may cost {dollars(estimate)}",
        hint=hint)


def _more(name: str, wanted_usd: float, limits: Limits) -> str:
    """A setting and a value that is enough, in whole cents."""
    cents = math.ceil(round(wanted_usd * 100, 6))
    if name == "daily" and limits.daily_cents:
        return f"autonomy.max_cost_per_day_cents {cents}"
    return f"cost.{name}_limit_usd {cents / 100:g}"


def _insert(connection: sqlite3.Connection, now: float, day: str,
            start: CallStart) -> int:
    cursor = connection.execute(_INSERT, (
        rfc3339(now), day, start.estimate_usd,
        *(text(value) if isinstance(value, str) else value for value in (
            getattr(start, name) for name in START_COLUMNS)),
        *(None,) * len(END_COLUMNS)))
    return int(cursor.lastrowid or 0)


def _rows(connection: sqlite3.Connection, where: str,
          values: tuple[Any, ...]) -> list[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM calls WHERE {where}", values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _row(connection: sqlite3.Connection,
         reservation: Reservation) -> dict[str, Any] | None:
    """The row of a reservation; None where another file took the place of
    the one that held it."""
    found = _rows(connection, "id=?", (reservation.id,))
    start = reservation.start
    if found and (found[0]["turn_id"], found[0]["model"]) \
            == (text(start.turn_id), text(start.model)):
        return found[0]
    return None


def _settle(connection: sqlite3.Connection, row: dict[str, Any] | None,
            end: CallEnd) -> None:
    """Put a call's end into its row and its numbers into the sums. One
    that was given up, and did end, takes its own place."""
    if row is None:
        return
    if row["outcome"] is not None:
        _add(connection, row, -1)
    after = {name: getattr(end, name) for name in END_COLUMNS}
    after["answered"] = text(end.answered)
    connection.execute(_END, (*after.values(), row["id"]))
    _add(connection, {**row, **after}, 1)


def _add(connection: sqlite3.Connection, row: dict[str, Any],
         sign: int) -> None:
    counted = (
        1, row["outcome"] != "ok", row["cost_usd"] is None,
        bool(row["estimated"]),
        *(row[name] or 0 for name in COUNTED[4:]))
    connection.execute(_ADD, (
        row["day"], row["origin"], row["provider"], row["model"],
        *(sign * number for number in counted)))
