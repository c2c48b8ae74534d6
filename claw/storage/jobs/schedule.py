"""When a job is due: pure functions over cron expressions, times, intervals.

cronsim reads the fields minute to weekday (0 and 7 are Sunday, names, L, #),
in front of them seconds where there are six. Ours are the seventh, the year,
`?` for `*`, and the names @hourly to @yearly.

Clock changes, as Debian's cron has them: a job at fixed minutes and hours
runs once on such a day, in the hour that is repeated at its first pass, in
the one that is left out at its end. One with `*` in its minutes or hours
follows the time that goes by.
"""

import heapq
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from claw.core.errors import UsageError
from claw.core.value import Value

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

KINDS = ("cron", "at", "every")
FORMS = ('{"kind": "cron", "expr": "0 9 * * MON-FRI", "tz": "Europe/Berlin"},'
         ' {"kind": "at", "at": "2030-01-31T09:00:00Z"} or '
         '{"kind": "every", "every_ms": 3600000}')
_FIELDS = {"cron": ("expr", "tz"), "at": ("at",), "every": ("every_ms",)}
_NAMED = {"@hourly": "0 * * * *", "@daily": "0 0 * * *",
          "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
          "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
          "@annually": "0 0 1 1 *"}
_EXPR_CHARS = 200
_YEARS = range(1970, 2200)
_YEAR = re.compile(r"(?:\*|(\d{4})(?:-(\d{4}))?)(?:/(\d{1,3}))?", re.ASCII)
LEAST_MS = 1000
_MOST_MS = 100 * 366 * 86_400_000
_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
_CHANGE = timedelta(hours=3)  # more than any clock is set back


class Schedule(Value):
    """One of three kinds: cron with `expr` and perhaps `tz` (IANA; UTC
    without), at a moment (RFC 3339, in UTC), every so many milliseconds."""

    kind: str
    expr: str | None = None
    tz: str | None = None
    at: str | None = None
    every_ms: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As `parse_schedule` reads it."""
        return {"kind": self.kind, **{
            name: value for name in _FIELDS[self.kind]
            if (value := getattr(self, name)) is not None}}


def parse_schedule(given: Any) -> Schedule:
    """A schedule of a JSON object. Raises UsageError for one that is wrong;
    whether its time has passed, `next_run` tells."""
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if kind not in KINDS:
        raise UsageError(f"the schedule must be {FORMS}")
    fields = {name: value for name, value in given.items()
              if name != "kind" and value is not None}
    if odd := [name for name in fields if name not in _FIELDS[kind]]:
        raise UsageError(f"a schedule of kind {kind} has no {odd[0]!r:.80}; "
                         f"it must be {FORMS}")
    needed = _FIELDS[kind][0]
    if needed not in fields:
        raise UsageError(f"a schedule of kind {kind} needs {needed!r}")
    if kind == "cron":
        return _parse_cron(fields["expr"], fields.get("tz"))
    if kind == "at":
        return Schedule("at", at=_parse_moment(fields["at"]))
    return Schedule("every", every_ms=_parse_interval(fields["every_ms"]))


def next_run(schedule: Schedule, after: datetime, since: datetime
             ) -> datetime | None:
    """The first time later than `after`, None where there is none.

    Times have a zone; the result is in UTC. An interval counts from
    `since`, when the job was made, so that a late run moves no other. Pure.
    """
    after = after.astimezone(UTC)
    if schedule.at is not None:
        moment = datetime.fromisoformat(schedule.at)
        return moment if moment > after else None
    if schedule.every_ms is not None:
        step = timedelta(milliseconds=schedule.every_ms)
        return since.astimezone(UTC) + step * max(
            1, (after - since) // step + 1)
    return _next_cron(str(schedule.expr), _find_zone(schedule.tz), after)


def list_runs(schedule: Schedule, after: datetime, since: datetime
              ) -> Iterator[datetime]:
    """All times that `next_run` gives one after another, at a tenth of its
    cost."""
    if schedule.expr is None:
        while (found := next_run(schedule, after, since)) is not None:
            yield (after := found)
        return
    fields, years = _split(schedule.expr)
    zone = _find_zone(schedule.tz)
    after = after.astimezone(UTC)
    for moment in _list_moments(fields, zone, after):
        if moment <= after:
            continue
        if moment.astimezone(zone).year not in years:
            found = _next_cron(schedule.expr, zone, after)
            if found is not None:
                yield found
                yield from list_runs(schedule, found, since)
            return
        yield (after := moment)


def _parse_cron(expr: Any, tz: Any) -> Schedule:
    from cronsim import CronSim, CronSimError
    if not isinstance(expr, str) or not isinstance(tz, str | None):
        raise UsageError("'expr' and 'tz' must be texts")
    if len(expr) > _EXPR_CHARS:
        raise UsageError("the cron expression is longer than "
                         f"{_EXPR_CHARS} characters")
    _find_zone(tz)
    expr = " ".join(expr.split())
    fields, years = _split(expr)
    try:
        CronSim(" ".join(fields), datetime(2024, 1, 1))
    except (CronSimError, ValueError) as error:
        raise UsageError(
            f"{expr!r} is no cron expression: {error}; five fields are "
            "minute hour day month weekday (0 or 7 is Sunday), six begin "
            "with the second, seven end with the year; a range goes upwards"
        ) from error
    if not years:
        raise UsageError(f"{expr!r} names no year from {_YEARS[0]} to "
                         f"{_YEARS[-1]}")
    return Schedule("cron", expr=expr, tz=tz)


def _parse_moment(text: Any) -> str:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise UsageError(f"{text!r} has no offset from UTC; write "
                             "2030-01-31T09:00:00Z or ...+01:00")
        # as precise as the times of runs
        return moment.astimezone(UTC).isoformat(timespec="milliseconds")
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{text!r:.80} is no time of RFC 3339, such as "
                         "2030-01-31T09:00:00Z") from error


def _parse_interval(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) \
            or not LEAST_MS <= value <= _MOST_MS:
        raise UsageError("'every_ms' must be a whole number of milliseconds, "
                         f"from {LEAST_MS:,} to a hundred years")
    return value


def _split(expr: str) -> tuple[list[str], frozenset[int]]:
    """The six fields that cronsim reads, and the years. Raises
    UsageError."""
    fields = _NAMED.get(expr.lower(), expr).split()
    if expr.startswith("@") and expr.lower() not in _NAMED:
        raise UsageError(f"{expr!r:.80} is not supported; there are: "
                         + ", ".join(_NAMED))
    if not 5 <= len(fields) <= 7:
        raise UsageError(f"{expr!r:.80} has {len(fields)} fields; a cron "
                         "expression has 5, 6 (seconds first) or 7 (and "
                         "years last)")
    if len(fields) == 5:
        fields.insert(0, "0")
    for place in (3, 5):
        fields[place] = fields[place].replace("?", "*")
    return fields[:6], _parse_years("".join(fields[6:]) or "*")


def _parse_years(text: str) -> frozenset[int]:
    years: set[int] = set()
    for term in text.split(","):
        found = _YEAR.fullmatch(term)
        step = int(found[3] or 1) if found else 0
        if found is None or step == 0:
            raise UsageError(f"Bad year: {term!r:.80}")
        first = int(found[1] or _YEARS[0])
        is_one = found[1] and not found[2] and not found[3]
        last = first if is_one else int(found[2] or _YEARS[-1])
        years.update(range(first, last + 1, step))
    return frozenset(years) & frozenset(_YEARS)


def _find_zone(name: str | None) -> "ZoneInfo":
    from zoneinfo import ZoneInfo
    try:
        return ZoneInfo("UTC" if name is None else name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"unknown time zone {name!r:.80}; it must be an "
                         "IANA name such as Europe/Berlin") from error


def _next_cron(expr: str, zone: "ZoneInfo", after: datetime
               ) -> datetime | None:
    fields, years = _split(expr)
    start = after
    while True:
        found = next((moment for moment in _list_moments(fields, zone, start)
                      if moment > after), None)
        if found is None:
            return None
        year = found.astimezone(zone).year
        if year in years:
            return found
        later = [other for other in years if other > year]
        if not later:
            return None
        start = datetime(min(later), 1, 1, tzinfo=zone).astimezone(UTC) \
            - _SECOND


def _list_moments(fields: list[str], zone: "ZoneInfo", after: datetime
                  ) -> Iterator[datetime]:
    """What the fields name from about `after` on, in UTC: cronsim may begin
    with times that have passed, where an hour is repeated."""
    from cronsim import CronSim
    local = after.astimezone(zone)
    expr = " ".join(fields)
    if fields[1].startswith("*") or fields[2].startswith("*"):
        yield from _follow_clock(expr, zone, after)
        return
    for moment in CronSim(expr, local.replace(tzinfo=None)):
        moment = moment.replace(tzinfo=zone)
        while moment.astimezone(UTC).astimezone(zone) != moment:
            moment = moment.replace(second=0) + _MINUTE  # left out
        yield moment.astimezone(UTC)


def _follow_clock(expr: str, zone: "ZoneInfo", after: datetime
                  ) -> Iterator[datetime]:
    """Each time that the zone's clock shows what the fields name: twice
    where it is set back over it, and not at all where it leaps over it. Not
    with cronsim's own zones: it loses a time where a clock is set back by
    half an hour (Lord Howe)."""
    from cronsim import CronSim
    start = (after - _CHANGE).astimezone(zone)
    if start.utcoffset() == (after + _CHANGE).astimezone(zone).utcoffset():
        start = after.astimezone(zone)
    waiting: list[datetime] = []
    for moment in CronSim(expr, start.replace(tzinfo=None)):
        first, second = (moment.replace(tzinfo=zone, fold=fold).astimezone(
            UTC) for fold in (0, 1))
        while waiting and waiting[0] < first:
            yield heapq.heappop(waiting)
        if first.astimezone(zone).replace(tzinfo=None) == moment:
            heapq.heappush(waiting, first)
            if second > first:
                heapq.heappush(waiting, second)
    while waiting:
        yield heapq.heappop(waiting)
