"""The files of the Markdown memory: finding, reading, appending.

MEMORY.md and memory/*.md in the workspace. The agent's tools can write
there, so links are never followed, and only ordinary files are read. A
writer holds the file's lock (flock) and appends in one write, so that
processes side by side lose nothing; a reader takes the lock to learn how
long the file is, and reads no further.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from claw.core.errors import StorageError
from claw.memory.markdown.format import MAX_BYTES, NOBODY, Line
from claw.security.files import nofollow
from claw.security.watched.record import is_held, own_write

CORE_FILE = "MEMORY.md"
FOLDER = "memory"
SESSIONS_FILE = f"{FOLDER}/SESSIONS.md"
# Where a write that was cut short can end: killed between two pages.
_PAGE = 4096
_CLOSED = f' <!-- claw {{"session": "{NOBODY}"}} -->\n'.encode()
_SKIP = 65_536


class File(NamedTuple):
    """A file as it was: its name in the workspace, how much of it counts,
    when it was last changed (seconds), whether its end is torn off."""

    name: str
    size: int
    changed_at: float
    torn: bool

    @property
    def stem(self) -> str:
        return self.name.rpartition("/")[2].removesuffix(".md")


def files(workspace: Path) -> list[File]:
    """What is there, MEMORY.md first, the others by name; not MEMORY.md
    while a change of it by a command waits for the owner. Raises
    StorageError for one that can't be read."""
    found = []
    daily: list[str] = []
    with contextlib.suppress(FileNotFoundError), \
            _open_folder(workspace, FOLDER) as folder:
        daily = sorted(f"{FOLDER}/{name}" for name in os.listdir(folder)
                       if name.endswith(".md") and not name.startswith("."))
    core = [] if is_held(workspace / CORE_FILE) else [CORE_FILE]
    for name in (*core, *daily):
        with contextlib.suppress(FileNotFoundError), _open_locked(
                workspace, name, os.O_RDONLY, fcntl.LOCK_SH) as number:
            status = os.fstat(number)
            found.append(File(name, status.st_size, status.st_mtime,
                              _is_torn(number, status.st_size)))
    return found


def lines(workspace: Path, file: File, start: int = 0) -> Iterator[Line]:
    """The lines of a file from byte `start` on, as far as it was whole;
    of a line longer than MAX_BYTES the beginning. A file that went away
    since has none."""
    try:
        with _open_locked(workspace, file.name, os.O_RDONLY, None) as number:
            os.lseek(number, start, os.SEEK_SET)
            with open(number, "rb", closefd=False) as stream:
                yield from _lines(stream, start, file.size)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(
            f"{workspace / file.name} can't be read: {error.strerror}",
            hint="check the disk") from error


def append(workspace: Path, name: str, heading: str,
           entries: Sequence[str]) -> None:
    """Write entries at the end, all of them or none, each after a blank
    line; a new file begins with `heading`. Raises StorageError."""
    with own_write(workspace / name), _open_locked(
            workspace, name, os.O_RDWR | os.O_APPEND | os.O_CREAT,
            fcntl.LOCK_EX) as number:
        size = os.fstat(number).st_size
        head = f"{heading}\n".encode()
        if size:
            # What the last line lacks. One that was cut short while it was
            # written has lost its session: nobody's chat is to see it.
            head = b"" if _ends_whole(number, size) else (
                _CLOSED if _is_torn(number, size) else b"\n")
        _write(workspace / name, number, size,
               head + b"".join(b"\n" + text.encode() for text in entries))


def rewrite(workspace: Path, name: str,
            clean: Callable[[bytes], bytes]) -> None:
    """Put a file in its place as `clean` gives it back, while nobody
    appends. Raises StorageError, OSError."""
    with own_write(workspace / name), _open_locked(
            workspace, name, os.O_RDWR, fcntl.LOCK_EX) as number:
        data = os.pread(number, os.fstat(number).st_size, 0)
        nofollow.write(workspace, name, (clean(data),))


def _write(path: Path, number: int, size: int, data: bytes) -> None:
    """Where the disk takes but a part, that part is taken back; what
    others appended meanwhile without asking for the lock stays."""
    written = 0
    try:
        while written < len(data):
            written += os.write(number, data[written:])
    except OSError as error:
        if os.fstat(number).st_size == size + written:
            os.ftruncate(number, size)
        raise StorageError(
            f"{path} was not written: {error.strerror}",
            hint="is the disk full? Nothing stored before is lost"
        ) from error


@contextlib.contextmanager
def _open_locked(workspace: Path, name: str, flags: int, lock: int | None
            ) -> Iterator[int]:
    """A file of the workspace, open and locked. Another program may have
    put a new one in its place while this one waited: then anew."""
    path = workspace / name
    with _open_folder(workspace, path.parent,
                      make=bool(flags & os.O_CREAT)) as folder:
        while True:
            with _explain(path):
                number = nofollow.open_in(folder, path.name, path, flags)
            try:
                if lock is not None:
                    _lock(path, number, lock)
                if lock is None or _is_at(number, folder, path.name):
                    yield number
                    return
            finally:
                os.close(number)


def _lock(path: Path, number: int, lock: int) -> None:
    try:
        fcntl.flock(number, lock)
    except OSError as error:
        raise StorageError(
            f"{path} can't be locked: {error.strerror}",
            hint="keep the workspace on a disk that knows locks") from error


@contextlib.contextmanager
def _open_folder(workspace: Path, name: str | Path, *, make: bool = False
                 ) -> Iterator[int]:
    with contextlib.ExitStack() as stack:
        with _explain(workspace / name):
            folder = stack.enter_context(nofollow.hold_folder(
                workspace, name, make=make))
        yield folder


@contextlib.contextmanager
def _explain(path: Path) -> Iterator[None]:
    """What the system refuses, as a StorageError; a file that is not there
    is the caller's to judge."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        hint = ("check its permissions"
                if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
                else None)
        raise StorageError(f"{path} can't be opened: {error.strerror}",
                           hint=hint) from error


def _is_at(number: int, folder: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(number), os.stat(
            name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _ends_whole(number: int, size: int) -> bool:
    return not size or os.pread(number, 1, size - 1) == b"\n"


def _is_torn(number: int, size: int) -> bool:
    return size % _PAGE == 0 and not _ends_whole(number, size)


def _lines(stream: BinaryIO, at: int, end: int) -> Iterator[Line]:
    while at < end:
        line = stream.readline(min(MAX_BYTES, end - at))
        if not line:
            return
        begin, at = at, at + len(line)
        piece = line
        while at < end and piece and not piece.endswith(b"\n"):
            piece = stream.readline(min(_SKIP, end - at))
            at += len(piece)
        yield begin, line
