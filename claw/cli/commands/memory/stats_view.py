"""The numbers of a memory: as lines, as JSON, as a picture."""

from datetime import date, timedelta
from typing import Any

from claw.cli.commands.memory.common import to_one_line
from claw.cli.show.bars import draw_chart
from claw.core.value import Value
from claw.memory.sqlite.statistics import Statistics
from claw.text.plural import memories, plural

_PERIODS = 12  # months or weeks in the picture
_CATEGORIES = 12


class Counts(Value):
    """The numbers of one store; `missing` vectors are None where none are
    configured."""

    backend: str
    healthy: bool
    total: int
    found: Statistics
    missing: int | None = None


def to_document(counts: Counts) -> dict[str, Any]:
    """All of it as JSON."""
    found = counts.found
    return {
        "backend": counts.backend, "healthy": counts.healthy,
        "total": counts.total, "categories": found.categories,
        "superseded": found.superseded, "sessions": found.sessions,
        "senders": found.senders, "top_senders": found.top_senders,
        "timeline": {"unit": found.unit, "counts": found.timeline},
        "oldest": found.oldest, "newest": found.newest,
        "size_bytes": sum(found.bytes.values()) if found.bytes else None,
        "bytes": found.bytes or None,
        "vectors": {"made": found.vectors, "missing": counts.missing},
        "versions": found.versions}


def to_lines(counts: Counts) -> str:
    """One "name: value" a line; only categories are indented."""
    found = counts.found
    told: dict[str, Any] = {
        "superseded": found.superseded, "sessions": found.sessions,
        "senders": found.senders, "oldest": found.oldest,
        "newest": found.newest,
        **{f"{found.unit} {period}": number
           for period, number in found.timeline.items()}}
    if found.bytes:
        told["size"] = sum(found.bytes.values())
        told |= {f"size {part}": size for part, size in found.bytes.items()}
    told |= {"vectors": found.vectors, "vectors missing": counts.missing,
             "versions": found.versions}
    return "\n".join([
        f"backend: {counts.backend}", f"health: {_health(counts)}",
        f"total: {counts.total}",
        *(f"  {to_one_line(name)}: {number}"
          for name, number in found.categories.items()),
        *(f"{name}: {value}" for name, value in told.items()
          if value is not None)])


def draw_picture(counts: Counts, columns: int) -> str:
    """Bars for a person, in so many columns."""
    found = counts.found
    told = [f"{counts.backend}, {_health(counts)}: {memories(counts.total)}"]
    if found.oldest and found.newest:
        told.append(f"{found.oldest[:10]} to {found.newest[:10]}, "
                    f"{plural(found.sessions, 'session')}, "
                    f"{plural(found.senders, 'sender')}")
    named = {to_one_line(name): number
             for name, number in found.categories.items()}
    told += _section("by category", _shorten(named), columns)
    told += _section(f"by {found.unit}", _recent(found), columns)
    told += _section("by sender", {
        to_one_line(name): number
        for name, number in found.top_senders.items()}, columns)
    if found.bytes:
        sizes = {part: size for part, size in found.bytes.items() if size}
        told += ["", f"on disk: {_size(sum(sizes.values()))}", *draw_chart(
            sizes, columns, {p: _size(s) for p, s in sizes.items()})]
    rest = []
    if found.superseded:
        rest.append(f"{found.superseded:,} superseded")
    if found.versions:
        rest.append(f"{plural(found.versions, 'earlier state')} kept")
    if found.vectors or counts.missing:
        rest.append(f"{plural(found.vectors or 0, 'vector')}")
    if counts.missing:
        rest.append(f"{counts.missing:,} missing: "
                    "claw memory reindex --vectors")
    return "\n".join([*told, "", ", ".join(rest)] if rest else told)


def _section(title: str, numbers: dict[str, int],
             columns: int) -> list[str]:
    return ["", title, *draw_chart(numbers, columns)] if numbers else []


def _health(counts: Counts) -> str:
    return "healthy" if counts.healthy else "unhealthy"


def _shorten(numbers: dict[str, int]) -> dict[str, int]:
    """The largest, and the sum of the others."""
    if len(numbers) <= _CATEGORIES:
        return numbers
    kept = dict(list(numbers.items())[:_CATEGORIES - 1])
    return {**kept, f"({len(numbers) - len(kept)} others)":
            sum(numbers.values()) - sum(kept.values())}


def _recent(found: Statistics) -> dict[str, int]:
    """The last periods up to the newest memory, empty ones too."""
    if not found.timeline:
        return {}
    period, recent = max(found.timeline), dict[str, int]()
    while len(recent) < _PERIODS and period >= min(found.timeline):
        recent[period] = found.timeline.get(period, 0)
        if found.unit == "week":
            before = date.fromisoformat(period) - timedelta(days=7)
            period = before.isoformat()
        else:
            months = int(period[:4]) * 12 + int(period[5:7]) - 2
            period = f"{months // 12:04d}-{months % 12 + 1:02d}"
    return dict(sorted(recent.items()))


def _size(size: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 \
                else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
