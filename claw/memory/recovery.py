"""How brain.db is opened: created, upgraded, restored, or kept aside.

A missing file is restored from MEMORY_SNAPSHOT.md where there is one. A
file of the reference is copied beside itself and then upgraded in place. A
corrupt file is renamed, never deleted. Readers change nothing on disk but
for that restoring; what they can't read in place they read from a copy in
memory.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.memory import MemoryEntry
from claw.core.registry import load_dotted
from claw.core.value import Value
from claw.memory import rows, schema, times
from claw.storage.sqlite import (
    CorruptError,
    connect,
    copy_to,
    refuse_odd,
    translated,
    write,
)

# Loaded when it is needed: a millisecond of every command otherwise.
_READ = "claw.memory.snapshot_format:read_snapshot"


class Brain(Value):
    """Where brain.db lies and how it may be brought back.

    `snapshot` is None where it must not be read; `notify` hears one
    sentence about everything that was done.
    """

    path: Path
    snapshot: Path | None
    timeout_s: float | None
    notify: Callable[[str], None]

    def has_snapshot(self) -> bool:
        return self.snapshot is not None and self.snapshot.is_file()

    def remembered(self) -> Iterable[MemoryEntry]:
        """The memories of the snapshot. Raises StorageError."""
        found: Iterable[MemoryEntry] = load_dotted(_READ)(self.snapshot)
        return found


def open_writer(brain: Brain) -> sqlite3.Connection:
    """A connection to a current brain.db. Raises StorageError."""
    try:
        brain.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{brain.path.parent} can't be created: {error.strerror}",
            hint="check the workspace directory (claw config path)"
        ) from error
    try:
        return _prepared(brain)
    except CorruptError as error:
        return _after_damage(brain, error)


def open_reader(brain: Brain) -> sqlite3.Connection:
    """A connection for reading; an absent store is an empty one."""
    refuse_odd(brain.path)
    if not brain.path.exists():
        return _restored(brain) if brain.has_snapshot() else _empty()
    try:
        connection = connect(brain.path, readonly=True,
                             timeout_s=brain.timeout_s)
        state = _state_or_close(connection, brain.path)
    except CorruptError as error:
        if brain.has_snapshot():
            return _restored(brain)
        raise _unreadable(brain, error) from error
    if state == "current":
        return connection
    if state == "empty":
        connection.close()
        return _restored(brain) if brain.has_snapshot() else _empty()
    if state == "newer":
        connection.close()
        raise schema.newer()
    return _upgraded_copy(brain, connection)


def _state_or_close(connection: sqlite3.Connection, path: Path) -> str:
    """What the file holds; a connection to one that can't be read is
    closed."""
    try:
        with translated(path):
            return schema.state(connection)
    except BaseException:
        connection.close()
        raise


def keep_aside(brain: Brain) -> Path:
    """Rename a corrupt brain.db with its side files; the new name."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    aside = brain.path.with_name(f"{brain.path.name}.corrupt-{stamp}")
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{brain.path}{suffix}", f"{aside}{suffix}")
    return aside


def kept_aside_error(brain: Brain, aside: Path) -> StorageError:
    """What a writer says after it kept a corrupt file aside."""
    return StorageError(
        f"{brain.path} was damaged and is kept aside as {aside.name}",
        hint="the next command begins with the memories of "
             f"{brain.snapshot.name}" if brain.snapshot
             and brain.has_snapshot() else
             "the next command begins with an empty memory; "
             "claw memory import or hydrate bring back what you have saved")


def _prepared(brain: Brain) -> sqlite3.Connection:
    connection = connect(brain.path, timeout_s=brain.timeout_s)
    try:
        with translated(brain.path):
            state = schema.state(connection)
        if state == "reference":
            _back_up(brain, connection)
        if state != "current":
            restored = _make_current(brain, connection)
            if restored:
                brain.notify(f"restored {restored} memories from "
                             f"{brain.snapshot}")
    except BaseException:
        connection.close()
        raise
    return connection


def _make_current(brain: Brain, connection: sqlite3.Connection) -> int:
    """Create or upgrade; how many memories the snapshot gave. One
    transaction, so a store is never seen created but not yet restored,
    and one that its owner has emptied stays empty."""
    with write(connection, brain.path):
        created = schema.ensure(connection)
        if created and brain.snapshot is not None and brain.has_snapshot():
            return rows.restore(connection, brain.remembered(),
                                overwrite=False, now=times.now())
    return 0


def _back_up(brain: Brain, connection: sqlite3.Connection) -> None:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    copy = brain.path.with_name(f"{brain.path.name}.before-claw-{stamp}")
    if not copy.exists():
        copy_to(connection, copy)
        brain.notify(f"{brain.path.name} is upgraded; it is kept as it was "
                     f"as {copy.name}")


def _after_damage(brain: Brain, error: CorruptError) -> sqlite3.Connection:
    """Keep the file aside, then restore from the snapshot, or say so."""
    with _alone(brain.path.parent):
        try:  # another process may have done it meanwhile
            return _prepared(brain)
        except CorruptError:
            aside = keep_aside(brain)
        if not brain.has_snapshot():
            raise kept_aside_error(brain, aside) from error
        brain.notify(f"{error.message}; kept aside as {aside.name}")
        return _prepared(brain)


def _restored(brain: Brain) -> sqlite3.Connection:
    """For readers: restored on disk, or in memory where that can't be."""
    if os.access(_nearest(brain.path.parent), os.W_OK):
        return open_writer(brain)
    connection = _empty()
    if brain.snapshot is not None:
        with write(connection, brain.path):
            rows.restore(connection, brain.remembered(),
                         overwrite=False, now=times.now())
    return connection


def _nearest(directory: Path) -> Path:
    """The directory, or the first one above it that exists."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return directory


def _empty() -> sqlite3.Connection:
    connection = connect(":memory:")
    with write(connection, ":memory:"):
        schema.ensure(connection)
    return connection


def _upgraded_copy(brain: Brain,
                   source: sqlite3.Connection) -> sqlite3.Connection:
    """A current copy in memory, for reading a file of another version."""
    connection = connect(":memory:")
    with translated(brain.path):
        source.backup(connection)
        source.close()
    with write(connection, brain.path):
        schema.ensure(connection)
    brain.notify(f"{brain.path.name} is of another version; the next "
                 "command that stores something upgrades it")
    return connection


def _unreadable(brain: Brain, error: CorruptError) -> CorruptError:
    return CorruptError(
        error.message,
        hint="nothing was changed; the next command that stores something "
             f"keeps it aside as {brain.path.name}.corrupt-<time> and "
             "begins anew")


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One process at a time, by a lock on the directory."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
