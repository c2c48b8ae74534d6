"""claw memory snapshot and hydrate: core memories as Markdown."""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from claw.cli.commands.memory.common import (
    open_memory,
    require_keeping,
    say_if_ephemeral,
    show_progress,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import (
    DeniedError,
    ExitCode,
    NotFoundError,
    StorageError,
    UsageError,
)
from claw.core.memory import MemoryEntry
from claw.memory.snapshot.file import (
    FILE_NAME,
    export_snapshot,
    hydrate_entries,
    is_current,
    snapshot_text,
)
from claw.memory.snapshot.format import open_snapshot, read_entries
from claw.security.watched.record import is_held
from claw.text.plural import memories, plural

_TITLE = b"Memory Snapshot"

FileArgument = Annotated[str | None, typer.Argument(
    metavar="[FILE|-]", help=f"Default: {FILE_NAME} in the workspace.")]


@examples("claw memory snapshot", "claw memory snapshot - | less",
          "claw memory snapshot --check && echo current")
def snapshot(context: typer.Context, file: FileArgument = None,
             check: Annotated[bool, typer.Option(
                 "--check",
                 help="Only check whether the file is current (exit 1 when "
                      "not).")] = False) -> None:
    """Write the core memories to MEMORY_SNAPSHOT.md."""
    run = Invocation.of(context)
    if file == "-" and check:
        raise UsageError("--check needs a file")
    path = Path(file or run.places.workspace / FILE_NAME)
    named = file is not None
    if not named and not path.parent.is_dir():
        raise NotFoundError(f"there is no workspace at {path.parent} yet",
                            hint="claw memory store makes one")
    _refuse_folder(file, path)
    with open_memory(run) as memory:
        if check:
            _report_current(run, path, is_current(
                memory, path, follow_links=named))
        elif file == "-":
            run.out.redactor = None  # a copy is whole
            for piece in snapshot_text(memory)[0]:
                run.out.piece(piece)
        else:
            _refuse_nothing(run, memory.name, path)
            number = export_snapshot(memory, path, follow_links=named)
            run.print_result({"path": str(path), "memories": number},
                             str(path))
            run.out.note(plural(number, "core memory", "core memories"))


def _refuse_folder(file: str | None, path: Path) -> None:
    if file == "-":
        return
    if path.is_dir():
        raise UsageError(f"{path} is a directory", hint="name a file")
    if file is not None and not path.parent.is_dir():
        raise UsageError(f"{path}: no such directory as {path.parent}")


def _refuse_nothing(run: Invocation, backend: str, path: Path) -> None:
    """A store that was never made must not empty a file that is."""
    brain = run.places.workspace / "memory" / "brain.db"
    if path.exists() and (backend == "none" or (
            backend == "sqlite" and not brain.exists())):
        raise NotFoundError(
            f"there is no memory to write; {path} was left as it is",
            hint="claw memory hydrate brings its memories back")


def _report_current(run: Invocation, path: Path, current: bool) -> None:
    if run.as_json:
        run.out.document({"path": str(path), "current": current})
    elif not current:
        run.out.note(f"{path} is not current (claw memory snapshot)")
    if not current:
        raise typer.Exit(ExitCode.NEGATIVE)


@examples("claw memory hydrate", "claw memory hydrate --replace old.md",
          "ssh home cat MEMORY_SNAPSHOT.md | claw memory hydrate -")
def hydrate(context: typer.Context, file: FileArgument = None,
            replace: Annotated[bool, typer.Option(
                "--replace/--merge", help="Whether the file wins over "
                "existing keys (default: they stay).")] = False) -> None:
    """Bring memories back from MEMORY_SNAPSHOT.md."""
    run = Invocation.of(context)
    path = Path(file or run.places.workspace / FILE_NAME)
    if file != "-" and not os.path.lexists(path):
        wrong = UsageError if file else NotFoundError  # the usual one
        raise wrong(f"no such file: {path}",
                    hint="claw memory snapshot writes one")
    _refuse_folder(file, path)
    if path.name == FILE_NAME and is_held(path):
        raise DeniedError(
            f"{path} was changed by a command and waits for your yes",
            hint="look at it with: claw security review")
    found: Counter[str] = Counter()
    with open_memory(run, readonly=False) as memory:
        written = hydrate_entries(
            require_keeping(memory),
            show_progress(_entries(None if file == "-" else path, found,
                                   file is not None), "memories"),
            overwrite=replace)
        say_if_ephemeral(run, memory)
    if not found:
        raise NotFoundError(
            f"no memories in {'standard input' if file == '-' else path}: "
            "it is no snapshot", hint="claw memory import reads other files")
    run.print_result({"path": str(path), "written": written}, str(written))
    run.out.note(f"{memories(written)} written")


def _entries(path: Path | None, found: Counter[str], follow_links: bool
             ) -> Iterator[MemoryEntry]:
    """The memories of a snapshot, of stdin without a path; `found` counts
    them, and its title."""
    if path is None and sys.stdin is None:  # closed
        return
    try:
        with sys.stdin.buffer if path is None else open_snapshot(
                path, follow_links=follow_links) as lines:
            for entry in read_entries(_watch_title(lines, found)):
                found["memories"] += 1
                yield entry
    except OSError as error:
        raise StorageError(
            f"{path or 'standard input'} can't be read: {error.strerror}",
            hint="check who owns it and who may read it") from error


def _watch_title(lines: Iterable[bytes],
                 found: Counter[str]) -> Iterator[bytes]:
    for line in lines:
        if line.startswith(b"# ") and line.rstrip().endswith(_TITLE):
            found["title"] += 1
        yield line
