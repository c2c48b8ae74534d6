"""What the paths on a command line hold."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from claw.core.errors import NotFoundError, UsageError
from claw.core.memory import MemoryEntry
from claw.memory.importers import Origin, Tally, openclaw, reference
from claw.memory.importers.ndjson import parse, read_lines
from claw.memory.snapshot.file import FILE_NAME
from claw.memory.snapshot.format import read_snapshot

KINDS = ("auto", "ndjson", "zeroclaw", "openclaw")
_MAGIC = b"SQLite format 3\0"
_HOMES = {"openclaw": openclaw.WORKSPACE,
          "zeroclaw": reference.HOME / "workspace"}


def origins(names: Iterable[str], wanted: str, own: Path,
            stdin: BinaryIO | None = None,
            opened: ExitStack | None = None) -> list[Origin]:
    """What to import from each name; "-" is `stdin`.

    `wanted` is one of KINDS. `own` is the brain.db of this workspace: it
    is refused before anything is opened, since closing a second
    descriptor of an open database drops its locks. `stdin` is copied to a
    file that closes once it has been read, or with `opened`. Raises
    NotFoundError, UsageError and StorageError.
    """
    found: list[Origin] = []
    # Where an agent keeps its memories when nothing else is said.
    usual = os.path.expanduser(_HOMES[wanted]) if wanted in _HOMES else "-"
    for name in names or [usual]:
        found += [_read_pipe(wanted, stdin, opened or ExitStack())] \
            if name == "-" else _look_at(name, wanted, own)
    return found


def _look_at(name: str, wanted: str, own: Path) -> list[Origin]:
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        usual = wanted in _HOMES and name == os.path.expanduser(
            _HOMES[wanted])
        raise (NotFoundError if usual else UsageError)(
            f"no such file: {name}", hint="claw memory export writes one"
            if wanted not in _HOMES else f"name the workspace of {wanted}, "
            f"as in: claw memory import --from {wanted} DIR") from error
    except ValueError as error:  # a NUL in it
        raise UsageError(f"{name!r} can't be the name of a file") from error
    if stat.S_ISDIR(mode):
        return _read_folder(path, wanted, own)
    _refuse_own(path, own)
    read = _read_file if stat.S_ISREG(mode) else _read_json_lines
    return [read(path, wanted)]


def _read_pipe(wanted: str, stdin: BinaryIO | None,
               opened: ExitStack) -> Origin:
    if wanted in _HOMES:
        raise UsageError(f"--from {wanted} reads no standard input",
                         hint="name its workspace or file")
    # Read to its end before the store is locked: a slow pipe must keep
    # nobody else from writing.
    kept = opened.enter_context(TemporaryFile())  # noqa: SIM115
    if stdin is not None:
        shutil.copyfileobj(stdin, kept)

    def read(_: Tally) -> Iterator[MemoryEntry]:
        with kept:
            kept.seek(0)
            yield from parse(read_lines(kept))
    return Origin("ndjson", "claw", "standard input", read)


def _read_file(path: Path, wanted: str) -> Origin:
    is_markdown = path.suffix.lower() in (".md", ".markdown")
    if wanted == "ndjson":
        return _read_json_lines(path, wanted)
    with open(path, "rb") as stream:
        head = stream.read(4096)
    agent = wanted if wanted in _HOMES else (
        openclaw.AGENT if openclaw.is_ours(path) else None)
    if head.startswith(_MAGIC):
        return reference.open_database(path, agent)
    if is_markdown and (path.name == FILE_NAME or "### 🔑 `" in
                        head.decode("utf-8", "replace")):
        return Origin("snapshot", "claw", str(path),
                      lambda _: read_snapshot(path, follow_links=True))
    return (reference.open_markdown(path, agent or "zeroclaw") if is_markdown
            else _read_json_lines(path, wanted))


def _read_json_lines(path: Path, wanted: str) -> Origin:
    """A file, pipe or device with lines of JSON."""
    if wanted in _HOMES:
        raise UsageError(
            f"{path} is neither a database nor Markdown",
            hint="lines of JSON are read with --from ndjson")
    size = path.stat().st_size
    done = [0]

    def count(lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            done[0] += len(line)
            yield line

    def read(_: Tally) -> Iterator[MemoryEntry]:
        with open(path, "rb") as stream:
            yield from parse(count(read_lines(stream)), str(path))
    return Origin("ndjson", "claw", str(path), read,
                  share=(lambda: done[0] / size) if size else None)


def _read_folder(path: Path, wanted: str, own: Path) -> list[Origin]:
    if wanted == "ndjson":
        raise UsageError(f"{path} is a directory", hint="name a file")
    # The workspace of an agent's home, or the path itself.
    inner = path / "workspace"
    has_memory = (path / "memory").is_dir() or (path / "MEMORY.md").exists()
    folder = inner if inner.is_dir() and not has_memory else path
    _refuse_own(folder, own.parent.parent)
    brain = reference.find_brain(folder)
    if brain is not None:
        _refuse_own(brain, own)
    is_openclaw = wanted == openclaw.AGENT or (
        wanted == "auto" and openclaw.is_ours(folder))
    found = openclaw.origins(folder) if is_openclaw \
        else reference.origins(folder)
    if not found:
        raise NotFoundError(
            f"no memories in {path}",
            hint="a workspace holds memory/brain.db, MEMORY.md or "
                 "memory/*.md")
    return found


def _refuse_own(path: Path, own: Path) -> None:
    there = path.stat()
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            ours = os.stat(f"{own}{suffix}")
        except OSError:
            continue
        if os.path.samestat(there, ours):
            raise UsageError(
                f"{path} is the memory of this workspace",
                hint="name another agent's; -w chooses the workspace to "
                     "import into")
