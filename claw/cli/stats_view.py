"""The numbers of a memory: as lines, as JSON, as a picture."""

from datetime import date, timedelta
from typing import Any

from claw.cli.bars import chart
from claw.cli.commands.memory_io import on_one_line
from claw.core.value import Value
from claw.memory.statistics import Statistics

_PERIODS = 12  # months or weeks in the picture
_CATEGORIES = 12


class Seen(Value):
    """What was counted; `missing` vectors are None where none are
    configured."""

    backend: str
    healthy: bool
    total: int
    found: Statistics
    missing: int | None = None


def document(seen: Seen) -> dict[str, Any]:
    """All of it as JSON."""
    found = seen.found
    return {
        "backend": seen.backend, "healthy": seen.healthy,
        "total": seen.total, "categories": found.categories,
        "superseded": found.superseded, "sessions": found.sessions,
        "senders": found.senders, "top_senders": found.top_senders,
        "timeline": {"unit": found.unit, "counts": found.timeline},
        "oldest": found.oldest, "newest": found.newest,
        "size_bytes": sum(found.bytes.values()) if found.bytes else None,
        "bytes": found.bytes or None,
        "vectors": {"made": found.vectors, "missing": seen.missing},
        "versions": found.versions}


def lines(seen: Seen) -> str:
    """One "name: value" a line; only categories are indented."""
    found = seen.found
    told: dict[str, Any] = {
        "superseded": found.superseded, "sessions": found.sessions,
        "senders": found.senders, "oldest": found.oldest,
        "newest": found.newest,
        **{f"{found.unit} {period}": number
           for period, number in found.timeline.items()}}
    if found.bytes:
        told["size"] = sum(found.bytes.values())
        told |= {f"size {part}": size for part, size in found.bytes.items()}
    told |= {"vectors": found.vectors, "vectors missing": seen.missing,
             "versions": found.versions}
    return "\n".join([
        f"backend: {seen.backend}", f"health: {_health(seen)}",
        f"total: {seen.total}",
        *(f"  {on_one_line(name)}: {number}"
          for name, number in found.categories.items()),
        *(f"{name}: {value}" for name, value in told.items()
          if value is not None)])


def picture(seen: Seen, columns: int) -> str:
    """Bars for a person, in so many columns."""
    found = seen.found
    told = [f"{seen.backend}, {_health(seen)}: {seen.total:,} memories"]
    if found.oldest and found.newest:
        told.append(f"{found.oldest[:10]} to {found.newest[:10]}, "
                    f"{_many(found.sessions, 'session')}, "
                    f"{_many(found.senders, 'sender')}")
    named = {on_one_line(name): number
             for name, number in found.categories.items()}
    told += _section("by category", _short(named), columns)
    told += _section(f"by {found.unit}", _recent(found), columns)
    told += _section("by sender", {
        on_one_line(name): number
        for name, number in found.top_senders.items()}, columns)
    if found.bytes:
        sizes = {part: size for part, size in found.bytes.items() if size}
        told += ["", f"on disk: {_size(sum(sizes.values()))}", *chart(
            sizes, columns, {p: _size(s) for p, s in sizes.items()})]
    told += ["", *_rest(seen)] if _rest(seen) else []
    return "\n".join(told)


def _section(title: str, numbers: dict[str, int],
             columns: int) -> list[str]:
    return ["", title, *chart(numbers, columns)] if numbers else []


def _rest(seen: Seen) -> list[str]:
    found, told = seen.found, []
    if found.superseded:
        told.append(f"{found.superseded:,} superseded")
    if found.versions:
        told.append(f"{_many(found.versions, 'earlier state')} kept")
    if found.vectors or seen.missing:
        told.append(f"{_many(found.vectors or 0, 'vector')}")
    if seen.missing:
        told.append(f"{seen.missing:,} missing: "
                    "claw memory reindex --vectors")
    return [", ".join(told)] if told else []


def _health(seen: Seen) -> str:
    return "healthy" if seen.healthy else "unhealthy"


def _short(numbers: dict[str, int]) -> dict[str, int]:
    """The largest, and the sum of the others."""
    if len(numbers) <= _CATEGORIES:
        return numbers
    kept = dict(list(numbers.items())[:_CATEGORIES - 1])
    others = len(numbers) - len(kept)
    return {**kept, f"({others} others)":
            sum(numbers.values()) - sum(kept.values())}


def _recent(found: Statistics) -> dict[str, int]:
    """The last periods up to the newest memory, empty ones too."""
    if not found.timeline:
        return {}
    period, first = max(found.timeline), min(found.timeline)
    recent: dict[str, int] = {}
    while len(recent) < _PERIODS and period >= first:
        recent[period] = found.timeline.get(period, 0)
        period = _before(period, found.unit)
    return dict(sorted(recent.items()))


def _before(period: str, unit: str) -> str:
    if unit == "week":
        return (date.fromisoformat(period) - timedelta(days=7)).isoformat()
    year, month = int(period[:4]), int(period[5:7])
    return f"{year:04d}-{month - 1:02d}" if month > 1 \
        else f"{year - 1:04d}-12"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _size(size: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 \
                else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
