"""Filters as SQL conditions over the table `memories`."""

from typing import Any

from claw.core.errors import UsageError
from claw.core.memory import Filters
from claw.memory import times
from claw.text.segment import clean


def conditions(filters: Filters, *, live: bool = True
               ) -> tuple[list[str], list[Any]]:
    """Conditions to join with AND, and their parameters.

    A session sees its own memories and those without one. `live` leaves
    superseded memories out. Raises UsageError for a time bound that is no
    time.
    """
    found: list[str] = []
    values: list[Any] = []
    if live:
        found.append("memories.superseded_by IS NULL")
    if filters.category is not None:
        found.append("memories.category = ?")
        values.append(clean(filters.category))
    if filters.session_id is not None:
        found.append("(memories.session_id = ?"
                     " OR memories.session_id IS NULL)")
        values.append(clean(filters.session_id))
    if filters.since is not None:
        found.append("memories.created_at >= ?")
        values.append(bound("since", filters.since))
    if filters.until is not None:
        found.append("memories.created_at <= ?")
        values.append(bound("until", filters.until))
    return found, values


def where(found: list[str]) -> str:
    """A WHERE clause, empty where nothing narrows."""
    return " WHERE " + " AND ".join(found) if found else ""


def bound(name: str, text: str) -> str:
    """A time bound that can be compared with the stored texts; `name` is
    "since", "older_than" (the start of what is named), "until" or "as_of"
    (its end). Raises UsageError."""
    try:
        return (times.end_of if name in ("until", "as_of")
                else times.start_of)(text)
    except ValueError as error:
        raise UsageError(
            f"{name}: {text!r} is not a time",
            hint="write it like 2026-11-20 or 2026-11-20T19:00:00+01:00"
        ) from error
