"""Repair of a brain.db: what its check finds ill, where that can be done.

Memories are changed as little as can be: bytes that are no text, times
that are none, the mark of a successor that is not there. All else is made
anew from them.
"""

import sqlite3
from collections.abc import Callable
from typing import Any

from claw.core.errors import StorageError
from claw.core.memory import MemoryCheck
from claw.memory import times
from claw.memory.sqlite import schema
from claw.memory.sqlite.check import (
    NOWHERE,
    TIME,
    check_brain,
    find_missing,
    find_unreadable,
    list_complaints,
    only_indexes,
)
from claw.text.plural import memories
from claw.text.segment import clean

_CHANGES_ROWS = {"text", "times", "superseded", "versions", "integrity"}


def changes_rows(findings: list[MemoryCheck]) -> bool:
    """Whether to repair these touches memories, not only what is made of
    them."""
    return any(not f.ok and f.id in _CHANGES_ROWS for f in findings)


def repair(connection: sqlite3.Connection) -> list[str]:
    """Repair what is ill, inside the caller's transaction; a sentence about
    each thing done. Raises StorageError where the file itself is damaged:
    what is written to it then may make it worse."""
    ill = {f.id: f for f in check_brain(connection) if not f.ok}
    done: list[str] = []
    if "integrity" in ill and not only_indexes(list_complaints(connection)):
        raise StorageError(f"the file is damaged: {ill['integrity'].detail}",
                           hint=f"nothing was changed; {ill['integrity'].hint}"
                           )
    for name, repair_it in _REPAIRS.items():
        if name in ill:
            done += repair_it(connection)
    # What was changed above is to be found by its new words.
    if {"index", "index-content", "text", "superseded"} & set(ill):
        _free_index(connection)
        number = schema.reindex(connection)
        done.append(f"the word index was made anew: {memories(number)}")
    if {"vectors", "vector_index"} & set(ill):
        from claw.memory.sqlite.vectors.check import repair_vectors
        number = repair_vectors(connection)
        done.append(f"{number:,} vectors and shards were set right")
    return done


def _repair_file(connection: sqlite3.Connection) -> list[str]:
    connection.execute("REINDEX")
    return ["the indexes of the tables were made anew"]


def _repair_schema(connection: sqlite3.Connection) -> list[str]:
    lost = find_missing(connection)
    for _, sql in lost:
        connection.execute(sql)
    return [f"{name} was made" for name, _ in lost]


def _repair_text(connection: sqlite3.Connection) -> list[str]:
    """Bytes that are no text become replacement characters."""
    wrong = list(find_unreadable(connection))
    for rid, *values in wrong:
        key, content, category = map(_readable, values)
        while connection.execute("SELECT 1 FROM memories WHERE key = ?"
                                 " AND rid <> ?", (key, rid)).fetchone():
            key += "\ufffd"
        connection.execute(
            "UPDATE memories SET key = ?, content = ?, category = ?"
            " WHERE rid = ?", (key, content, category, rid))
    return [f"{memories(len(wrong))} made readable"] if wrong else []


def _repair_times(connection: sqlite3.Connection) -> list[str]:
    """A time that can be read is written as ours are; in place of another
    the memory's other time stands, or now."""
    with schema.lenient(connection):
        wrong = connection.execute(
            "SELECT rid, created_at, updated_at FROM memories WHERE"
            " created_at NOT GLOB ? OR updated_at NOT GLOB ?",
            (TIME, TIME)).fetchall()
    now = times.now()
    for rid, *texts in wrong:
        created, updated = map(_read_time, texts)
        connection.execute(
            "UPDATE memories SET created_at = ?, updated_at = ?"
            " WHERE rid = ?", (created or updated or now,
                               updated or created or now, rid))
    return [f"the times of {memories(len(wrong))} were set right"]


def _repair_superseded(connection: sqlite3.Connection) -> list[str]:
    number = connection.execute(
        "UPDATE memories SET superseded_by = NULL, superseded_at = NULL"
        f" WHERE {NOWHERE}").rowcount
    return [f"{memories(number)} can be found again"]


def _repair_versions(connection: sqlite3.Connection) -> list[str]:
    with schema.lenient(connection):
        wrong = connection.execute(
            "SELECT vid, valid_until FROM memory_versions"
            " WHERE valid_until NOT GLOB ?", (TIME,)).fetchall()
    now = times.now()
    connection.executemany(
        "UPDATE memory_versions SET valid_until = ? WHERE vid = ?",
        [(_read_time(text) or now, vid) for vid, text in wrong])
    return [f"{len(wrong)} earlier states got an end"] if wrong else []


# In this order: the tables first, then what they hold.
_REPAIRS: dict[str, Callable[[sqlite3.Connection], list[str]]] = {
    "integrity": _repair_file, "schema": _repair_schema,
    "text": _repair_text, "times": _repair_times,
    "superseded": _repair_superseded, "versions": _repair_versions}


def _free_index(connection: sqlite3.Connection) -> None:
    """Let a word index be dropped whose own tables are damaged: SQLite
    opens it first. Its tables become those of an empty one."""
    try:
        connection.execute("SELECT 1 FROM memories_fts LIMIT 1")
        return
    except sqlite3.Error as error:
        if "no such table: memories_fts" in str(error):
            return
    connection.execute("CREATE VIRTUAL TABLE memories_sound"
                       " USING fts5(key, content)")
    for part in ("data", "idx", "content", "docsize", "config"):
        sound, ill = f"memories_sound_{part}", f"memories_fts_{part}"
        sql = connection.execute("SELECT sql FROM sqlite_master"
                                 " WHERE name = ?", (sound,)).fetchone()[0]
        connection.execute(f"DROP TABLE IF EXISTS {ill}")
        connection.execute(sql.replace(sound, ill))
        connection.execute(f"INSERT INTO {ill} SELECT * FROM {sound}")
    connection.execute("DROP TABLE memories_sound")


def _read_time(text: Any) -> str | None:
    try:
        return times.to_utc(_readable(text))
    except ValueError:
        return None


def _readable(value: Any) -> str:
    return (clean(schema.decode_lenient(value)) if isinstance(value, bytes)
            else str(value))
