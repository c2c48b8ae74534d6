"""One connection to brain.db: reading, writing, and what happens when the
file turns out to be damaged.
"""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from claw.core.errors import StorageError
from claw.memory.sqlite import recovery, schema, triggers
from claw.storage.sqlite import CorruptError, translate, write

T = TypeVar("T")


class SqliteStore:
    """A connection under a lock, so that calls may come from any thread."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *,
                 readonly: bool, brain: recovery.Brain | None) -> None:
        triggers.exempt(connection)
        self._connection = connection
        self._path = path
        self._readonly = readonly
        self._brain = brain
        self._lock = threading.RLock()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _read(self, work: Callable[[], T]) -> T:
        with self._lock:
            try:
                return self._translate(work)
            except CorruptError as error:
                self._repair(error)
                return self._translate(work)

    def _write(self, work: Callable[[sqlite3.Connection], T], *,
               repeatable: bool = True) -> T:
        if self._readonly:
            raise StorageError(f"{self._path} is open for reading only")

        def transaction() -> T:
            # Lenient: other programs write bytes that are no text, and
            # what is half done can't always be begun again.
            with write(self._connection, self._path) as connection, \
                    schema.lenient(connection):
                return work(connection)

        with self._lock:
            try:
                return self._translate(transaction)
            except CorruptError as error:
                self._repair(error)
                if not repeatable:
                    raise
                return self._translate(transaction)

    def _reconnect(self, connection: sqlite3.Connection) -> None:
        """Take a new connection in place of one that was closed."""
        triggers.exempt(connection)
        self._connection = connection

    def _translate(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" not in str(error):
                raise translate(error, self._path) from error
            # Written by another program, in bytes that are no text.
            self._connection.text_factory = schema.decode_lenient
            return work()
        except sqlite3.Error as error:
            raise translate(error, self._path) from error

    def _repair(self, error: CorruptError) -> None:
        """After SQLite found damage: the word index is made anew where
        the memories are whole; otherwise the file is kept aside. Raises
        StorageError unless it was repaired."""
        if self._readonly or self._brain is None:
            raise StorageError(
                error.message, hint="nothing was changed; the next command "
                "that stores something repairs it or keeps it aside"
            ) from error
        if recovery.is_whole(self._connection):
            with write(self._connection, self._path) as connection:
                schema.reindex(connection)
            self._brain.notify("the word index of brain.db was damaged and "
                               "has been made anew")
            return
        self._connection.close()
        aside = recovery.keep_damaged_aside(self._brain)
        # A service goes on with the new file.
        self._reconnect(recovery.open_writer(self._brain))
        if aside is None:
            raise StorageError(
                f"{self._path} was damaged, and has been replaced by another "
                "process", hint="try again: the new file is open now"
            ) from error
        raise recovery.kept_aside_error(self._brain, aside) from error
