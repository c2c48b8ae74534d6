"""Spans as a person writes them."""

import pytest

from claw.core.minutes import parse_span, write_span


@pytest.mark.parametrize(("text", "seconds"), [
    ("90s", 90), ("30m", 1800), ("1h30m", 5400), ("2d", 172_800),
    (" 1 W ", 604_800), ("1d1s", 86_401),
])
def test_a_span_is_read_and_written(text, seconds):
    assert parse_span(text) == seconds
    assert parse_span(write_span(seconds)) == seconds


@pytest.mark.parametrize("text", [
    "", "5", "5x", "h", "-5m", "0s", "1.5h", "\u0663h", "9999999999w", "5m5",
])
def test_what_is_no_span_is_refused(text):
    with pytest.raises(ValueError):
        parse_span(text)
