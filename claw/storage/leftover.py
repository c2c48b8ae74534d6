"""A database whose writer was killed, read where nothing may be written.

SQLite needs an index beside the log to read it, and can't make one in a
read-only directory. File and log together hold all that was committed, so
they are copied to a place of their own and read there. Loaded only then.
"""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from claw.core.errors import StorageError
from claw.security.files.nofollow import hold_folder, open_part


def read_with_log(path: Path) -> sqlite3.Connection:
    """The database in memory, everything in its log included. Raises
    sqlite3.Error, and StorageError where no copy can be made."""
    with contextlib.ExitStack() as undo:
        connection = sqlite3.connect(":memory:", isolation_level=None,
                                     check_same_thread=False)
        undo.callback(connection.close)
        try:
            _copy(path, connection)
        except OSError as error:
            raise StorageError(
                f"{path} was left by a writer that was killed, and no copy "
                f"of it can be made: {error.strerror}",
                hint="free some space in TMPDIR, or let the directory of "
                     "the file be written") from error
        undo.pop_all()
        return connection


def _copy(path: Path, target: sqlite3.Connection) -> None:
    with tempfile.TemporaryDirectory() as directory:
        copied = Path(directory, "copy.db")
        with hold_folder(path.parent.parent, path.parent.name) as folder:
            for ending in ("", "-wal"):
                number = open_part(folder, path.name + ending, os.O_RDONLY)
                with open(number, "rb") as left, \
                        open(f"{copied}{ending}", "xb") as copy:
                    shutil.copyfileobj(left, copy)
        with contextlib.closing(sqlite3.connect(copied)) as source:
            source.backup(target)
