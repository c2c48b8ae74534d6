"""Kept times and spans as a person reads them."""

from datetime import datetime


def format_minute(time: str) -> str:
    """To the minute and where the person is; one that can't be read as it
    is."""
    try:
        moment = datetime.fromisoformat(time).astimezone()
    except (ValueError, OverflowError):
        return time
    return moment.strftime("%Y-%m-%d %H:%M")


def format_span(seconds: float) -> str:
    """A span in the largest unit of which it has two: "90 s", "3 h"."""
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(0.0, seconds):.0f} s"
