"""Times as other programs read them: RFC 3339, in UTC."""

import time
from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Unix seconds as "2026-11-20T19:00:00.123Z"."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(
        timespec="milliseconds").replace("+00:00", "Z")


def until_tick(every_s: float) -> float:
    """Seconds to the next of the moments that lie so far apart. Who looks
    again and again does it at these: many loops wake a process once."""
    return every_s - time.monotonic() % every_s
