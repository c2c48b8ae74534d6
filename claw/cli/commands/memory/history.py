"""claw memory history, undo: what a memory was, and back to it."""

from itertools import pairwise
from typing import Annotated, Any

import typer

from claw.cli.commands.memory.common import (
    find_by_prefix,
    fit_screen,
    open_memory,
    preview,
    to_one_line,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.bars import align, lay_out
from claw.cli.show.output import visible
from claw.core.errors import ExitCode, NotFoundError, UsageError
from claw.core.memory import (
    EmbedsMemories,
    KeepsVersions,
    Memory,
    MemoryEntry,
    Purge,
    UndoesPurges,
    Version,
)
from claw.text.plural import memories

_EFFECTS = {"forgotten": "is back", "superseded": "holds again",
            "updated": "is again what it was"}
_TITLES = ("FROM", "UNTIL", "ENDED", "WHO", "WHAT")


@examples("claw memory history colour", "claw memory history col --json")
def history(context: typer.Context,
            key: Annotated[str, typer.Argument(
                metavar="KEY", help="The key, or the beginning of just one. "
                "A forgotten one in full.")]) -> None:
    """Show the earlier states of a memory, latest first."""
    run = Invocation.of(context)
    with open_memory(run) as memory:
        store = require_versions(memory)
        versions = store.history(key) or store.history(find_by_prefix(
            memory, key, nothing=f"nothing is known of {key!r}").key)
    name = versions[0].entry.key
    if run.jsonl:
        run.out.lines(map(_record, versions))
    elif run.json:
        run.out.document({"key": name, "total": len(versions),
                          "versions": [_record(v) for v in versions]})
    else:
        if name != key:
            run.out.note(f"key: {to_one_line(name)}")
        run.out.result("\n".join(_table(run, versions)))
    _say_gap(run, versions)


def require_versions(memory: Memory) -> KeepsVersions:
    """A memory that remembers what memories were. Raises UsageError."""
    if isinstance(memory, KeepsVersions):
        return memory
    raise UsageError(
        f'the memory backend "{memory.name}" does not keep what memories '
        "were", hint="claw config set memory.backend sqlite")


def _record(version: Version) -> dict[str, Any]:
    return {**version.entry.to_json(), "valid_from": version.valid_from,
            "valid_until": version.valid_until,
            "ended_by": version.ended_by}


def _table(run: Invocation, versions: list[Version]) -> list[str]:
    """Lines; for a person in columns with titles."""
    lines = [(_second(version.valid_from),
              _second(version.valid_until) if version.valid_until else "now",
              version.ended_by or "-", format_sender(version.entry) or "-",
              preview(version.entry.content)) for version in versions]
    if not run.out.on_terminal:
        return list(map("  ".join, lines))
    return lay_out([_TITLES, *(list(map(visible, line)) for line in lines)],
                   run.out.columns, head=True)


def _say_gap(run: Invocation, versions: list[Version]) -> None:
    """Where the oldest states are not kept any more, say since when."""
    for later, first in pairwise(versions):
        if first.ended_by == "thinned":
            run.out.note(
                f"between {_second(first.valid_until or '')} and "
                f"{_second(later.valid_from)} it said more, which is not "
                "kept any more (memory.max_versions)")


def format_sender(entry: MemoryEntry) -> str:
    """Who said a memory, and in which message."""
    return " ".join(to_one_line(part) for part in
                    (entry.sender, entry.source) if part)


def _second(time: str) -> str:
    return time.partition(".")[0].removesuffix("Z") + "Z"


@examples("claw memory undo colour", "claw memory undo colour tea --json",
          "claw memory undo", "claw memory undo --purge last")
def undo(context: typer.Context,
         keys: Annotated[list[str] | None, typer.Argument(
             metavar="[KEY]...", help="Exactly these keys.")] = None,
         purge: Annotated[str | None, typer.Option(
             "--purge", metavar="TIME|last", help="All that hygiene removed "
             "then; its time as listed, or the beginning of it.")] = None,
         ) -> None:
    """Take back the last change of each key. Exits 1 when there is none.

    Without a key it lists what hygiene removed and can still bring back, and
    takes nothing back.
    """
    run = Invocation.of(context)
    if keys and purge is not None:
        raise UsageError("name keys, or --purge")
    if keys:
        _undo_keys(run, keys)
    elif purge is not None:
        _undo_purge(run, purge)
    else:
        _list_purges(run)


def _list_purges(run: Invocation) -> None:
    with open_memory(run) as memory:
        found = _require_purges(memory).purges()
    if found and run.print_json_rows("purges", (
            {"at": purge.at, "count": purge.count,
             "categories": dict(purge.categories)} for purge in found),
            total=len(found)):
        return
    lines = [(purge.at, f"{purge.count:,}", ", ".join(
        f"{to_one_line(name)} {number:,}"
        for name, number in purge.categories.items())) for purge in found]
    if lines:
        run.out.result(fit_screen(run, align(
            [("AT", "MEMORIES", "OF"), *lines]) if run.out.on_terminal
            else list(map("  ".join, lines))))
    if not found:
        raise NotFoundError(
            "hygiene removed nothing that is kept",
            hint="claw memory undo KEY takes back the last change of a key")
    run.out.note("claw memory undo --purge last brings the latest back")


def _undo_purge(run: Invocation, wanted: str) -> None:
    with open_memory(run, readonly=False, makes=False) as memory:
        store = _require_purges(memory)
        purge = _find_purge(store.purges(), wanted)
        number = store.undo_purge(purge.at)
        bare = (memory.unembedded() if isinstance(memory, EmbedsMemories)
                and memory.embedder is not None else 0)
    run.print_result({"at": purge.at, "restored": number,
                      "left": purge.count - number}, str(number))
    run.out.note(f"{memories(number)} back, as if from today"
                 + (f"; {purge.count - number:,} keys hold another memory "
                    "by now" if number < purge.count else ""))
    if bare:
        run.out.note(f"{bare:,} have no vector: claw memory reindex makes it")
    if not number:
        raise typer.Exit(ExitCode.NEGATIVE)


def _require_purges(memory: Memory) -> UndoesPurges:
    if isinstance(memory, UndoesPurges):
        return memory
    raise UsageError(
        f'the memory backend "{memory.name}" does not keep what hygiene '
        "removes", hint="claw config set memory.backend sqlite")


def _find_purge(purges: list[Purge], wanted: str) -> Purge:
    found = purges[:1] if wanted == "last" else [
        purge for purge in purges
        if purge.at.startswith(wanted.removesuffix("Z"))]
    if len(found) == 1:
        return found[0]
    if wanted == "last" or not found:
        raise NotFoundError("hygiene removed nothing that is kept"
                            if not purges else
                            f"hygiene removed nothing at {wanted}",
                            hint="claw memory undo lists what it removed")
    raise UsageError(f"{wanted} is the beginning of {len(found)} times",
                     hint="claw memory undo lists them")


def _undo_keys(run: Invocation, keys: list[str]) -> None:
    with open_memory(run, readonly=False, makes=False) as memory:
        store = require_versions(memory)
        done = [(key, _name_change(memory.get(key)), store.undo(key))
                for key in dict.fromkeys(keys)]
    missing = [key for key, _, entry in done if entry is None]
    if run.as_json:
        run.out.document({
            "undone": [{"change": change, **entry.to_json()}
                       for _, change, entry in done if entry is not None],
            "missing": missing})
    for key, change, entry in done:
        if entry is None:
            run.out.note(f"nothing to take back for {key!r} "
                         f"(claw memory list shows the keys)")
            continue
        if not run.as_json:
            run.out.result(entry.key)
        run.out.note(f"{to_one_line(entry.key)} {_EFFECTS[change]}: "
                     f"{preview(entry.content)}")
    if missing:
        raise typer.Exit(ExitCode.NEGATIVE)


def _name_change(entry: MemoryEntry | None) -> str:
    """What the last change of a memory was."""
    if entry is None:
        return "forgotten"
    return "updated" if entry.superseded_by is None else "superseded"
