"""Filters as conditions over `memories`, for psycopg."""

from typing import Any

from claw.core.errors import UsageError
from claw.core.memory import Filters
from claw.memory.filters import bound
from claw.memory.postgres.escape import escaped


def conditions(filters: Filters, *, live: bool = True
               ) -> tuple[list[str], list[Any]]:
    """Conditions to join with AND, and their parameters.

    A session sees its own memories and those without one. `live` leaves
    superseded memories out. Raises UsageError for a time bound that is no
    time, and for a moment of the past: no earlier versions are kept.
    """
    if filters.as_of is not None:
        raise UsageError(
            'the memory backend "postgres" does not keep what memories said '
            "before", hint="leave that moment out; the backend sqlite can "
            "look back")
    found: list[str] = []
    values: list[Any] = []
    if live:
        found.append("memories.superseded_by IS NULL")
    if filters.category is not None:
        found.append("memories.category = %s")
        values.append(escaped(filters.category))
    if filters.session_id is not None:
        found.append("(memories.session_id = %s"
                     " OR memories.session_id IS NULL)")
        values.append(escaped(filters.session_id))
    for name, sign in (("since", ">="), ("until", "<=")):
        text = getattr(filters, name)
        if text is not None:
            found.append(f"memories.created_at {sign} %s::timestamptz")
            values.append(instant(bound(name, text)))
    return found, values


def instant(text: str) -> str:
    """A time of the common form as PostgreSQL keeps it: to the
    microsecond."""
    return text.removesuffix("Z")[:26] + "Z"
