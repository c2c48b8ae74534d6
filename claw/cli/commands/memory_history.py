"""claw memory history, undo: what a memory was, and back to it."""

from typing import Annotated, Any

import typer

from claw.cli.bars import fitted, width
from claw.cli.commands.memory_io import (
    by_prefix,
    for_screen,
    on_one_line,
    opened,
    preview,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode, UsageError
from claw.core.memory import (
    KeepsVersions,
    Memory,
    MemoryEntry,
    Version,
)

_TITLES = ("FROM", "UNTIL", "ENDED", "WHO", "WHAT")


@examples("claw memory history colour", "claw memory history col --json")
def history(context: typer.Context,
            key: Annotated[str, typer.Argument(
                metavar="KEY", help="The key, or the beginning of just one. "
                "A forgotten one in full.")]) -> None:
    """Tell what a memory was and when, the latest first."""
    run = Invocation.of(context)
    with opened(run) as memory:
        versions = _versions_of(memory, key)
    name = versions[0].entry.key
    if run.jsonl:
        run.out.lines(map(_record, versions))
    elif run.json:
        run.out.document({"key": name, "total": len(versions),
                          "versions": [_record(v) for v in versions]})
    else:
        if name != key:
            run.out.note(f"key: {on_one_line(name)}")
        # On less than this, what it is about would be cut off.
        run.out.result(for_screen(run, _table(
            versions, aligned=run.out.on_terminal), least=80))


def _versions_of(memory: Memory, key: str) -> list[Version]:
    store = keeping(memory)
    return store.history(key) \
        or store.history(by_prefix(
            memory, key, nothing=f"nothing is known of {key!r}").key)


def keeping(memory: Memory) -> KeepsVersions:
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


def _table(versions: list[Version], *, aligned: bool) -> list[str]:
    """Lines; for a person in columns with titles."""
    lines = [(_second(version.valid_from),
              _second(version.valid_until) if version.valid_until else "now",
              version.ended_by or "-", who(version.entry) or "-",
              preview(version.entry.content)) for version in versions]
    if not aligned:
        return ["  ".join(line) for line in lines]
    lines.insert(0, _TITLES)
    widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(fitted(part, cells) for part, cells in
                      zip(line, widths, strict=True)).rstrip()
            for line in lines]


def who(entry: MemoryEntry) -> str:
    """Who said a memory, and in which message."""
    return " ".join(on_one_line(part) for part in
                    (entry.sender, entry.source) if part)


def _second(time: str) -> str:
    return time.partition(".")[0].removesuffix("Z") + "Z"


@examples("claw memory undo colour", "claw memory undo colour tea --json")
def undo(context: typer.Context,
         keys: Annotated[list[str], typer.Argument(
             metavar="KEY...", help="Exactly these keys.")]) -> None:
    """Take back the last change of memories. Exits 1 when there is none."""
    run = Invocation.of(context)
    with opened(run, readonly=False) as memory:
        store = keeping(memory)
        done = [(key, *_undone(store, memory, key))
                for key in dict.fromkeys(keys)]
    missing = [key for key, _, entry in done if entry is None]
    if run.as_json:
        run.out.document({
            "undone": [{"change": change, **entry.to_json()}
                       for _, change, entry in done if entry is not None],
            "missing": missing})
    for key, change, entry in done:
        _say(run, key, change, entry)
    if missing:
        raise typer.Exit(ExitCode.NEGATIVE)


def _undone(store: KeepsVersions, memory: Memory,
            key: str) -> tuple[str, MemoryEntry | None]:
    """What the last change was, and the memory without it."""
    before = memory.get(key)
    change = "updated"
    if before is None:
        change = "forgotten"
    elif before.superseded_by is not None:
        change = "superseded"
    return change, store.undo(key)


_SAID = {"forgotten": "is back", "superseded": "holds again",
         "updated": "is again what it was"}


def _say(run: Invocation, key: str, change: str,
         entry: MemoryEntry | None) -> None:
    if entry is None:
        run.out.note(f"nothing to take back for {key!r}")
        return
    if not run.as_json:
        run.out.result(entry.key)
    run.out.note(f"{on_one_line(entry.key)} {_SAID[change]}: "
                 f"{preview(entry.content)}")
