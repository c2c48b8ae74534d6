"""What an exam says: shares by age, category and language."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from claw.agent.memory.exam.ask import Result

# name, days
_AGES = (("under a week", 7), ("under a month", 31),
         ("under 3 months", 92), ("under a year", 366))
OLDEST = "older"


class Line(NamedTuple):
    """How many of a group were asked for, and found at the first place,
    among the first 5 and 10, and shown to a chat."""

    by: str
    name: str
    asked: int
    first_1: int
    first_5: int
    first_10: int
    shown: int

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items()
                if name != "by"}


def sum_up(results: list[Result], now: datetime) -> list[Line]:
    """A line for all, then for each age, category and language, the larger
    group first (ages: the newer)."""
    return [_count("all", "all", results),
            *_group("age", results, lambda one: find_age(
                one.question.entry.created_at, now)),
            *_group("category", results,
                    lambda one: one.question.entry.category),
            *_group("language", results, lambda one: one.question.language)]


def find_age(created_at: str, now: datetime) -> str:
    """How old a memory is, in the words of the report."""
    try:
        made = datetime.fromisoformat(
            created_at[:26].removesuffix("Z") + "+00:00")
    except ValueError:  # another program's time
        return OLDEST
    return next((name for name, days in _AGES
                 if now - made < timedelta(days=days)), OLDEST)


def _group(by: str, results: list[Result],
           name: Callable[[Result], str]) -> Iterator[Line]:
    groups: dict[str, list[Result]] = {}
    for one in results:
        groups.setdefault(name(one), []).append(one)
    ages = [age for age, _ in _AGES]
    for group, members in sorted(groups.items(), key=lambda item: (
            ages.index(item[0]) if item[0] in ages else len(ages),
            -len(item[1]), item[0])):
        yield _count(by, group, members)


def _count(by: str, name: str, results: Iterable[Result]) -> Line:
    results = list(results)
    first_1, first_5, first_10 = (
        sum(one.place is not None and one.place <= most for one in results)
        for most in (1, 5, 10))
    return Line(by, name, len(results), first_1, first_5, first_10,
                sum(one.shown for one in results))
