"""claw memory import and export: memories in and out."""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from claw.cli.commands.memory.common import (
    Progress,
    open_memory,
    require_keeping,
    say_if_ephemeral,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import to_json
from claw.cli.terminal.stdin import is_piped
from claw.core.errors import StorageError, UsageError
from claw.core.memory import Memory
from claw.memory.importers import Origin, Tally
from claw.memory.importers.guess import KINDS, origins
from claw.memory.importers.migration import (
    Through,
    back_up,
    bring,
    drop_back_up,
    dry_run_import,
    keep,
)
from claw.memory.importers.ndjson import records
from claw.memory.snapshot.file import write_whole
from claw.memory.sqlite.backend import FILE
from claw.text.plural import memories

_TALLY_WORDS = {
    "renamed": "{} under another key", "unchanged": "{} were there",
    "duplicates": "{} twice", "blank": "{} blank",
    "replaced": "{} in place of another text",
    "odd_times": "{} times that are none"}


@examples("claw memory export > memories.ndjson",
          "claw memory export | jq -r .key",
          "claw memory export memories.ndjson")
def export(context: typer.Context,
           file: Annotated[str, typer.Argument(
               metavar="[FILE|-]", help="Where to; default stdout.")] = "-",
           ) -> None:
    """Print every memory as one JSON object a line, oldest first."""
    run = Invocation.of(context)
    run.out.redactor = None  # a copy is whole
    # Not among the lines that a person reads on the same terminal.
    unseen = run.out.quiet or (file == "-" and run.out.on_terminal)
    with open_memory(run) as memory, Progress(
            "memories", memory.count(), quiet=unseen) as progress:
        found: Iterator[Any] = progress.over(records(memory))
        if run.json:
            every = list(found)
            found = iter([{"memories": every, "total": len(every)}])
        if file == "-":
            run.out.lines(found)
            return
        try:
            write_whole(Path(file), (to_json(record) + "\n"
                                     for record in found))
        except IsADirectoryError as error:
            raise UsageError(f"{file} is a directory",
                             hint="name a file") from error
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UsageError(f"{file}: no such directory as "
                             f"{Path(file).parent}") from error
        except OSError as error:
            raise StorageError(f"{file}: {error.strerror}",
                               hint="check the directory and the free space"
                               ) from error


@examples("claw memory import memories.ndjson",
          """echo '{"key": "k", "content": "text"}' | claw memory import""",
          "claw memory import ~/.zeroclaw/workspace/memory/brain.db",
          "claw memory import --from openclaw --dry-run")
def import_(context: typer.Context,
            files: Annotated[list[str] | None, typer.Argument(
                metavar="[FILE|DIR|-]...",
                help="Lines of JSON, a brain.db, Markdown, or a workspace; "
                "default stdin.")] = None,
            agent: Annotated[str, typer.Option(
                "--from", metavar="auto|ndjson|zeroclaw|openclaw",
                help="Format of the input. Without a path an agent's usual "
                     "workspace is read.")] = "auto",
            dry_run: Annotated[bool, typer.Option(
                "--dry-run",
                help="Print what would be written, and write "
                     "nothing.")] = False,
            ) -> None:
    """Read memories from lines of JSON or another agent; all or none."""
    run = Invocation.of(context)
    if agent not in KINDS:
        raise UsageError(f"--from: {agent!r} is no kind of memories",
                         hint=f"one of: {', '.join(KINDS)}")
    if not files and agent in ("auto", "ndjson") and not is_piped():
        raise UsageError("nothing to import",
                         hint="name a file, or pipe lines of JSON in")
    found = origins(files or [], agent, run.places.workspace / FILE,
                    sys.stdin.buffer if sys.stdin else None,
                    context.with_resource(contextlib.ExitStack()))
    totals = [origin.total for origin in found if origin.total is not None]
    tally: Tally = Counter()
    with open_memory(run, readonly=dry_run) as memory, Progress(
            "memories", sum(totals) if len(totals) == len(found) else None,
            share=found[0].share if len(found) == 1 else None,
            quiet=run.out.quiet) as progress:
        require_keeping(memory)
        if dry_run:
            dry_run_import(memory, found, tally, progress.over)
            copy = None
        else:
            copy = _write(run, memory, found, tally,
                          lambda entries: keep(progress.over(entries)))
        say_if_ephemeral(run, memory)
    _report(run, found, tally, copy, dry_run)


def _write(run: Invocation, memory: Memory, found: list[Origin],
             tally: Tally, through: Through) -> Path | None:
    """Write them; the copy that was made of the store before."""
    foreign = next((o.agent for o in found if o.is_foreign), None)
    copy = back_up(run.places.workspace / FILE, foreign) \
        if foreign and memory.count() else None
    written = bring(memory, found, tally, through)
    if copy is not None and not written:
        with contextlib.suppress(OSError):
            drop_back_up(copy)
        return None
    return copy


def _report(run: Invocation, found: list[Origin], tally: Tally,
            copy: Path | None, dry_run: bool) -> None:
    run.print_result({
        "written": tally["written"], "read": tally["read"],
        **{name: tally[name] for name in _TALLY_WORDS
           if dry_run or name != "replaced"},
        "dry_run": dry_run, "backup": str(copy) if copy else None,
        "sources": [{"name": o.name, "kind": o.kind, "agent": o.agent}
                    for o in found]}, str(tally["written"]))
    if copy is not None:
        run.out.note(f"the memory as it was is kept as {copy}")
    more = [text.format(f"{tally[name]:,}")
            for name, text in _TALLY_WORDS.items() if tally[name]]
    would = "would be written" if dry_run else "written"
    run.out.note(", ".join([f"{memories(tally['written'])} {would}", *more]))
