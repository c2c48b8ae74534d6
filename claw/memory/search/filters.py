"""Filters as tests of memories: one table for SQL and for plain entries.

The table is read from core's Filters: each field carries its Rule.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_origin, get_type_hints

import msgspec

from claw.core.errors import UsageError
from claw.core.memory import Filters, MemoryEntry, Rule
from claw.memory import times
from claw.text.segment import clean

RULES: dict[str, Rule] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Filters, include_extras=True).items()
    if get_origin(hint) is Annotated}
_TIMES = frozenset(("created_at", "updated_at"))
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, ">=": operator.ge, "<=": operator.le}


class Dialect(msgspec.Struct, frozen=True):
    """How a store's SQL takes a text and a time: the parameter's mark, and
    the value behind it."""

    mark: str = "?"
    time_mark: str = "?"
    text: Callable[[str], str] = clean
    time: Callable[[str], str] = str

    def compare(self, column: str, sign: str, value: Any) -> tuple[str, Any]:
        """A condition with its parameter."""
        if not isinstance(value, str):
            return f"{column} {sign} {self.mark}", value
        if column.rpartition(".")[2] in _TIMES:
            return f"{column} {sign} {self.time_mark}", self.time(value)
        return f"{column} {sign} {self.mark}", self.text(value)


SQLITE = Dialect()


def read_rules(filters: Filters) -> list[tuple[Rule, Any]]:
    """The rules that narrow, with their values as stores hold them. Raises
    UsageError for a time bound that is no time."""
    return [(rule, bound(name, value, end=rule.sign == "<=")
             if rule.field in _TIMES
             else clean(value) if isinstance(value, str) else value)
            for name, rule in RULES.items()
            if (value := getattr(filters, name)) is not None]


def conditions(filters: Filters, *, live: bool = True,
               dialect: Dialect = SQLITE) -> tuple[list[str], list[Any]]:
    """Conditions over `memories` to join with AND, and their parameters.

    `live` leaves superseded memories out. Raises UsageError for a time
    bound that is no time.
    """
    found = ["memories.superseded_by IS NULL"] if live else []
    values: list[Any] = []
    for rule, given in read_rules(filters):
        column = f"memories.{rule.field}"
        test, value = dialect.compare(column, rule.sign, given)
        found.append(f"({test} OR {column} IS NULL)" if rule.or_none
                     else test)
        values.append(value)
    return found, values


def build_test(filters: Filters) -> Callable[[MemoryEntry], bool]:
    """The same for a memory at hand; superseded ones are not left out."""
    rules = read_rules(filters)

    def passes(entry: MemoryEntry) -> bool:
        return all(rule.or_none if (held := getattr(entry, rule.field)) is None
                   else _SIGNS[rule.sign](held, value)
                   for rule, value in rules)
    return passes


def select_forgotten(category: str | None, older_than: str | None,
                     keys: Sequence[str] | None, dialect: Dialect = SQLITE
                     ) -> tuple[list[str], list[Any]]:
    """Conditions for `forget_where`, without the keys. Raises UsageError
    where nothing is named."""
    if category is None and older_than is None and keys is None:
        raise UsageError("nothing was named to forget",
                         hint="name keys, a category or an age")
    found = []
    if category is not None:
        found.append(dialect.compare("category", "=", category))
    if older_than is not None:
        found.append(dialect.compare("updated_at", "<",
                                     bound("older_than", older_than)))
    return [test for test, _ in found], [value for _, value in found]


def where(found: list[str]) -> str:
    """A WHERE clause, empty where nothing narrows."""
    return " WHERE " + " AND ".join(found) if found else ""


def bound(name: str, text: str, *, end: bool = False) -> str:
    """A time bound that can be compared with the stored texts: the start
    of what the text names, or its end. Raises UsageError with `name`."""
    try:
        return (times.upper_bound if end else times.lower_bound)(text)
    except ValueError as error:
        raise UsageError(
            f"{name}: {text!r} is not a time",
            hint="write it like 2026-11-20 or 2026-11-20T19:00:00+01:00"
        ) from error
