"""A migration as people and programs read it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from claw.cli.show.output import join_lines, visible
from claw.wiring.setup.migrate import Found, Item, Part

_MOST = 25  # lines of one fate; --json has all
# Settings that stand first, since what is behind the most is not shown.
_GIVES_RIGHTS = re.compile(r"allowed_users$|^mcp\b|^hooks\b")
_FATES = {"new": "new", "aside": "beside claw's own", "held": "held back",
          "same": "there already", "left": "left out"}
_MARKS = {"new": "+", "aside": "±", "held": "!", "left": "-"}


def to_json(found: Found, parts: Sequence[Part], notes: Sequence[str], *,
            dry_run: bool, next: Sequence[str] = ()) -> dict[str, Any]:
    """One document; secrets in it are masked."""
    return {
        "agent": found.agent, "home": str(found.home),
        "version": found.version, "dry_run": dry_run,
        "parts": [{
            "name": part.name,
            "counts": {fate: part.count(fate) for fate in _FATES},  # type: ignore[arg-type]
            "by_category": dict(part.counts),
            "items": [vars(item) for item in part.items],
            "problem": part.problem or None, "hint": part.hint,
            "undo": part.undo or None} for part in parts],
        "notes": list(notes), "next": list(next)}


def render(found: Found, parts: Sequence[Part], notes: Iterable[str], *,
           brief: bool = False) -> list[str]:
    """A head, a line for each part, and below it what a person should see:
    what comes, what is held back and what is left out, with reasons; not
    where it is `brief`."""
    version = f" ({found.version})" if found.version else ""
    lines = [join_lines(f"{found.agent} in {found.home}{version}")]
    for part in parts:
        lines.append(join_lines(f"{part.name}: {_count(part)}"))
        if not brief:
            lines += [f"  {line}" for line in _list_items(part)]
    return [visible(line) for line in [*lines, *(
        "note: " + " ".join(note.split()) for note in notes)]]


def list_next(found: Found, parts: Sequence[Part], home: str) -> list[str]:
    """What a person does after it."""
    by_name = {part.name: part for part in parts}

    def has(name: str, *fates: Any) -> bool:
        return name in by_name and by_name[name].count(*fates) > 0

    steps = []
    if has("settings", "new"):
        steps.append("claw doctor")
    if has("settings", "held"):
        steps.append(f"claw migrate {found.agent} {home} --loosen --dry-run")
    if has("files", "new"):
        steps.append("claw security review")
    if has("skills", "new"):
        names = [item.name for item in by_name["skills"].items
                 if item.fate == "new"]
        steps.append(f"claw skill accept {names[0]}")
    if has("jobs", "new"):
        steps.append("claw cron list")
    if has("memories", "new"):
        steps.append('claw memory recall "what do you know about me?"')
    return [join_lines(step) for step in steps]


def list_undo(parts: Iterable[Part]) -> Iterator[str]:
    """How each part is taken back."""
    for part in parts:
        if part.undo:
            yield join_lines(f"{part.name}: {part.undo}")


def _count(part: Part) -> str:
    if part.problem:
        return f"nothing is brought: {part.problem}" + (
            f" ({part.hint})" if part.hint else "")
    if part.name == "memories":
        coming = sum(part.counts.values())
        others = [f"{item.shown} {item.why}" for item in part.items
                  if item.fate != "new"]
        return ", ".join([f"{coming:,} new", *others])
    counts = [f"{part.count(fate):,} {word}"  # type: ignore[arg-type]
              for fate, word in _FATES.items()
              if part.count(fate)]  # type: ignore[arg-type]
    return ", ".join(counts) or "none"


def _list_items(part: Part) -> Iterator[str]:
    if part.problem:
        return
    if part.name == "memories":
        for category, number in sorted(part.counts.items()):
            yield f"+ {category}: {number:,}"
        return
    for fate, mark in _MARKS.items():
        items = sorted((item for item in part.items if item.fate == fate),
                       key=lambda item: not _GIVES_RIGHTS.search(item.name))
        for item in items[:_MOST]:
            yield f"{mark} {_spell(part.name, item)}"
            yield from (f"    | {line}" for line in item.lines)
        if len(items) > _MOST:
            yield f"{mark} and {len(items) - _MOST:,} more: --json names all"


def _spell(part: str, item: Item) -> str:
    joint = " = " if part == "settings" else ", " if part != "jobs" else ": "
    text = item.name + (f"{joint}{item.shown}" if item.shown else "")
    text = f"{text}: {item.why}" if item.why else text
    return " ".join(text.split())  # names are theirs: one line each
