"""A kept time as a person reads it."""

from datetime import datetime


def format_minute(time: str) -> str:
    """To the minute and where the person is; one that can't be read as it
    is."""
    try:
        moment = datetime.fromisoformat(time).astimezone()
    except (ValueError, OverflowError):
        return time
    return moment.strftime("%Y-%m-%d %H:%M")
