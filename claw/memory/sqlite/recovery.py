"""How brain.db is opened: created, upgraded, restored, or kept aside.

A missing file is restored from MEMORY_SNAPSHOT.md where there is one. A
file of the reference is copied beside itself and then upgraded in place. A
corrupt file is renamed, never deleted. Readers change nothing on disk but
for that restoring; what they can't read in place they read from a copy in
memory.

A store without a row is restored too where it was not its owner who
emptied it: where nothing was ever written to it (the snapshot came later,
as with a fresh deployment), or where the rows went without claw, which
would have taken their words out of the index as well. What its owner
emptied stays empty, also when no trace of it is left: a store that has
held something is marked in its header.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from claw.core.errors import StorageError, UnavailableError
from claw.core.memory import MemoryEntry
from claw.core.value import Value
from claw.memory import times
from claw.memory.sqlite import rows, schema
from claw.security.files import nofollow
from claw.storage.sqlite import (
    CorruptError,
    connect,
    copy_to,
    impatient,
    translated,
    write,
)
from claw.text.plural import memories

# "claw", as the application_id of a file that has held something.
_LIVED = 0x636C6177
# The record of the index's segments (fts5_index.c): all zero until the
# first word was ever written.
_STRUCTURE = "SELECT block FROM memories_fts_data WHERE id = 10"


class Brain(Value):
    """Where brain.db lies and how it may be brought back.

    `snapshot` is None where it must not be read; `notify` hears one
    sentence about everything that was done; `upgraded_by` is what brings a
    file of another version to this one.
    """

    path: Path
    snapshot: Path | None
    timeout_s: float | None
    notify: Callable[[str], None]
    upgraded_by: str = "the next command that stores something"

    def has_snapshot(self) -> bool:
        """Whether there is one that counts: not while a change of it by a
        command waits for the owner. A link is refused when it is read."""
        if self.snapshot is None or not (
                self.snapshot.is_symlink() or self.snapshot.is_file()):
            return False
        from claw.security.watched.record import is_held
        return not is_held(self.snapshot)

    def read_snapshot(self) -> Iterable[MemoryEntry]:
        """The memories of the snapshot. Raises StorageError."""
        from claw.memory.snapshot.format import read_snapshot
        return read_snapshot(self.snapshot) if self.snapshot else ()

    @property
    def workspace(self) -> Path:
        """The folder above that of brain.db."""
        return self.path.parent.parent

    def hold_folder(self, *, make: bool = False
                    ) -> contextlib.AbstractContextManager[int]:
        """A descriptor of the folder of brain.db. Raises OSError."""
        return nofollow.hold_folder(self.workspace, self.path.parent,
                                    make=make)


def open_writer(brain: Brain) -> sqlite3.Connection:
    """A connection to a current brain.db. Raises StorageError."""
    try:
        # What people say is nobody else's.
        with brain.hold_folder(make=True):
            pass
    except OSError as error:
        raise StorageError(
            f"{brain.path.parent} can't be created: {error.strerror}",
            hint="check the workspace directory (claw config path)"
        ) from error
    try:
        return _prepare(brain)
    except CorruptError as error:
        return _after_damage(brain, error)


def open_reader(brain: Brain) -> sqlite3.Connection:
    """A connection for reading; an absent store is an empty one."""
    nofollow.check_database(brain.path)
    if not brain.path.exists():
        return _open_restored(brain) if brain.has_snapshot() else _open_empty()
    try:
        connection = connect(brain.path, readonly=True,
                             timeout_s=brain.timeout_s)
        state = _read_state(connection, brain.path)
    except CorruptError as error:
        if brain.has_snapshot():
            return _open_restored(brain)
        raise CorruptError(
            error.message, hint="nothing was changed; the next command that "
            f"stores something keeps it aside as {brain.path.name}"
            ".corrupt-<time> and begins anew") from error
    if state == "lost" and brain.has_snapshot():
        connection.close()
        return _open_restored(brain)
    if state in ("current", "lost"):
        return connection
    if state == "empty":
        connection.close()
        return _open_restored(brain) if brain.has_snapshot() else _open_empty()
    if state == "newer":
        connection.close()
        raise schema.newer()
    return _copy_upgraded(brain, connection)


def _read_state(connection: sqlite3.Connection, path: Path) -> str:
    """What the file holds; a connection to one that can't be read is
    closed."""
    try:
        with translated(path):
            return _state(connection)
    except BaseException:
        connection.close()
        raise


def keep_aside(brain: Brain) -> Path:
    """Rename a corrupt brain.db with its side files; the new name."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    aside = brain.path.with_name(f"{brain.path.name}.corrupt-{stamp}")
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            nofollow.rename(brain.workspace, f"{brain.path}{suffix}",
                            f"{aside}{suffix}")
    return aside


def keep_damaged_aside(brain: Brain) -> Path | None:
    """Rename brain.db as long as it is the damaged file; None where
    another process has put a sound one there, or none yet."""
    with _lock_folder(brain):
        try:
            connection = connect(brain.path, readonly=True)
        except CorruptError:
            return keep_aside(brain)
        except StorageError:
            if brain.path.exists():
                raise
            return None
        with contextlib.closing(connection):
            is_sound = is_whole(connection)
        return None if is_sound else keep_aside(brain)


def is_whole(connection: sqlite3.Connection) -> bool:
    """Whether the memories themselves can all be read."""
    try:
        connection.execute(
            "SELECT sum(length(key) + length(content)) FROM memories"
        ).fetchone()
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error:
        return False
    return bool(found == ("ok",))


def reindex(connection: sqlite3.Connection) -> int:
    """Write the word index anew, inside the caller's transaction; how
    many rows it holds. A store that has held something goes on to be one:
    the old index may be the last that tells of it."""
    if _has_lived(connection):
        _mark(connection)
    return schema.reindex(connection)


def kept_aside_error(brain: Brain, aside: Path) -> StorageError:
    """What a writer says after it kept a corrupt file aside."""
    return StorageError(
        f"{brain.path} was damaged and is kept aside as {aside.name}",
        hint=("the next command begins with the memories of "
              f"{brain.snapshot.name}" if brain.snapshot
              and brain.has_snapshot() else
              "the next command begins with an empty memory")
        + f"; what can be read comes back with: claw memory import {aside}")


def _prepare(brain: Brain) -> sqlite3.Connection:
    connection = connect(brain.path, timeout_s=brain.timeout_s)
    try:
        with translated(brain.path):
            state = _state(connection)
        if state == "current":
            _note_life(brain, connection)
        elif state != "lost" or brain.has_snapshot():
            restored = _make_current(brain, connection)
            if restored:
                brain.notify(f"restored {memories(restored)} from "
                             f"{brain.snapshot}")
    except BaseException:
        connection.close()
        raise
    return connection


def _make_current(brain: Brain, connection: sqlite3.Connection) -> int:
    """Create, upgrade or restore; how many memories the snapshot gave.
    One transaction, so a store is never seen created but not yet restored,
    and one that its owner has emptied stays empty."""
    restored = 0
    with write(connection, brain.path):
        state = _state(connection)  # another may have been faster
        lost = state == "lost"
        if state == "reference":
            _back_up(brain)
        created = schema.ensure(connection)
        if (created or lost) and brain.has_snapshot():
            if lost:
                schema.reindex(connection)
            restored = rows.restore(connection, brain.read_snapshot(),
                                    overwrite=False, now=times.now())
        if not created or restored:
            _mark(connection)
    # Nobody else may read a new file and what SQLite keeps beside it. Side
    # files may be gone; some file systems know no modes.
    with contextlib.suppress(OSError), brain.hold_folder() as folder:
        for suffix in ("", "-wal", "-shm") if created else ():
            with contextlib.suppress(OSError):
                os.chmod(f"{brain.path.name}{suffix}", 0o600,
                         dir_fd=folder)
    return restored


def _state(connection: sqlite3.Connection) -> str:
    """The state of the tables, or "lost": they are as they should be, and
    without a row though nobody removed one by claw."""
    found = schema.state(connection)
    if found != "current" or _has(connection, "memories"):
        return found
    if _has(connection, "memories_fts"):
        return "lost"
    return found if _has_lived(connection) else "lost"


def _has(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute(
        f"SELECT rowid FROM {table} LIMIT 1").fetchone() is not None


def _is_marked(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA application_id").fetchone()[0])


def _has_lived(connection: sqlite3.Connection) -> bool:
    """Whether a store has ever held something."""
    if _is_marked(connection) or _has(connection, "memories") \
            or _has(connection, "memory_versions"):
        return True
    record = connection.execute(_STRUCTURE).fetchone()
    return record is None or any(record[0])


def _mark(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id={_LIVED}")


def _note_life(brain: Brain, connection: sqlite3.Connection) -> None:
    """Mark a store that has held something, once. Where that can't be
    done at once, the next one who opens it does."""
    with translated(brain.path):
        if _is_marked(connection) or not _has_lived(connection):
            return
    with contextlib.suppress(StorageError, UnavailableError), \
            impatient(connection), write(connection, brain.path):
        _mark(connection)


def _back_up(brain: Brain) -> None:
    """Copy the file of the reference, while the caller's transaction keeps
    everyone from changing it: a second one that upgrades must not take
    its own copy of what the first has made, nor half of one for whole."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    copy = brain.path.with_name(f"{brain.path.name}.before-claw-{stamp}")
    if os.path.lexists(copy):
        return
    part = copy.with_name(f"{copy.name}.part")
    nofollow.remove(brain.workspace, part)
    with contextlib.closing(connect(brain.path, readonly=True)) as source:
        try:
            copy_to(source, part)
            nofollow.rename(brain.workspace, part, copy)
        except BaseException:
            nofollow.remove(brain.workspace, part)
            raise
    brain.notify(f"{brain.path.name} is upgraded; it is kept as it was "
                 f"as {copy.name}")


def _after_damage(brain: Brain, error: CorruptError) -> sqlite3.Connection:
    """Keep the file aside, then restore from the snapshot, or say so."""
    with _lock_folder(brain):
        try:  # another process may have done it meanwhile
            return _prepare(brain)
        except CorruptError:
            aside = keep_aside(brain)
        if not brain.has_snapshot():
            raise kept_aside_error(brain, aside) from error
        brain.notify(f"{error.message}; kept aside as {aside.name}")
        return _prepare(brain)


def _open_restored(brain: Brain) -> sqlite3.Connection:
    """For readers: restored on disk, or in memory where that can't be."""
    directory = brain.path.parent
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    if os.access(directory, os.W_OK):
        return open_writer(brain)
    connection = _open_empty()
    if brain.snapshot is not None:
        with write(connection, brain.path):
            rows.restore(connection, brain.read_snapshot(),
                         overwrite=False, now=times.now())
    return connection


def _open_empty() -> sqlite3.Connection:
    connection = connect(":memory:")
    with write(connection, ":memory:"):
        schema.ensure(connection)
    return connection


def _copy_upgraded(brain: Brain,
                   source: sqlite3.Connection) -> sqlite3.Connection:
    """A current copy in memory, for reading a file of another version."""
    connection = connect(":memory:")
    with translated(brain.path):
        source.backup(connection)
        source.close()
    with write(connection, brain.path):
        schema.ensure(connection)
    brain.notify(f"{brain.path.name} is of another version; "
                 f"{brain.upgraded_by} upgrades it")
    return connection


@contextlib.contextmanager
def _lock_folder(brain: Brain) -> Iterator[None]:
    """One process at a time, by a lock on the folder."""
    with brain.hold_folder() as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
