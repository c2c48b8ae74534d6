"""Memories in an SQLite file of the reference, of OpenClaw or of claw.

Any table `memories` will do: a column for the key, one for the text, and what
else is known by name; other columns are left. A view will not: it may never
end. The file is opened for reading only, with the log that lies beside it.
Source: spec/memory.md 1.3 and 3.2 (names of columns).
"""

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError, UsageError
from claw.core.memory import CORE, MemoryEntry
from claw.memory import times
from claw.memory.importers import Tally
from claw.memory.sqlite import schema
from claw.storage.foreign import read_plainly
from claw.storage.sqlite import CorruptError, connect, translate

# What we call it -> what its column may be called, the first there wins; all
# else of a memory is called as we do.
_COLUMNS = {
    "key": ("key", "id", "name"),
    "content": ("content", "value", "text", "memory"),
    "category": ("category", "kind", "type"),
    "id": ("id",),
    "created_at": ("created_at", "created", "timestamp"),
    "updated_at": ("updated_at", "updated"),
}
_COLUMNS |= {name: (name,) for name in schema.COLUMNS if name not in _COLUMNS}
# Of another agent these may mean anything.
_OURS = ("sender", "source", "namespace", "superseded_by", "origin",
         "kept_by")
_MOST = 1e9
_MILLISECONDS = 1e11  # a number of seconds would be past the year 5000


def owner(path: Path) -> str:
    """Whose file it is: "claw" or "zeroclaw". Raises UsageError where it
    holds no memories, StorageError where it can't be read."""
    with _open(path) as connection:
        if schema.state(connection) == "newer":
            raise schema.newer()
        names = _find_columns(connection)
        if "key" not in names or "content" not in names:
            is_index = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'chunks'"
            ).fetchone() is not None
            raise UsageError(
                f"{path} holds no memories", hint="it is a search index of "
                "OpenClaw; the memories are files: claw memory import --from "
                "openclaw ~/.openclaw/workspace" if is_index else
                "a brain.db has a table memories with key and content")
        columns = schema.column_names(connection, "memories")
        return "claw" if "rid" in columns else "zeroclaw"


def total(path: Path) -> int:
    """How many memories a file holds."""
    with _open(path) as connection:
        return schema.read_number(connection, "SELECT count(*) FROM memories")


def read_database(path: Path, agent: str, tally: Tally
                  ) -> Iterator[MemoryEntry]:
    """The memories as they are, in the order of the file; those without
    a text are counted as blank."""
    with _open(path) as connection:
        names = _find_columns(connection)
        if agent == "openclaw":
            names = {ours: name for ours, name in names.items()
                     if ours not in _OURS}
        if names.get("id") == names["key"]:
            del names["id"]
        columns = ", ".join(map(schema.quote, names.values()))
        rows = connection.execute(f"SELECT {columns} FROM memories")
        for number, row in enumerate(rows, 1):
            held = dict(zip(names, row, strict=True))
            if held["content"] is None:
                tally["read"] += 1
                tally["blank"] += 1
                continue
            if agent == "openclaw":
                held["category"] = (_read_text(held.get("category")) or ""
                                    ).strip().lower()
            yield _read_entry(held, f"{agent}_{number}", tally)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """A reader of someone else's file. Its errors are never those of our
    own store: a damaged source must not set off a repair here."""
    try:
        with closing(connect(path, readonly=True,
                             follow_links=True)) as connection:
            connection.text_factory = schema.decode_lenient
            with read_plainly(connection) as tables:
                if "memories" not in tables and schema.column_names(
                        connection, "memories"):
                    raise UsageError(
                        f"{path}: memories in it is no plain table",
                        hint="claw reads no view of a file and no column "
                        "that is made of others, which may never end")
                yield connection
    except sqlite3.Error as error:
        found = translate(error, path)
        if not isinstance(found, CorruptError):
            raise found from error
        raise _refuse_damaged(found) from error
    except CorruptError as error:
        raise _refuse_damaged(error) from error


def _refuse_damaged(error: CorruptError) -> StorageError:
    return StorageError(
        f"{error.message}; nothing was imported",
        hint="a copy of it may be saved with: sqlite3 FILE .recover")


def _find_columns(connection: sqlite3.Connection) -> dict[str, str]:
    """What we call a column -> what the file calls it."""
    there = {name.lower(): name
             for name in schema.column_names(connection, "memories")}
    return {ours: there[found] for ours, names in _COLUMNS.items()
            if (found := next((n for n in names if n in there), None))}


def _read_entry(held: dict[str, Any], nameless: str, tally: Tally
                ) -> MemoryEntry:
    texts: dict[str, Any] = {name: _read_text(value)
                             for name, value in held.items()}
    importance = held.get("importance", 0.5)
    is_number = isinstance(importance, int | float) \
        and abs(importance) < _MOST
    return MemoryEntry(**{
        **texts, "id": texts.get("id") or "", "key": texts["key"] or nameless,
        "content": texts["content"] or "",
        "category": texts.get("category") or CORE,
        "created_at": _read_time(held.get("created_at"), tally),
        "updated_at": _read_time(held.get("updated_at"), tally),
        "namespace": texts.get("namespace") or "default",
        "importance": float(importance) if is_number else None})


def _read_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return (schema.decode_lenient(value) if isinstance(value, bytes)
            else str(value))


def _read_time(value: Any, tally: Tally) -> str:
    """A time in UTC, "" where there is none that can be read."""
    if value is None or value == "":
        return ""
    try:
        if isinstance(value, int | float) and math.isfinite(value):
            seconds = value / 1000 if value > _MILLISECONDS else value
            return times.canonical(datetime.fromtimestamp(seconds, UTC))
        return times.to_utc(_read_text(value) or "")
    except (ValueError, OverflowError, OSError):
        tally["odd_times"] += 1
        return ""
