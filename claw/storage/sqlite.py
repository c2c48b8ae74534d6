"""How SQLite is opened, written and complained about.

One connection, used from any thread under its owner's lock. The busy
timeout comes first; WAL is set once, when a file is created; every write
begins with BEGIN IMMEDIATE, since a transaction that read first and then
writes fails at once when another process wrote in between.

A database of claw's lies in a folder of the workspace, and neither that
folder nor the file or one beside it may be a link
(security/files/nofollow.py).
"""

import os
import shlex
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from claw.core.errors import (
    ClawError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.security.files import nofollow

BUSY_TIMEOUT_S = 15.0
OPEN_TIMEOUT_CAP_S = 300.0

Synchronous = Literal["NORMAL", "FULL"]


class CorruptError(StorageError):
    """The file is no database, or its pages are damaged."""


class Reader:
    """An open file to look at; a `with` closes it."""

    _connection: sqlite3.Connection

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ReadOnlyError(StorageError):
    """A write to a store that can only be read."""


# Primary result code (sqlite.org/rescode.html) -> class, sentence, hint.
_LATER = "another process is writing; try again in a moment"
_ERRORS: dict[int, tuple[type[ClawError], str, str | None]] = {
    3: (StorageError, "access to {path} was denied", "check its permissions"),
    5: (UnavailableError, "{path} is locked", _LATER),
    6: (UnavailableError, "{path} is locked", _LATER),
    7: (StorageError, "out of memory while working on {path}", None),
    8: (ReadOnlyError, "{path} can only be read",
        "check the permissions of the file and its directory"),
    10: (StorageError, "the disk failed while working on {path}",
         "check the disk and its free space"),
    11: (CorruptError, "{path} is damaged", None),
    13: (StorageError, "the disk is full: {path} was not written",
         "free some space and try again; nothing stored before is lost"),
    14: (StorageError, "{path} can't be opened",
         "check that its directory exists and may be read"),
    18: (UsageError, "a text is too large for {path}",
         "SQLite takes up to 1,000,000,000 bytes"),
    23: (StorageError, "access to {path} was denied",
         "check its permissions"),
    26: (CorruptError, "{path} is not a database", None),
}


def translate(error: sqlite3.Error, path: str | Path) -> ClawError:
    """SQLite's error as one of ours; `path` is named in it."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code in (10, 14) and Path(path).is_dir():
        return StorageError(f"{path} is a directory, not a database file",
                            hint="move it away")
    if code == 14 and Path(path).exists() and not os.access(
            Path(path).parent, os.W_OK):
        code = 8  # the side files can't be made
    if code not in _ERRORS:
        return StorageError(f"{path}: {error}")
    kind, sentence, hint = _ERRORS[code]
    return kind(sentence.format(path=path), hint=hint)


@contextmanager
def translated(path: str | Path) -> Iterator[None]:
    """SQLite's errors inside become ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error


@contextmanager
def translated_with_remedy(path: str | Path) -> Iterator[None]:
    """The same for a file that may be begun anew: how, where it is
    damaged."""
    try:
        with translated(path):
            yield
    except CorruptError as error:
        raise CorruptError(error.message, hint=(
            "move it away, and a new one is begun: mv "
            f"{shlex.quote(str(path))} {shlex.quote(f'{path}.damaged')}"
            )) from error


def connect(path: str | Path, *, readonly: bool = False,
            synchronous: Synchronous = "NORMAL",
            timeout_s: float | None = None,
            busy_timeout_s: float = BUSY_TIMEOUT_S,
            follow_links: bool = False,
            small: bool = False) -> sqlite3.Connection:
    """An open connection in autocommit mode, checked by one read.

    A writer creates the file and, in an empty one, switches WAL on. A
    reader needs the file to exist; where its directory can't be written
    it reads the file as it stands, and a copy of it in memory where a
    writer that was killed left its log behind. `path` ":memory:" is a
    database in memory.
    `timeout_s` bounds the opening (StorageError "SQLite open timed out").
    `follow_links` is for a file that its owner named: no other may be
    behind a link. `small` is for one that a service keeps open for months
    and mostly adds to: 500 kB of pages in memory and no mapping, in place
    of 2 MB and 8 MB. Raises StorageError, UnavailableError or CorruptError.
    """
    if follow_links:
        refuse_odd(Path(path))
        path = Path(path).resolve()

    def check() -> None:
        if path != ":memory:" and not follow_links:
            nofollow.check_database(Path(path))

    def opening() -> sqlite3.Connection:
        with translated(path):
            opened = (_open_reader(path, busy_timeout_s) if readonly else
                      _open_writer(path, synchronous, busy_timeout_s))
            if small:
                opened.execute("PRAGMA mmap_size=0")
                opened.execute("PRAGMA cache_size=-500")
            return opened

    check()
    connection = (opening() if timeout_s is None else _within(
        opening, min(timeout_s, OPEN_TIMEOUT_CAP_S), path))
    try:
        check()  # what was opened is what was looked at
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_odd(path: Path) -> None:
    """Raise StorageError for what can never be a database: a pipe or
    device (opening it may wait forever), a link into nowhere."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        if path.is_symlink() and not path.resolve().parent.is_dir():
            raise StorageError(
                f"{path} is a link to {os.readlink(path)}, which is not "
                "there", hint="mount its disk, or remove the link"
            ) from error
        return
    except OSError as error:
        raise StorageError(f"{path} can't be opened: {error.strerror}",
                           hint="check that path") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise StorageError(f"{path} is no regular file",
                           hint="move it away")


@contextmanager
def write(connection: sqlite3.Connection, path: str | Path
          ) -> Iterator[sqlite3.Connection]:
    """One transaction: committed at the end, undone by any exception."""
    with translated(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            # SQLite itself has rolled back after a full disk.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def impatient(connection: sqlite3.Connection,
              wait_s: float = 0) -> Iterator[None]:
    """Inside nothing waits for another writer, or only so long."""
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {int(wait_s * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(patience)}")


def make_private(path: Path) -> None:
    """The folder and an empty file, the owner's alone, where there is none
    yet: what is kept is as private as what was said."""
    try:
        os.close(nofollow.open_file(*nofollow.split(path), os.O_CREAT
                                    | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        pass
    except OSError as error:
        raise StorageError(
            f"{path} can't be made: {error.strerror}",
            hint="check its directory and the free space") from error


def file_id(path: Path) -> tuple[int, int] | None:
    """Which file stands there; None where none does."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def read_version(connection: sqlite3.Connection, path: Path,
                 known: int) -> int:
    """The version of a file, 0 for an empty one. Raises StorageError for
    one newer than `known`."""
    with translated(path):
        found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > known:
        from claw.core.installed import install_command
        raise StorageError(
            f"{path} was written by a newer version of claw "
            f"(format {found}, this one knows {known})",
            hint=install_command())
    return found


def make_tables(connection: sqlite3.Connection, path: Path,
                tables: Iterable[str], version: int) -> None:
    """Make the tables of a new file, once whoever else does it too."""
    with write(connection, path):
        if read_version(connection, path, version) != version:
            for statement in tables:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={version}")


def copy_to(connection: sqlite3.Connection, target: Path) -> None:
    """A whole copy of a live database in a new file, made by SQLite: the
    file of an open database must never be opened beside it (closing any
    descriptor of it drops the process's locks)."""
    nofollow.check_database(target)
    with translated(target):
        copy = sqlite3.connect(target)
        try:
            connection.backup(copy)
        finally:
            copy.close()


def _open_writer(path: str | Path, synchronous: Synchronous,
                 busy_timeout_s: float) -> sqlite3.Connection:
    connection = _raw(str(path), busy_timeout_s, uri=False)
    try:
        if path != ":memory:":
            _wal_if_new(connection, busy_timeout_s)
        connection.execute(f"PRAGMA synchronous={synchronous}")
        _tune(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_reader(path: str | Path,
                 busy_timeout_s: float) -> sqlite3.Connection:
    uri = Path(path).absolute().as_uri() + "?mode=ro"
    try:
        return _checked_reader(uri, busy_timeout_s)
    except sqlite3.OperationalError as error:
        # 14 can't open, 8 read-only, 4874 no room for the index of the
        # log: the side files can't be made here.
        if ((error.sqlite_errorcode & 0xFF) not in (8, 14) \
                and error.sqlite_errorcode != sqlite3.SQLITE_IOERR_SHMSIZE) \
                or not os.access(path, os.R_OK) or Path(path).is_dir():
            raise
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        from claw.storage.leftover import read_with_log
        left: sqlite3.Connection = read_with_log(Path(path))
        return left
    return _checked_reader(uri + "&immutable=1", busy_timeout_s)


def _checked_reader(uri: str, busy_timeout_s: float) -> sqlite3.Connection:
    connection = _raw(uri, busy_timeout_s, uri=True)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
        _tune(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _raw(name: str, busy_timeout_s: float, *,
         uri: bool) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=busy_timeout_s, uri=uri,
                           isolation_level=None, check_same_thread=False)


def _tune(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA mmap_size=8388608")
    connection.execute("PRAGMA cache_size=-2000")
    connection.execute("PRAGMA temp_store=MEMORY")


def _wal_if_new(connection: sqlite3.Connection,
                busy_timeout_s: float) -> None:
    """Switch WAL on in a file without content. Another process may be
    doing the same; SQLite does not wait for it by itself here."""
    deadline = time.monotonic() + busy_timeout_s
    while connection.execute("PRAGMA schema_version").fetchone()[0] == 0:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if (error.sqlite_errorcode & 0xFF) not in (5, 6) \
                    or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _within(opening: Callable[[], sqlite3.Connection], timeout_s: float,
            path: str | Path) -> sqlite3.Connection:
    """Run `opening` in a thread; a late connection is closed there."""
    outcome: list[Any] = []
    lock = threading.Lock()
    given_up = False

    def work() -> None:
        result: Any
        try:
            result = opening()
        except BaseException as error:  # handed to the caller below
            result = error
        with lock:
            if not given_up:
                outcome.append(result)
                return
        if isinstance(result, sqlite3.Connection):
            result.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout_s)
    with lock:
        given_up = not outcome
    if given_up:
        raise StorageError(
            f"SQLite open timed out after {timeout_s:g} s: {path}",
            hint="another process may hold it; the limit is "
                 "memory.sqlite_open_timeout_secs")
    if isinstance(outcome[0], sqlite3.Connection):
        return outcome[0]
    raise outcome[0]
