"""Old files into an archive, and out of it: daily notes and sessions.

Only files of known kinds are touched (case: a hygiene that archived its
own database): regular files that are not hidden, whose names end as notes
and sessions do. Links, folders, databases, locks and side files stay where
they are, and an archive that is a link is left alone, since what it leads
to is not ours. A file is moved by renaming it, so it is always in exactly
one place.
"""

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from claw.core.failpoint import reach
from claw.core.value import Value
from claw.security.files import nofollow

ARCHIVE = "archive"
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_FILE = (os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
         | os.O_NOCTTY)


class Kind(Value):
    """One folder with an archive below it.

    `dated` takes only files whose name begins with a date, which is their
    age; others are as old as their last change.
    """

    folder: str
    endings: tuple[str, ...]
    dated: bool

    @property
    def archive(self) -> str:
        """The archive below the folder."""
        return f"{self.folder}/{ARCHIVE}"

    def archive_path(self, file: str) -> str:
        """A file of the archive as the state and reports name it."""
        return f"{self.archive}/{file}"


DAILY = Kind("memory", (".md",), True)
SESSIONS = Kind("sessions", (".jsonl", ".json", ".md"), False)


class Move(Value):
    """A file that is to be archived, and under which name."""

    name: str
    target: str


def old_files(workspace: Path, kind: Kind, before: datetime,
              protected: Collection[str] = ()) -> list[Move]:
    """What `archive` would move: files from before a moment. A session is
    as young as its last change, whatever its name says. Raises OSError."""
    with _open_folder(workspace, kind.folder) as folder, \
            _open_folder(workspace, kind.archive) as archive:
        taken = set() if archive is None else set(os.listdir(archive))
        found = []
        for name, changed in _files(folder, kind):
            if name in protected or not _is_old(kind, name, changed, before):
                continue
            stem, dot, suffix = name.rpartition(".")
            target, number = name, 0
            while target in taken:
                number += 1
                target = f"{stem}_{number}{dot}{suffix}"
            taken.add(target)
            found.append(Move(name, target))
        return found


def archive(workspace: Path, kind: Kind, moves: Collection[Move],
            before: datetime) -> Iterator[Move]:
    """Move the files one after the other; gives each one that was moved.
    A file that is in use, was changed meanwhile or whose name was taken
    stays. Raises StorageError, and OSError after the last where some
    could not be moved."""
    if not moves:
        return
    with _open_folder(workspace, kind.folder) as source, \
            nofollow.hold_folder(workspace, kind.archive,
                                 make=True) as target:
        if source is None:
            return
        failed: OSError | None = None
        for move in moves:
            try:
                moved = _move(source, target, move, kind, before)
            except OSError as error:  # one file must not keep the others
                failed = failed or error
                continue
            if moved:
                reach("hygiene.archived")
                yield move
        os.fsync(target)
        os.fsync(source)
        if failed is not None:
            raise failed


def find_outdated(workspace: Path, kind: Kind, before: datetime,
             since: Mapping[str, datetime]) -> list[str]:
    """Files of an archive from before a moment, by their date or last
    change; where `since` knows when a file came there, that must lie
    before it too. Raises OSError and StorageError."""
    with _open_folder(workspace, kind.archive) as folder:
        return [name for name, changed in _files(folder, kind)
                if _age(name, changed) < before
                and since.get(kind.archive_path(name), before) <= before]


def remove(workspace: Path, kind: Kind, names: Collection[str]
           ) -> Iterator[str]:
    """Remove files of an archive; gives each. Raises OSError."""
    with _open_folder(workspace, kind.archive) as folder:
        for name in names if folder is not None else ():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
                reach("hygiene.removed")
                yield name


@contextlib.contextmanager
def _open_folder(workspace: Path, name: str) -> Iterator[int | None]:
    """A folder as a descriptor, so that what it is can't change under us;
    None where there is none."""
    with contextlib.ExitStack() as stack:
        try:
            number = stack.enter_context(
                nofollow.hold_folder(workspace, name))
        except FileNotFoundError:
            yield None
            return
        yield number


def _files(folder: int | None, kind: Kind
           ) -> Iterator[tuple[str, datetime]]:
    """Names of the files of a kind and when they were last changed."""
    if folder is None:
        return
    with os.scandir(folder) as found:
        items = sorted(found, key=lambda item: item.name)
    for item in items:
        name = item.name
        if name.startswith(".") or not name.endswith(kind.endings) \
                or not item.is_file(follow_symlinks=False) \
                or (kind.dated and _date(name) is None):
            continue
        with contextlib.suppress(FileNotFoundError):
            yield name, _read_change(item.stat(follow_symlinks=False))


def _is_old(kind: Kind, name: str, changed: datetime,
            before: datetime) -> bool:
    return _age(name, changed) < before and (kind.dated or changed < before)


def _age(name: str, changed: datetime) -> datetime:
    """The date in a name (the end of that day), else the last change."""
    day = _date(name)
    return changed if day is None else datetime(
        day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC)


def _date(name: str) -> date | None:
    if not _DATED.match(name):
        return None
    try:
        return date.fromisoformat(name[:10])
    except ValueError:
        return None


def _read_change(found: os.stat_result) -> datetime:
    try:
        return datetime.fromtimestamp(found.st_mtime, UTC)
    except (OverflowError, ValueError):  # a broken clock: young
        return datetime.max.replace(tzinfo=UTC)


def _move(source: int, target: int, move: Move, kind: Kind,
           before: datetime) -> bool:
    """Rename one file. Sessions are locked by who writes them: a writer
    that waits for us finds the name gone and begins a new file."""
    try:
        number = os.open(move.name, _FILE, dir_fd=source)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or not _is_old(
                kind, move.name, _read_change(found), before):
            return False
        # The name is reserved first: a rename would write over a file.
        os.close(os.open(move.target, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                         | os.O_CLOEXEC, 0o600, dir_fd=target))
        reach("hygiene.reserved")
        try:
            os.rename(move.name, move.target, src_dir_fd=source,
                      dst_dir_fd=target)
        except OSError:
            os.unlink(move.target, dir_fd=target)
            raise
    except (BlockingIOError, FileExistsError):
        return False
    finally:
        os.close(number)
    return True
