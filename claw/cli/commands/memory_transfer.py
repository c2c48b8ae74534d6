"""claw memory import and export: memories as lines of JSON."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from claw.cli.commands.memory_io import counted, opened
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.output import to_json
from claw.cli.stdin import is_piped
from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.core.memory import MemoryEntry
from claw.memory.ndjson import import_entries, parse, records
from claw.memory.snapshot import write_whole


@examples("claw memory export > memories.ndjson",
          "claw memory export | jq -r .key",
          "claw memory export memories.ndjson")
def export(context: typer.Context,
           file: Annotated[str, typer.Argument(
               metavar="[FILE|-]", help="Where to; default stdout.")] = "-",
           ) -> None:
    """Print every memory as one JSON object a line, oldest first."""
    run = Invocation.of(context)
    with opened(run) as memory:
        found = counted(records(memory), "memories")
        if run.json:
            found = iter([_as_document(list(found))])
        if file == "-":
            run.out.lines(found)
            return
        try:
            write_whole(Path(file), (to_json(record) + "\n"
                                     for record in found))
        except IsADirectoryError as error:
            raise UsageError(f"{file} is a directory",
                             hint="name a file") from error
        except OSError as error:
            raise StorageError(f"{file}: {error.strerror}",
                               hint="check the directory and the free space"
                               ) from error


def _as_document(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {"memories": found, "total": len(found)}


@examples("claw memory import memories.ndjson",
          """echo '{"key": "k", "content": "text"}' | claw memory import""")
def import_(context: typer.Context,
            files: Annotated[list[str] | None, typer.Argument(
                metavar="[FILE|-]...",
                help="Lines of JSON; default stdin.")] = None) -> None:
    """Read memories, one JSON object a line; all of them or none."""
    run = Invocation.of(context)
    if not files and not is_piped():
        raise UsageError("nothing to import",
                         hint="name a file, or pipe lines of JSON in")
    with opened(run, readonly=False) as memory:
        written = import_entries(
            memory, counted(_entries(files or ["-"]), "memories"))
    if run.as_json:
        run.out.document({"written": written})
    else:
        run.out.result(str(written))
    run.out.note(f"{written} memories written")


def _entries(files: list[str]) -> Iterator[MemoryEntry]:
    for name in files:
        try:
            with (nullcontext(sys.stdin.buffer) if name == "-"
                  else open(name, "rb")) as stream:
                yield from parse(stream, "standard input" if name == "-"
                                 else name)
        except FileNotFoundError as error:
            raise NotFoundError(
                f"no such file: {name}",
                hint="claw memory export writes one") from error
        except IsADirectoryError as error:
            raise UsageError(f"{name} is a directory",
                             hint="name a file") from error
