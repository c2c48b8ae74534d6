"""Times as other programs read them: RFC 3339, in UTC."""

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Unix seconds as "2026-11-20T19:00:00.123Z"."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(
        timespec="milliseconds").replace("+00:00", "Z")
