"""What the paths on a command line hold."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from claw.core.errors import NotFoundError, UsageError
from claw.core.memory import MemoryEntry
from claw.memory.importers import Origin, Tally, openclaw, reference
from claw.memory.ndjson import lines_of, parse
from claw.memory.snapshot import FILE_NAME, read_snapshot

KINDS = ("auto", "ndjson", "zeroclaw", "openclaw")
_MAGIC = b"SQLite format 3\0"
_HOMES = {"openclaw": openclaw.WORKSPACE,
          "zeroclaw": reference.HOME / "workspace"}


def origins(names: Iterable[str], wanted: str, own: Path,
            stdin: BinaryIO | None = None) -> list[Origin]:
    """What to import from each name; "-" is `stdin`.

    `wanted` is one of KINDS. `own` is the brain.db of this workspace: it
    is refused before anything is opened, since closing a second
    descriptor of an open database drops its locks. Raises NotFoundError,
    UsageError and StorageError.
    """
    found: list[Origin] = []
    for name in names or _usual(wanted):
        found += _of(name, wanted, own, stdin)
    return found


def _usual(wanted: str) -> list[str]:
    """Where an agent keeps its memories when nothing else is said."""
    return [os.path.expanduser(_HOMES[wanted])] if wanted in _HOMES else ["-"]


def _of(name: str, wanted: str, own: Path,
        stdin: BinaryIO | None) -> list[Origin]:
    if name == "-":
        return [_piped(wanted, stdin)]
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(
            f"no such file: {name}", hint="claw memory export writes one"
            if wanted not in _HOMES else f"name the workspace of {wanted}, "
            f"as in: claw memory import --from {wanted} DIR") from error
    except ValueError as error:  # a NUL in it
        raise UsageError(f"{name!r} can't be the name of a file") from error
    if stat.S_ISDIR(mode):
        return _folder(path, wanted, own)
    _refuse_own(path, own)
    if not stat.S_ISREG(mode):
        return [_lines(path, wanted)]
    return [_file(path, wanted)]


def _piped(wanted: str, stdin: BinaryIO | None) -> Origin:
    if wanted in _HOMES:
        raise UsageError(f"--from {wanted} reads no standard input",
                         hint="name its workspace or file")
    # Read to its end before the store is locked: a slow pipe must keep
    # nobody else from writing.
    with ExitStack() as undo:
        kept = undo.enter_context(TemporaryFile())
        if stdin is not None:
            shutil.copyfileobj(stdin, kept)
        undo.pop_all()  # closed when it has been read

    def read(_: Tally) -> Iterator[MemoryEntry]:
        with kept:
            kept.seek(0)
            yield from parse(lines_of(kept))
    return Origin("ndjson", "claw", "standard input", read)


def _file(path: Path, wanted: str) -> Origin:
    is_markdown = path.suffix.lower() in (".md", ".markdown")
    if wanted == "ndjson":
        return _lines(path, wanted)
    with open(path, "rb") as stream:
        head = stream.read(4096)
    agent = wanted if wanted in _HOMES else (
        openclaw.AGENT if openclaw.is_ours(path) else None)
    if head.startswith(_MAGIC):
        return reference.of_database(path, agent)
    if is_markdown and (path.name == FILE_NAME or "### 🔑 `" in
                        head.decode("utf-8", "replace")):
        return Origin("snapshot", "claw", str(path),
                      lambda _: read_snapshot(path))
    if is_markdown:
        return reference.of_markdown(path, agent or "zeroclaw")
    return _lines(path, wanted)


def _lines(path: Path, wanted: str) -> Origin:
    """A file, pipe or device with lines of JSON."""
    if wanted in _HOMES:
        raise UsageError(
            f"{path} is neither a database nor Markdown",
            hint="lines of JSON are read with --from ndjson")
    size = path.stat().st_size
    done = [0]

    def read(_: Tally) -> Iterator[MemoryEntry]:
        with open(path, "rb") as stream:
            yield from parse(_noted(lines_of(stream), done), str(path))
    return Origin("ndjson", "claw", str(path), read,
                  share=(lambda: done[0] / size) if size else None)


def _noted(lines: Iterable[bytes], done: list[int]) -> Iterator[bytes]:
    for line in lines:
        done[0] += len(line)
        yield line


def _folder(path: Path, wanted: str, own: Path) -> list[Origin]:
    if wanted == "ndjson":
        raise UsageError(f"{path} is a directory", hint="name a file")
    folder = _workspace(path)
    _refuse_own(folder, own.parent.parent)
    brain = reference.brain_of(folder)
    if brain is not None:
        _refuse_own(brain, own)
    is_openclaw = wanted == openclaw.AGENT or (
        wanted == "auto" and openclaw.is_ours(folder))
    look = openclaw.origins if is_openclaw else partial(
        reference.origins, agent="zeroclaw")
    found = look(folder)
    if not found:
        raise NotFoundError(
            f"no memories in {path}",
            hint="a workspace holds memory/brain.db, MEMORY.md or "
                 "memory/*.md")
    return found


def _workspace(path: Path) -> Path:
    """The workspace of an agent's home, or the path itself."""
    inner = path / "workspace"
    has_memory = (path / "memory").is_dir() or (path / "MEMORY.md").exists()
    return inner if inner.is_dir() and not has_memory else path


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
