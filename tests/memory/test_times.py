"""One form for every time."""

from datetime import UTC, datetime

import pytest

from claw.memory import times


@pytest.mark.parametrize(("text", "expected"), [
    ("2026-11-20T19:00:00Z", "2026-11-20T19:00:00.000000Z"),
    ("2026-01-01T08:30:00+09:00", "2025-12-31T23:30:00.000000Z"),
    ("2026-01-01T00:30:00.5-01:00", "2026-01-01T01:30:00.500000Z"),
    ("2026-03-24T10:11:12.123456789+01:00",
     "2026-03-24T09:11:12.123456789Z"),                # nothing is lost
    ("2026-11-20", "2026-11-20T00:00:00.000000Z"),
    (" 2026-11-20 10:11 ", "2026-11-20T10:11:00.000000Z"),
])
def test_any_time_becomes_utc(text, expected):
    assert times.to_utc(text) == expected
    assert times.to_utc(expected) == expected


@pytest.mark.parametrize("text", [
    "", "yesterday", "2026-13-01", "12", "0001-01-01T00:00:00+09:00",
    "2026-11-20T19:00:00Z; DROP", "١٩-٢٠"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError):
        times.to_utc(text)


def test_now_is_utc_with_microseconds():
    now = times.now()

    assert times.to_utc(now) == now
    assert len(now) == 27


@pytest.mark.parametrize(("stored", "since", "until", "inside"), [
    ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123456Z",
     "2026-01-01T00:00:00.123456Z", True),
    ("2026-01-01T23:59:59.999999Z", "2026-01-01", "2026-01-01", True),
    ("2026-01-02T00:00:00.000000Z", "2026-01-01", "2026-01-01", False),
    ("2025-12-31T23:59:59.999999Z", "2026-01-01", "2026-01-01", False),
])
def test_bounds_are_inclusive_and_a_date_means_its_day(stored, since, until,
                                                       inside):
    within = times.lower_bound(since) <= stored <= times.upper_bound(until)

    assert within is inside


@pytest.mark.parametrize(("age", "expected"), [
    ("30d", "2026-10-21T12:00:00.000000Z"),
    ("12h", "2026-11-20T00:00:00.000000Z"),
    ("2w", "2026-11-06T12:00:00.000000Z"),
    ("90 m", "2026-11-20T10:30:00.000000Z"),
    ("2026-01-01", "2026-01-01T00:00:00.000000Z"),
])
def test_an_age_is_a_time_before_now(age, expected):
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)

    assert times.before(age, now) == expected


@pytest.mark.parametrize("age", ["", "soon", "-1d", "999999y", "1.5d",
                                 "5M", "30D", "٣d"])
def test_no_age_is_refused(age):
    with pytest.raises(ValueError):
        times.before(age, datetime(2026, 11, 20, tzinfo=UTC))
