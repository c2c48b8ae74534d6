"""Notice that the file of an open queue was removed or replaced.

SQLite goes on writing into a file that has no name any more, and all of
it is gone when the process ends. So each commit is followed by a look at
the names (two calls of stat, 3 µs), before anyone is told "committed".

The same looks tell whether anything was written since.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from claw.storage.queue.model import FileGoneError

Id = tuple[int, int] | None
Look = tuple[int, int, int, int] | None


class Guard:
    """Knows which files the connection of a path has open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = Path(f"{path}-wal")
        seen = _look(path)
        self._file_id = _id(seen)
        self._log_id: Id = None
        self.light: bool | None = None  # whether it syncs lightly now
        self._held: object = None
        self._same: tuple[object, object] = None, None

    def fingerprint(self) -> object:
        """How the files look: another value once anything was written, by
        whomever, but for what was written `quietly`. From any thread."""
        if (held := self._held) is not None:
            return held
        seen, (after, before) = self._looks(), self._same
        return before if seen == after else seen

    def _looks(self) -> tuple[Look, Look]:
        return _look(self._path), _look(self._log)

    @contextmanager
    def quietly(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Let the commit inside leave the fingerprint as it is. Begun with
        the lock on writing: what others commit behind ours shows in
        SQLite's data_version, and then the fingerprint is a new one."""
        version = _data_version(connection)
        before = self._held = self.fingerprint()
        try:
            yield
            after = self._looks()
            if _data_version(connection) == version:
                self._same = after, before
        finally:
            self._held = None

    def check(self, connection: sqlite3.Connection) -> None:
        """Raise StorageError where a name is gone or leads elsewhere."""
        file_id, log_id = map(_id, self._looks())
        if self._log_id is None:
            self._log_id = log_id
        if (file_id, log_id) == (self._file_id, self._log_id):
            return
        if file_id == self._file_id and log_id is None:
            # Nobody has begun a new log: what is in ours can still be
            # moved into the file.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        what = self._path if file_id != self._file_id else self._log
        raise FileGoneError(
            f"{what} was removed or replaced while claw was using it",
            hint="stop claw, put the file back where it was if you moved "
                 "it, and start again")


def _data_version(connection: sqlite3.Connection) -> int:
    """Another number once another connection has committed."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _look(path: Path) -> Look:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _id(look: Look) -> Id:
    return None if look is None else look[:2]
