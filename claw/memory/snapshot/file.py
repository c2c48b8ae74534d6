"""Core memories to and from MEMORY_SNAPSHOT.md."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.memory import (
    CORE,
    Memory,
    MemoryEntry,
    RestoresMemories,
    Source,
    store_with,
)
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.format import (
    open_snapshot,
    read_snapshot,
    render,
)
from claw.security.files import nofollow
from claw.security.watched.record import own_write

FILE_NAME = "MEMORY_SNAPSHOT.md"
_TEXTS = ("key", "content", "created_at", "updated_at",  # and maybe none:
          "session_id", "sender", "source", "origin")
# A store that is empty at each start would empty the file, and what are
# files already needs none.
_WITHOUT = frozenset({"none", "ephemeral", "markdown"})


def snapshot_text(memory: Memory) -> tuple[Iterator[str], int]:
    """The file's text in pieces, and how many memories it holds. Raises
    StorageError for a memory that can't be written: left out, it would be
    lost when the file is needed."""
    entries = sorted((_check(entry) for entry in memory.list(CORE)
                      if entry.superseded_by is None),
                     key=lambda entry: entry.key)
    last = max((entry.updated_at for entry in entries), default=None)
    return render(entries, len(entries), last), len(entries)


def export_snapshot(memory: Memory, path: Path, *,
                    follow_links: bool = False) -> int:
    """Write the core memories to a file; how many. A file that says the
    same already is not touched; without core memories it says so. Links,
    pipes and devices are for those who name a file of their own
    (`follow_links`). Raises StorageError."""
    pieces, count = snapshot_text(memory)
    with _explain(path):
        if is_current(memory, path, follow_links=follow_links):
            return count
        with own_write(path):
            if follow_links:
                write_whole(path, pieces)
            else:
                nofollow.write(path.parent, path.name,
                               map(str.encode, pieces), make=False)
    return count


def keep_snapshot(memory: Memory, workspace: Path, settings: MemorySettings,
                  notify: Callable[[str], None]) -> int | None:
    """Bring the snapshot of a workspace up to date: how many memories it
    holds, None where it was left alone. Raises StorageError.

    Without auto_hydrate an empty store may be a lost one, and the file
    what is left of it: then it is not emptied.
    """
    path = workspace / FILE_NAME
    if memory.name in _WITHOUT:
        return None
    if not settings.auto_hydrate and memory.count() == 0 \
            and os.path.lexists(path) \
            and any(True for _ in read_snapshot(path)):
        notify(f"{path} was left as it is: the memory is empty "
               "(claw memory hydrate brings it back)")
        return None
    return export_snapshot(memory, path)


def is_current(memory: Memory, path: Path, *,
               follow_links: bool = False) -> bool:
    """Whether the file says exactly what an export would write now.
    Raises StorageError when there is a file that can't be read."""
    pieces, _ = snapshot_text(memory)
    with _explain(path):
        if follow_links and _is_pipe(path):
            return False
        try:
            with open_snapshot(path, follow_links=follow_links) as stream:
                same = all(stream.read(len(data)) == data
                           for data in map(str.encode, pieces))
                return same and not stream.read(1)
        except FileNotFoundError:
            return False


def hydrate(memory: Memory, path: Path, overwrite: bool = False) -> int:
    """Memories of a file into the store; how many were written. Keys that
    exist are left alone, or overwritten. Raises StorageError."""
    return hydrate_entries(memory, read_snapshot(path), overwrite)


def hydrate_entries(memory: Memory, entries: Iterable[MemoryEntry],
                    overwrite: bool = False) -> int:
    """Memories into any store, with their times where it can keep them."""
    if isinstance(memory, RestoresMemories):
        return memory.restore(entries, overwrite=overwrite)
    written = 0
    for entry in entries:
        if overwrite or memory.get(entry.key) is None:
            store_with(memory, entry.key, entry.content, entry.category,
                       entry.session_id, Source(entry.sender, entry.source,
                              entry.origin))
            written += 1
    return written


def _check(entry: MemoryEntry) -> MemoryEntry:
    """Another program may have put what is no text into a text column."""
    for name in _TEXTS:
        value = getattr(entry, name)
        if not isinstance(value, str) and (
                value is not None or name in _TEXTS[:4]):
            raise StorageError(
                f"memory {entry.key!r} can't be written to a snapshot: its "
                f"{name} is no text",
                hint="store it anew or forget it; the file was left as it "
                     "is")
    return entry


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """Replace a file in one step; its mode is kept, a link to it stays. A
    pipe or device is written to. Raises OSError."""
    if _is_pipe(path):
        with open(path, "wb") as stream:
            stream.writelines(map(str.encode, pieces))
        return
    path = path.resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as stream:
            for piece in pieces:
                stream.write(piece.encode())
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _is_pipe(path: Path) -> bool:
    """Or a device."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextlib.contextmanager
def _explain(path: Path) -> Iterator[None]:
    try:
        yield
    except IsADirectoryError as error:
        raise StorageError(f"{path} is a directory, not a file",
                           hint="name another file") from error
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}",
                           hint="check the directory and the free space"
                           ) from error
