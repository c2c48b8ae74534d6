"""When a job is due."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from claw.core.errors import UsageError
from claw.storage.jobs.schedule import (
    Schedule,
    list_runs,
    next_run,
    parse_schedule,
)

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
START = datetime(2026, 1, 1, tzinfo=UTC)


def list_times(expr, tz, after, count):
    schedule = parse_schedule({"kind": "cron", "expr": expr, "tz": tz})
    moment = datetime.fromisoformat(after)
    found = []
    while len(found) < count:
        moment = next_run(schedule, moment, START)
        if moment is None:
            return [*found, None]
        found.append(moment.astimezone(ZoneInfo(tz or "UTC"))
                     .isoformat(timespec="minutes").replace("+00:00", "Z"))
    return found


@pytest.mark.parametrize(("expr", "after", "times"), [
    # every kind of field
    ("*/20 * * * *", "2026-01-01T00:00:00Z",
     ["2026-01-01T00:20Z", "2026-01-01T00:40Z", "2026-01-01T01:00Z"]),
    ("0 9 * * MON-FRI", "2026-01-02T09:00:00Z",
     ["2026-01-05T09:00Z", "2026-01-06T09:00Z"]),
    ("0 9 * * 0", "2026-01-01T00:00:00Z", ["2026-01-04T09:00Z"]),
    ("0 9 * * 7", "2026-01-01T00:00:00Z", ["2026-01-04T09:00Z"]),
    ("@daily", "2026-01-01T00:00:00Z", ["2026-01-02T00:00Z"]),
    # six and seven: the second, the year; ? is *
    ("0 30 9 * * *", "2026-01-01T00:00:00Z", ["2026-01-01T09:30Z"]),
    ("0 0 12 1 1 ? 2028-2036/4", "2026-01-01T00:00:00Z",
     ["2028-01-01T12:00Z", "2032-01-01T12:00Z", "2036-01-01T12:00Z", None]),
    ("0 0 0 1 1 * 2027,2030", "2026-01-01T00:00:00Z",
     ["2027-01-01T00:00Z", "2030-01-01T00:00Z", None]),
    # leap years, ends of months
    ("0 0 29 2 *", "2026-01-01T00:00:00Z",
     ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]),
    ("0 0 29 2 *", "2096-03-01T00:00:00Z", ["2104-02-29T00:00Z"]),
    ("0 0 31 * *", "2026-01-31T00:00:00Z",
     ["2026-03-31T00:00Z", "2026-05-31T00:00Z", "2026-07-31T00:00Z"]),
    ("0 0 L * *", "2028-01-31T00:00:00Z",
     ["2028-02-29T00:00Z", "2028-03-31T00:00Z"]),
])
def test_fields(expr, after, times):
    assert list_times(expr, None, after, len(times)) == times


@pytest.mark.parametrize(("expr", "tz", "after", "times"), [
    # 02:00 to 03:00 is left out on 29 March in Berlin, on 8 March in
    # New York: the job of that hour runs when it would have ended
    ("30 2 * * *", BERLIN, "2026-03-28T02:00:00Z",
     ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    ("0,30 2 * * *", BERLIN, "2026-03-28T02:00:00Z",
     ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
    ("0 30 2 * * *", BERLIN, "2026-03-28T02:00:00Z",
     ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    ("30 2 * * *", NEW_YORK, "2026-03-07T12:00:00Z",
     ["2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"]),
    ("0 9 * * *", BERLIN, "2026-03-28T09:00:00Z",
     ["2026-03-29T09:00+02:00", "2026-03-30T09:00+02:00"]),
    ("0 * * * *", BERLIN, "2026-03-29T00:30:00Z",
     ["2026-03-29T03:00+02:00", "2026-03-29T04:00+02:00"]),
    # an hour comes twice on 25 October and 1 November: once at fixed
    # times, by the time that goes by where minutes or hours are *
    ("30 2 * * *", BERLIN, "2026-10-24T12:00:00Z",
     ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
    ("0 30 2 * * *", BERLIN, "2026-10-24T12:00:00Z",
     ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
    ("30 1 * * *", NEW_YORK, "2026-10-31T12:00:00Z",
     ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
    ("0 * * * *", BERLIN, "2026-10-24T23:30:00Z",
     ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00",
      "2026-10-25T03:00+01:00"]),
    ("*/30 1 * * *", NEW_YORK, "2026-11-01T05:15:00Z",
     ["2026-11-01T01:30-04:00", "2026-11-01T01:00-05:00",
      "2026-11-01T01:30-05:00", "2026-11-02T01:00-05:00"]),
    ("0 9 * * *", BERLIN, "2026-10-24T09:00:00Z",
     ["2026-10-25T09:00+01:00", "2026-10-26T09:00+01:00"]),
])
def test_clock_changes(expr, tz, after, times):
    assert list_times(expr, tz, after, len(times)) == times


def test_a_job_that_ran_does_not_run_again_in_the_repeated_hour():
    """At 01:10, the second time, the time 01:45 has passed already."""
    assert list_times("45 1 * * *", NEW_YORK, "2026-11-01T06:10:00Z", 1) \
        == ["2026-11-02T01:45-05:00"]


@pytest.mark.parametrize("tz", [
    BERLIN, NEW_YORK, "Australia/Lord_Howe", "Africa/Cairo",
    "America/Santiago", "Asia/Kolkata"])
@pytest.mark.parametrize("expr", [
    "0 2 * * *", "30 0 * * *", "*/15 * * * *", "0 * * * *", "15 2 * * 0",
    "* 0 * * *"])
def test_times_only_go_forward_and_no_day_is_left_out(expr, tz):
    schedule = parse_schedule({"kind": "cron", "expr": expr, "tz": tz})
    moment = START
    while moment < START + timedelta(days=30):
        later = next_run(schedule, moment, START)
        assert moment < later <= moment + timedelta(days=7, hours=2)
        assert next_run(schedule, later - timedelta(seconds=1), START) \
            == later
        moment = later


@pytest.mark.parametrize(("after_s", "next_s"), [
    (0, 90), (89.9, 90), (90, 180), (91, 180), (1_000, 1_080), (-500, 90)])
def test_an_interval_counts_from_when_the_job_was_made(after_s, next_s):
    schedule = parse_schedule({"kind": "every", "every_ms": 90_000})
    assert next_run(schedule, START + timedelta(seconds=after_s), START) \
        == START + timedelta(seconds=next_s)


def test_a_moment_comes_once():
    schedule = parse_schedule({"kind": "at",
                               "at": "2026-06-01T09:00:00+02:00"})
    moment = datetime(2026, 6, 1, 7, tzinfo=UTC)

    assert next_run(schedule, START, START) == moment
    assert next_run(schedule, moment, START) is None
    assert parse_schedule(schedule.to_dict()) == schedule


@pytest.mark.parametrize(("given", "error"), [
    (None, "must be"), ([], "must be"), ({}, "must be"),
    ({"kind": "weekly"}, "must be"), ({"kind": ["cron"]}, "must be"),
    ({"kind": "cron"}, "needs 'expr'"),
    ({"kind": "cron", "expr": "* * * * *", "at": "x"}, "has no 'at'"),
    ({"kind": "cron", "expr": 7}, "must be texts"),
    ({"kind": "cron", "expr": ""}, "0 fields"),
    ({"kind": "cron", "expr": "@reboot"}, "not supported; there are: @hourly"),
    ({"kind": "cron", "expr": "* " * 99}, "99 fields"),
    ({"kind": "cron", "expr": "60 * * * *"}, "Bad minute"),
    ({"kind": "cron", "expr": "* * * * FRI-MON"}, "Bad day-of-week"),
    ({"kind": "cron", "expr": "0 0 15W * *"}, "Bad day-of-month"),
    ({"kind": "cron", "expr": "0 0 30 2 *"}, "Bad day-of-month"),
    ({"kind": "cron", "expr": "*/0 * * * *"}, "Bad minute"),
    ({"kind": "cron", "expr": "* * * * ²"}, "Bad day-of-week"),
    ({"kind": "cron", "expr": "* * * * * * 27"}, "Bad year"),
    ({"kind": "cron", "expr": "* * * * * * 3000"}, "names no year"),
    ({"kind": "cron", "expr": "9" * 500 + " * * * *"}, "longer than"),
    ({"kind": "cron", "expr": "* * * * *", "tz": "Berlin"}, "time zone"),
    ({"kind": "cron", "expr": "* * * * *", "tz": ""}, "time zone"),
    ({"kind": "cron", "expr": "* * * * *", "tz": "../etc"}, "time zone"),
    ({"kind": "cron", "expr": "* * * * *", "tz": "\0"}, "time zone"),
    ({"kind": "cron", "expr": "* * * * *", "tz": "\ud800"}, "time zone"),
    ({"kind": "cron", "expr": "* * * * *", "tz": "x" * 999}, "time zone"),
    ({"kind": "at", "at": "tomorrow"}, "RFC 3339"),
    ({"kind": "at", "at": 7}, "RFC 3339"),
    ({"kind": "at", "at": "2030-01-01T09:00:00"}, "no offset"),
    ({"kind": "at", "at": "0001-01-01T00:00:00+10:00"}, "RFC 3339"),
    ({"kind": "every", "every_ms": 0}, "every_ms"),
    ({"kind": "every", "every_ms": 999}, "every_ms"),
    ({"kind": "every", "every_ms": True}, "every_ms"),
    ({"kind": "every", "every_ms": 1.5}, "every_ms"),
    ({"kind": "every", "every_ms": 10**30}, "every_ms"),
])
def test_a_wrong_schedule_is_refused_with_a_sentence(given, error):
    with pytest.raises(UsageError, match=error):
        parse_schedule(given)


def test_a_schedule_is_json_and_back():
    schedule = Schedule("cron", expr="0 9 * * *", tz=BERLIN)
    assert parse_schedule(schedule.to_dict()) == schedule


def test_a_clock_that_is_set_back_by_half_an_hour_leaves_no_time_out():
    """cronsim lost 02:15, which this day has once."""
    schedule = Schedule("cron", expr="15 */2 * * *", tz="Australia/Lord_Howe")
    after = datetime(2026, 4, 4, 13, 30, tzinfo=UTC)

    assert next_run(schedule, after, after) == datetime(
        2026, 4, 4, 15, 45, tzinfo=UTC)


@pytest.mark.each("schedule", [
    *({"kind": "cron", "expr": expr, "tz": tz} for tz in (BERLIN, NEW_YORK,
                                                         "Asia/Kathmandu")
      for expr in ("*/7 * * * *", "30 2 * * *", "15,45 1,2,3 * 3,10,11 SUN",
                   "0 * * * *", "*/20 */3 * * * *", "0 0 9 * * ? 2026,2029",
                   "@monthly", "0 0 29 2 *")),
    {"kind": "every", "every_ms": 90_000},
    {"kind": "at", "at": "2030-01-01T00:00:00Z"},
])
def test_times_in_a_row_are_those_that_come_one_after_another(schedule):
    schedule = parse_schedule(schedule)
    found, moment = [], START
    while len(found) < 300 and (moment := next_run(schedule, moment, START)):
        found.append(moment)

    assert list(islice(list_runs(schedule, START, START), 300)) == found


def test_times_in_a_row_end_with_the_last_year():
    """Of a year far ahead no second in between is looked at."""
    schedule = parse_schedule({"kind": "cron", "expr": "* * * * * * 2199"})
    assert next(list_runs(schedule, START, START)).year == 2199
