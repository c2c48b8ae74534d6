"""Kept times and spans as a person reads and writes them."""

import re
from datetime import datetime

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_MOST_DAYS = 100 * 366


def format_minute(time: str, *, zone: bool = False) -> str:
    """To the minute and where the person is, with the `zone` of that; one
    that can't be read as it is."""
    try:
        moment = datetime.fromisoformat(time).astimezone()
    except (ValueError, OverflowError):
        return time
    return moment.strftime("%Y-%m-%d %H:%M" + (" %Z" if zone else ""))


def format_span(seconds: float) -> str:
    """A span in the largest unit of which it has two: "90 s", "3 h"."""
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(0.0, seconds):.0f} s"


def parse_span(text: str) -> int:
    """Seconds of "90s", "30m", "1h30m", "2d" or "1w". Raises ValueError,
    which says how one is written."""
    text = text.strip().lower().replace(" ", "")
    if not re.fullmatch(r"(?:[0-9]{1,10}[smhdw])+", text):
        raise ValueError("a number and s, m, h, d or w: 90s, 1h30m, 2d")
    seconds = sum(int(number) * _UNITS_S[unit] for number, unit
                  in re.findall(r"([0-9]+)([smhdw])", text))
    if not 0 < seconds <= _MOST_DAYS * 86_400:
        raise ValueError(f"from 1s to {_MOST_DAYS}d, a hundred years")
    return seconds


def write_span(seconds: float) -> str:
    """As `parse_span` reads it, the largest units first: "1h30m"."""
    left, parts = round(seconds), []
    for unit in "dhms":
        number, left = divmod(left, _UNITS_S[unit])
        parts += [f"{number}{unit}"] if number else []
    return "".join(parts) or f"{seconds:g}s"
