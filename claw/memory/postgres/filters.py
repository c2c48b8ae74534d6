"""Filters as conditions over `memories`, for psycopg."""

from typing import Any

from claw.core.errors import UsageError
from claw.core.memory import Filters
from claw.memory.postgres.escape import escape
from claw.memory.search import filters as shared


def to_instant(text: str) -> str:
    """A time of the common form as PostgreSQL keeps it: to the
    microsecond."""
    return text.removesuffix("Z")[:26] + "Z"


DIALECT = shared.Dialect("%s", "%s::timestamptz", escape, to_instant)


def conditions(filters: Filters) -> tuple[list[str], list[Any]]:
    """Conditions to join with AND, and their parameters; superseded
    memories are left out. Raises UsageError for a time bound that is no
    time, and for a moment of the past: no earlier versions are kept.
    """
    if filters.as_of is not None:
        raise UsageError(
            'the memory backend "postgres" does not keep what memories said '
            "before", hint="leave that moment out; the backend sqlite can "
            "look back")
    return shared.conditions(filters, dialect=DIALECT)
