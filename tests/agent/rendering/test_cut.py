"""Text cut short."""

import pytest

from claw.agent.rendering.cut import cut_bytes, shorten


@pytest.mark.parametrize(("text", "limit", "expected"), [
    ("abc", 3, "abc"),
    ("abcd", 3, "abc..."),
    ("ab cd", 3, "ab..."),
    ("abc ", 4, "abc "),
    ("", 0, ""),
])
def test_more_than_the_limit_ends_in_dots(text, limit, expected):
    assert shorten(text, limit) == expected


@pytest.mark.parametrize(("text", "limit", "expected"), [
    ("abc", 3, "abc"),
    ("abcd", 3, "abc…"),
    ("aéé", 3, "aé…"),
    ("aéé", 4, "aé…"),
    ("aéé", 5, "aéé"),
    ("ab", 0, "…"),
])
def test_bytes_are_cut_between_characters(text, limit, expected):
    assert cut_bytes(text, limit) == expected
