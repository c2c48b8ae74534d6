"""Notice that the file of an open queue was removed or replaced.

SQLite goes on writing into a file that has no name any more, and all of
it is gone when the process ends. So each commit is followed by a look at
the names (two calls of stat, 3 µs), before anyone is told "committed".
"""

import os
import sqlite3
from pathlib import Path

from claw.storage.queue.model import FileGoneError

Id = tuple[int, int] | None


class Guard:
    """Knows which files the connection of a path has open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = Path(f"{path}-wal")
        self._file_id = _id(path)
        self._log_id: Id = None

    def check(self, connection: sqlite3.Connection) -> None:
        """Raise StorageError where a name is gone or leads elsewhere."""
        file_id, log_id = _id(self._path), _id(self._log)
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


def _id(path: Path) -> Id:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
