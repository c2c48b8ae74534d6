"""The chunks of one folder: workspace/memory/docs-<name>.db.

A file of the same kind as brain.db, with its tables, index, vectors and
ranking, and beside them what is known of each document. A chunk is a memory
of category "document": its key is the place ("guide/setup.md:12-30"), its
session the document, so that chunks of one document are neighbours, its
times those of the file, and `source` the headings above it, which are the
first line of the text too.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claw.core.errors import StorageError
from claw.core.memory import NO_DEPS, MemoryDeps, MemoryEntry
from claw.core.value import Value
from claw.memory import times
from claw.memory.documents.names import find_file
from claw.memory.sqlite import recovery, rows
from claw.memory.sqlite.backend import SqliteMemory
from claw.security.files import nofollow
from claw.security.visible import visible
from claw.storage.sqlite import CorruptError
from claw.text.chunks import Chunk

if TYPE_CHECKING:
    from claw.memory.settings import MemorySettings

CATEGORY = "document"
_SIDES = ("", "-wal", "-shm")
_TABLES = (
    "CREATE TABLE IF NOT EXISTS documents (path BLOB PRIMARY KEY,"
    " stamp TEXT NOT NULL, hash TEXT NOT NULL, kind TEXT NOT NULL,"
    " chunks INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS folder (root BLOB NOT NULL,"
    " indexed_at TEXT)",
)


class Known(Value):
    """What is known of a file: its stamp (Folder), the hash of its bytes,
    its kind ("text" or "binary") and how many chunks it has."""

    stamp: str
    hash: str
    kind: str
    chunks: int = 0


class Document(Value):
    """A file as it was read. `time` is when it was changed, RFC 3339,
    `origin` the label of its text."""

    path: str
    known: Known
    time: str
    origin: str
    chunks: Sequence[Chunk] = ()


class Excerpt(Value):
    """A chunk that was found: the place "path:12-30" and its parts, the
    headings above, its own lines, its label, and its score."""

    place: str
    path: str
    line: int
    end_line: int
    heading: str
    text: str
    origin: str
    score: float | None

    def to_json(self) -> dict[str, Any]:
        return {"place": self.place, "path": self.path, "line": self.line,
                "end_line": self.end_line, "heading": self.heading or None,
                "text": self.text, "score": self.score}


class DocumentStore(SqliteMemory):
    """The index of a folder; `open_store` opens it."""

    title = ""

    @property
    def root(self) -> Path | None:
        """The folder, None in a new index and in one that names none."""
        found = self._read_folder()
        if found is None or not isinstance(found[0], bytes):
            return None
        path = Path(os.fsdecode(found[0]))
        return path if path.is_absolute() else None

    @property
    def indexed_at(self) -> str | None:
        """When it was last brought up to date, RFC 3339."""
        found = self._read_folder()
        return None if found is None else found[1]

    def adopt(self, root: Path) -> None:
        """Be the index of this folder."""
        def write(connection: sqlite3.Connection) -> None:
            for statement in _TABLES:
                connection.execute(statement)
            if connection.execute("UPDATE folder SET root = ?", (
                    os.fsencode(root),)).rowcount == 0:
                connection.execute("INSERT INTO folder VALUES (?, NULL)",
                                   (os.fsencode(root),))
        self._write(write)

    def documents(self) -> dict[str, Known]:
        """What is known of the files, by their paths in the folder."""
        if not self._has_tables():
            return {}
        return self._read(lambda: {
            os.fsdecode(path): Known(*known) for path, *known in
            self._connection.execute(
                "SELECT path, stamp, hash, kind, chunks FROM documents"
                " WHERE typeof(path) = 'blob'"
                " AND typeof(chunks) = 'integer'")})

    def find_stamp(self, path: str) -> str | None:
        """The stamp of a document; None for one that changed while it was
        read, and for a path that is not shown as it is."""
        found = self._read(lambda: self._connection.execute(
            "SELECT stamp FROM documents WHERE path = ?",
            (path.encode(),)).fetchone())
        return found[0] or None if found else None

    def put(self, documents: Iterable[Document]) -> int:
        """Replace what is kept of these files, in one transaction; how many
        had another content than what is kept."""
        def write(connection: sqlite3.Connection) -> int:
            changed = 0
            for document in documents:
                path, known = os.fsencode(document.path), document.known
                held = connection.execute(
                    "SELECT hash FROM documents WHERE path = ?",
                    (path,)).fetchone()
                if held == (known.hash,):  # another process was faster
                    connection.execute(
                        "UPDATE documents SET stamp = ? WHERE path = ?",
                        (known.stamp, path))
                    continue
                changed += 1
                self._remove(connection, document.path)
                rows.restore(connection, _write_entries(document),
                             overwrite=True, now=self._clock())
                connection.execute(
                    "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?)",
                    (path, known.stamp, known.hash, known.kind,
                     len(document.chunks)))
            return changed
        return self._write(write)

    def drop(self, paths: Iterable[str]) -> None:
        """Remove what is kept of these files."""
        def write(connection: sqlite3.Connection) -> None:
            for path in paths:
                self._remove(connection, path)
                connection.execute("DELETE FROM documents WHERE path = ?",
                                   (os.fsencode(path),))
        self._write(write)

    def note_time(self) -> None:
        """It is up to date now."""
        self._write(lambda connection: connection.execute(
            "UPDATE folder SET indexed_at = ?", (self._clock(),)))

    @staticmethod
    def _remove(connection: sqlite3.Connection, path: str) -> None:
        rows.delete(connection, "session_id = ?", [show_path(path)],
                    now=None)

    def _read_folder(self) -> tuple[bytes, str | None] | None:
        if not self._has_tables():
            return None
        found: tuple[bytes, str | None] | None = self._read(
            lambda: self._connection.execute(
                "SELECT root, indexed_at FROM folder").fetchone())
        return found

    def _has_tables(self) -> bool:
        return self._read(lambda: self._connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'folder'"
        ).fetchone()) is not None


def open_store(workspace: Path, name: str, settings: "MemorySettings", *,
               readonly: bool, notify: Callable[[str], None],
               deps: MemoryDeps = NO_DEPS) -> DocumentStore:
    """The index of that name; made where it is missing and is to be
    written. What is damaged is made anew: the folder itself is the
    original. Raises StorageError."""
    path = workspace / find_file(name)
    brain = recovery.Brain(path, None, settings.sqlite_open_timeout_secs,
                           notify, f"claw memory index --name {name}")
    anew = f"make it anew: claw memory index DIR --name {name}"
    try:
        connection = (recovery.open_reader if readonly
                      else recovery.open_writer)(brain)
    except CorruptError as error:
        raise StorageError(error.message, hint=anew) from error
    except StorageError as error:
        if readonly or os.path.lexists(path):
            raise
        raise StorageError(f"{path} was damaged and is kept aside",
                           hint=anew) from error
    try:
        store = DocumentStore(connection, path, settings, readonly=readonly,
                              brain=brain, notify=notify,
                              embedder=deps.embedder)
        store.title = name
        store._watch()
    except BaseException:
        connection.close()
        raise
    return store


def remove_store(workspace: Path, name: str) -> bool:
    """Remove an index with what lies beside it; whether it was there."""
    file = find_file(name)
    there = nofollow.status(workspace, file) is not None
    for side in _SIDES:
        nofollow.remove(workspace, f"{file}{side}")
    return there


def show_path(path: str) -> str:
    """A path as it is kept and shown: on one line, nothing in it hidden; no
    two paths look the same."""
    return visible(path.replace("\\", "\\\\"))


def read_excerpt(entry: MemoryEntry) -> Excerpt:
    """A chunk as an excerpt."""
    path = entry.session_id or ""
    lines = re.match(r"(\d+)(?:-(\d+))?", entry.key[len(path) + 1:])
    first = int(lines[1]) if lines else 1
    heading = entry.source or ""
    return Excerpt(
        entry.key, path, first,
        int(lines[2]) if lines and lines[2] else first, heading,
        entry.content.partition("\n")[2] if heading else entry.content,
        entry.origin or "file", entry.score)


def _write_entries(document: Document) -> Iterable[MemoryEntry]:
    shown = show_path(document.path)
    return [MemoryEntry(
        "", f"{shown}:{chunk.place}",
        f"[{chunk.heading}]\n{chunk.text}" if chunk.heading else chunk.text,
        CATEGORY, document.time, document.time, shown,
        source=chunk.heading or None, origin=document.origin)
        for chunk in document.chunks]


def format_time(seconds: float) -> str:
    """A file's time as memories have it."""
    try:
        return times.canonical(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, OSError, ValueError):
        return times.now()
