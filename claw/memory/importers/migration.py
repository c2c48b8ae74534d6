"""What becomes of the memories of other places.

Memories are written by key, all or none. Those of OpenClaw never write
over one that is there: the same text is left out, another text gets the
key `<key>__openclaw_<n>`. Before memories of another agent come in,
brain.db is copied aside.
Source: spec/memory.md 3.2.
"""

import contextlib
import hashlib
import itertools
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from claw.core.memory import Memory, MemoryEntry
from claw.core.value import replace
from claw.memory.importers import Origin, Tally
from claw.memory.importers.ndjson import import_entries, spool
from claw.memory.sqlite.backend import SqliteMemory
from claw.security.files import nofollow
from claw.storage.sqlite import connect, copy_to
from claw.text.segment import clean

Through = Callable[[Iterable[MemoryEntry]], Iterable[MemoryEntry]]


def bring(memory: Memory, origins: list[Origin], tally: Tally,
          through: Through = lambda entries: entries) -> int:
    """Write the memories of all origins, all or none; how many. They pass
    `through`, e.g. to be counted."""
    with contextlib.closing(_Ledger(memory)) as ledger:
        coming = through(_place(origins, ledger, tally))
        if isinstance(memory, SqliteMemory) or not any(
                origin.steps_aside for origin in origins):
            # Looking a key up inside its transaction is fine for SQLite.
            written = import_entries(memory, coming)
        else:
            with spool(coming) as kept:
                written = import_entries(memory, kept)
    tally["written"] = written
    return written


def keep(entries: Iterable[MemoryEntry]) -> Iterator[MemoryEntry]:
    """The memories, so that hygiene never removes them: a person brought
    them."""
    for entry in entries:
        yield entry if entry.kept_by else replace(entry, kept_by="import")


def dry_run_import(memory: Memory, origins: list[Origin], tally: Tally,
             through: Through = lambda entries: entries) -> int:
    """Like bring, and nothing is written. Counts besides how many texts
    would be replaced."""
    with contextlib.closing(_Ledger(memory)) as ledger:
        for entry in through(_place(origins, ledger, tally)):
            held = memory.get(entry.key)
            if held is not None and held.content != clean(entry.content):
                tally["replaced"] += 1
            tally["written"] += 1
    return tally["written"]


def back_up(brain: Path, agent: str) -> Path | None:
    """Copy brain.db to migrations/<agent>-<time>/ beside it; the copy, or
    None where there is no brain.db. Raises StorageError."""
    if not os.path.lexists(brain):
        return None
    workspace = brain.parent.parent
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    parent, folder = brain.parent / "migrations", Path()
    for number in itertools.count():
        name = f"{agent}-{stamp}" + (f"_{number}" if number else "")
        folder = parent / name
        with contextlib.suppress(FileExistsError), nofollow.hold_folder(
                workspace, parent, make=True) as above:
            os.mkdir(name, 0o700, dir_fd=above)
            break
    copy = folder / brain.name
    # The copy is as private as the store from its first byte on.
    os.close(nofollow.open_file(workspace, copy, os.O_CREAT | os.O_EXCL
                                | os.O_WRONLY))
    with contextlib.closing(connect(brain, readonly=True)) as connection:
        copy_to(connection, copy)
    return copy


def drop_back_up(copy: Path) -> None:
    """Remove a copy that nothing has become different from."""
    folder = copy.parent
    with nofollow.hold_folder(folder.parents[2], folder.parent) as above:
        nofollow.remove(folder.parents[2], copy)
        os.rmdir(folder.name, dir_fd=above)


def _place(origins: list[Origin], ledger: "_Ledger",
            tally: Tally) -> Iterator[MemoryEntry]:
    """The memories that are to be written, under the keys they get."""
    any_steps_aside = any(origin.steps_aside for origin in origins)
    for origin in origins:
        for entry in origin.read(tally):
            tally["read"] += 1
            if origin.steps_aside:
                placed = ledger.place(entry, origin.agent, tally)
                if placed is not None:
                    yield placed
            else:
                if any_steps_aside:
                    ledger.take(entry)
                yield entry


class _Ledger:
    """Which texts stand under which keys, in the store and in this run.

    Kept in a database without a file of its own, which SQLite moves to
    the disk when it grows.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(
            "CREATE TABLE taken (key TEXT PRIMARY KEY, digest BLOB)"
            " WITHOUT ROWID;"
            "CREATE TABLE variants (key TEXT, digest BLOB,"
            " PRIMARY KEY (key, digest)) WITHOUT ROWID;"
            "CREATE TABLE numbers (key TEXT PRIMARY KEY, next INTEGER)"
            " WITHOUT ROWID; BEGIN")

    def close(self) -> None:
        self._db.close()

    def take(self, entry: MemoryEntry) -> None:
        """Note what will stand under a key."""
        self._db.execute("REPLACE INTO taken VALUES (?, ?)",
                         (clean(entry.key), _digest(entry.content)))

    def place(self, entry: MemoryEntry, agent: str,
              tally: Tally) -> MemoryEntry | None:
        """The memory under the key it gets, None where it is there."""
        if not entry.content.strip():
            tally["blank"] += 1
            return None
        key, digest = clean(entry.key), _digest(entry.content)
        held, is_new = self._held(key)
        if held is None:
            self.take(entry)
            return entry
        if held == digest:
            tally["duplicates" if is_new else "unchanged"] += 1
            return None
        return self._move_aside(entry, key, digest, agent, tally)

    def _move_aside(self, entry: MemoryEntry, key: str, digest: bytes,
               agent: str, tally: Tally) -> MemoryEntry | None:
        if self._db.execute("SELECT 1 FROM variants WHERE key = ? AND"
                            " digest = ?", (key, digest)).fetchone():
            tally["duplicates"] += 1
            return None
        found = self._db.execute("SELECT next FROM numbers WHERE key = ?",
                                 (key,)).fetchone()
        for number in itertools.count(found[0] if found else 1):
            name = f"{key}__{agent}_{number}"
            held, _ = self._held(name)
            self._db.execute("REPLACE INTO numbers VALUES (?, ?)",
                             (key, number + 1))
            self._db.execute("REPLACE INTO variants VALUES (?, ?)",
                             (key, held or digest))
            if held is None:
                moved = replace(entry, key=name)
                self.take(moved)
                tally["renamed"] += 1
                return moved
            if held == digest:
                tally["unchanged"] += 1
                return None
        return None

    def _held(self, key: str) -> tuple[bytes | None, bool]:
        """(digest of what stands under a key, whether this run put it)."""
        found = self._db.execute("SELECT digest FROM taken WHERE key = ?",
                                 (key,)).fetchone()
        if found:
            return found[0], True
        held = self._memory.get(key)
        return (None if held is None else _digest(held.content)), False


def _digest(text: str) -> bytes:
    return hashlib.blake2b(clean(text).encode("utf-8", "replace"),
                           digest_size=16).digest()
