"""How long to wait before a request is sent again.

more_waits.jsonl: headers and bodies with the seconds they ask for, written
before they were run; the time is Tue, 14 Nov 2023 22:13:20 GMT.
"""

import json
from pathlib import Path
from time import process_time

import pytest

from claw.net.retry import (
    asked_wait,
    backoff,
    body_wait,
    limit_reset,
    retry_after,
    span,
    to_wait,
)

NOON = 1795176000.0  # 2026-11-20T12:00:00Z


@pytest.mark.parametrize(("attempt", "expected"), [
    (0, 0.5), (1, 1.0), (3, 4.0), (5, 10.0), (60, 10.0), (10_000, 10.0)])
def test_backoff_doubles_up_to_ten_seconds(attempt, expected):
    assert backoff(attempt, rng=lambda: 1.0) == expected
    assert backoff(attempt, rng=lambda: 0.0) == 0.0
    assert backoff(attempt, rng=lambda: 0.5) == expected / 2


def test_backoff_begins_with_50_ms_at_least():
    assert backoff(0, base=0.0, rng=lambda: 1.0) == 0.05


@pytest.mark.parametrize(("asked", "backing_off", "expected"), [
    (None, 0.7, 0.7), (7.0, 0.7, 7.0), (0.2, 0.7, 0.7), (0.0, 0.7, 0.7),
    (300_000.0, 0.7, 30.0), (30.0, 40.0, 40.0)])
def test_what_the_server_asks_for_counts_up_to_30_seconds(
        asked, backing_off, expected):
    assert to_wait(asked, backing_off) == expected


@pytest.mark.each(("value", "expected"), [
    ("7", 7.0), ("0", 0.0), ("1.5", 1.5), (" 12 ", 12.0), ("-3", 0.0),
    ("+4", 4.0), ("259200", 259200.0),
    ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),        # IMF-fixdate
    ("Friday, 20-Nov-26 12:00:30 GMT", 30.0),       # RFC 850
    ("Fri Nov 20 12:00:30 2026", 30.0),             # asctime: UTC
    ("Fri Nov  6 12:00:30 2026", 0.0),
    ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),         # past
    ("Fri, 20 Nov 2026 13:00:30 +0100", 30.0),
    ("Mon, 23 Nov 2026 12:00:00 GMT", 259200.0),
    ("2026-11-20T12:00:30Z", 30.0), ("2026-11-20T12:00:30.5Z", 30.5),
    ("2026-11-20T13:00:30+01:00", 30.0),
    ("30s", 30.0), ("1m30s", 90.0), ("6m0s", 360.0), ("547ms", 0.547),
    ("1h2m3s", 3723.0), ("120 seconds", 120.0), ("2 minutes", 120.0),
    (str(NOON + 30), 30.0), ("1795176030", 30.0), ("1795176030000", 30.0),
    ("5, 10", 10.0), ("10, 5", 10.0),
    ("Fri, 20 Nov 2026 12:00:30 GMT, Fri, 20 Nov 2026 12:00:40 GMT", 40.0),
    ("soon", None), ("", None), ("nan", None), ("inf", None), ("-inf", None),
    ("1e99", None), ("1_000", None), ("0x10", None), ("٣", None),
    ("７", None), ("5;", None), ("10, soon", None), ("10 apples", None),
    ("Fri, 32 Nov 2026 12:00:30 GMT", None), ("Fri, 20 Nov", None),
    ("2026-13-20T12:00:30Z", None), ("9" * 14, None), ("9" * 400, None),
    ("Fri Nov 20 12:00:30 99999", None), ("\x00", None), ("\udcff", None),
])
def test_retry_after_in_every_form(value, expected):
    assert retry_after({"retry-after": value}, NOON) == expected


@pytest.mark.parametrize(("headers", "expected"), [
    ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
    ({"retry-after-ms": "-250"}, 0.0), ({}, None),
])
def test_milliseconds_come_first(headers, expected):
    assert retry_after(headers, NOON) == expected


def test_a_date_counts_from_now():
    wait = retry_after({"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"})

    assert wait is None or wait > 1e8


@pytest.mark.each(("body", "expected"), [
    ("Rate limit reached. Please try again in 20s. Contact us", 20.0),
    ("Please try again in 7m12s. Need more tokens?", 432.0),
    ("Please try again in 22m46.848s.", 1366.848),
    ("try again in 547ms", 0.547), ("try again in 6ms.", 0.006),
    ("Please retry in 34.074824224s.", 34.074824224),
    ("Please retry after 26 seconds.", 26.0),
    ("please try again after 1 seconds", 1.0),
    ("Try again in 2 hours and 5 minutes", 7500.0),
    ("Please wait 4321 seconds before retrying", 4321.0),
    ("Please wait for 30 seconds", 30.0), ("resets in 3h", 10800.0),
    ("retry-after: 3", 3.0), ("Retry-After: 12", 12.0),
    ("retry_after: 2.5", 2.5), ("retry_after 4", 4.0), ("retry-after 4", 4.0),
    ("retry_after=5 (soft)", 5.0), ("Too Many Requests: retry after 35", 35.0),
    ("{'retry_after': 17}", 17.0), ("retry_after_ms: 500", 0.5),
    ("429 try again in 20.", 20.0),
    ('{"error": {"retry_after": 3}}', 3.0),
    ('{"parameters": {"retry_after": 35}}', 35.0),
    ('{"retry_after": "12.5"}', 12.5), ('{"retryAfter": "40s"}', 40.0),
    ('{"retry_after_ms": 1500}', 1.5), ('{"retry-after": 9}', 9.0),
    ('{"error":{"details":[{"@type":"x/google.rpc.RetryInfo",'
     '"retryDelay":"34s"}]}}', 34.0),
    ('[{"error":{"details":[{"retryDelay":"34.5s"}]}}]', 34.5),
    ('{"retryDelay":{"seconds":"34","nanos":5}}', 34.0),
    ('{"error":"loading","estimated_time":20.5}', 20.5),
    ('{"error":{"message":"Please try again in 1.5s"}}', 1.5),
    ('{"retry_after": null, "message": "try again in 3s"}', 3.0),
    ("try again in a few minutes", None), ("try again later", None),
    ("retry in 3 attempts", None), ("wait for 3 requests", None),
    ("after 5 tries", None), ("", None), ('{"retry_after": true}', None),
    ('{"retry_after": 1e400}', None), ('{"retry_after": -2}', 0.0),
    ('{"retry_after": ' + "9" * 300 + "}", None),
    ("retry " * 9000, None), ('{"retry":' * 9000, None),
    ('{"a":' * 30 + '{"retry_after": 1}' + "}" * 30, 1.0),
])
def test_the_text_of_an_error_tells_it_too(body, expected):
    assert body_wait(body) == pytest.approx(expected) \
        if expected is not None else body_wait(body) is None


@pytest.mark.parametrize(("headers", "expected"), [
    ({"x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "6m0s",
      "x-ratelimit-remaining-tokens": "900",
      "x-ratelimit-reset-tokens": "9h"}, 360.0),
    ({"x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "7.66s"}, 7.66),
    ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1795176042"},
     42.0),
    ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1795176042000"},
     42.0),
    ({"anthropic-ratelimit-tokens-remaining": "0",
      "anthropic-ratelimit-tokens-reset": "2026-11-20T12:00:09Z"}, 9.0),
    ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "42"}, None),
    ({"x-ratelimit-remaining": "0"}, None),
    ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "?"}, None),
    ({}, None),
])
def test_limits_that_are_used_up_tell_when_they_open(headers, expected):
    assert limit_reset(headers, NOON) == expected


def test_the_header_made_for_it_comes_first_then_the_text():
    used_up = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "50"}

    assert asked_wait({"retry-after": "7", **used_up}, "try again in 9s",
                      NOON) == 7.0
    assert asked_wait(used_up, "try again in 9s", NOON) == 9.0
    assert asked_wait(used_up, "slow down", NOON) == 50.0
    assert asked_wait({}, "slow down", NOON) is None


@pytest.mark.parametrize(("seconds", "expected"), [
    (0.25, "0.2 s"), (7, "7 s"), (12.4, "12 s"), (119, "119 s"),
    (120, "2 minutes"), (4000, "67 minutes"), (7200, "2 hours"),
    (90_000, "25 hours"), (259_200, "3 days"), (-1, "0 s")])
def test_a_wait_in_words(seconds, expected):
    assert span(seconds) == expected


ASKED = [json.loads(line) for line in
         Path(__file__).with_name("more_waits.jsonl")
         .read_text(encoding="utf-8").splitlines()]


@pytest.mark.each("row", ASKED)
def test_waits_nobody_tuned_for_are_read(row):
    found = asked_wait(row["headers"], row["body"], 1_700_000_000.0)

    assert found == (None if row["wait"] is None
                     else pytest.approx(row["wait"], abs=1e-6))


@pytest.mark.parametrize(("value", "expected"), [
    ("9" * 1_000_000, None), ("5" + " " * 1_000_000, 5.0),
    ("1" + "0" * 400, None)])
def test_a_huge_header_costs_nothing(value, expected):
    began = process_time()

    assert asked_wait({"retry-after": value}) == expected
    assert process_time() - began < 0.2


@pytest.mark.parametrize("body", [
    "x" * 1_000_000, "retry after " * 80_000, "{" * 1_000_000,
    "[" * 100_000, '{"retry_after": 1' + "0" * 5000 + "}",
    "30 " * 300_000, "9" * 1_000_000])
def test_a_huge_body_costs_nothing(body):
    began = process_time()

    assert asked_wait({}, body) is None
    assert process_time() - began < 0.5


def test_seconds_before_now_are_no_wait():
    assert body_wait("try again in -5s") is None


@pytest.mark.parametrize(("levels", "expected"), [(8, 3.0), (9, None)])
def test_a_time_to_wait_is_looked_for_eight_levels_deep(levels, expected):
    body = '{"a": ' * levels + '{"estimated_time": 3}' + "}" * levels

    assert body_wait(body) == expected
