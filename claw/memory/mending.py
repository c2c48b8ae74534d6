"""Mending a brain.db: what inspection finds ill, where it can be mended.

Memories are changed as little as can be: bytes that are no text, times
that are none, the mark of a successor that is not there. All else is made
anew from them.
"""

import sqlite3
from collections.abc import Callable
from typing import Any

from claw.core.errors import StorageError
from claw.core.memory import Inspection
from claw.core.registry import load_dotted
from claw.memory import schema, times
from claw.memory.inspection import (
    NOWHERE,
    TIME,
    complaints,
    inspect,
    lenient,
    missing,
    only_indexes,
    unreadable,
)
from claw.text.segment import clean

_MEND_VECTORS = "claw.memory.vector_check:repair"  # brings numpy
_CHANGES_ROWS = {"text", "times", "superseded", "versions", "integrity"}


def changes_rows(findings: list[Inspection]) -> bool:
    """Whether mending these touches memories, not only what is made of
    them."""
    return any(not f.ok and f.id in _CHANGES_ROWS for f in findings)


def repair(connection: sqlite3.Connection) -> list[str]:
    """Mend what is ill, inside the caller's transaction; a sentence about
    each thing done. Raises StorageError where the file itself is damaged:
    what is written to it then may make it worse."""
    ill = {f.id: f for f in inspect(connection) if not f.ok}
    done: list[str] = []
    if "integrity" in ill and not only_indexes(complaints(connection)):
        raise StorageError(f"the file is damaged: {ill['integrity'].detail}",
                           hint=f"nothing was changed; {ill['integrity'].hint}"
                           )
    for name, mend in _MENDERS.items():
        if name in ill:
            done += mend(connection)
    # What was changed above is to be found by its new words.
    if {"index", "index-content", "text", "superseded"} & set(ill):
        _free_index(connection)
        number = schema.reindex(connection)
        done.append(f"the word index was made anew: {number:,} memories")
    if {"vectors", "vector_index"} & set(ill):
        number = load_dotted(_MEND_VECTORS)(connection)
        done.append(f"{number:,} vectors and shards were set right")
    return done


def _mend_file(connection: sqlite3.Connection) -> list[str]:
    connection.execute("REINDEX")
    return ["the indexes of the tables were made anew"]


def _mend_schema(connection: sqlite3.Connection) -> list[str]:
    lost = missing(connection)
    for _, sql in lost:
        connection.execute(sql)
    return [f"{name} was made" for name, _ in lost]


def _mend_text(connection: sqlite3.Connection) -> list[str]:
    """Bytes that are no text become replacement characters."""
    wrong = list(unreadable(connection))
    for rid, *values in wrong:
        key, content, category = map(_readable, values)
        while connection.execute("SELECT 1 FROM memories WHERE key = ?"
                                 " AND rid <> ?", (key, rid)).fetchone():
            key += "\ufffd"
        connection.execute(
            "UPDATE memories SET key = ?, content = ?, category = ?"
            " WHERE rid = ?", (key, content, category, rid))
    return [f"{len(wrong)} memories were made readable"] if wrong else []


def _mend_times(connection: sqlite3.Connection) -> list[str]:
    """A time that can be read is written as ours are; in place of another
    the memory's other time stands, or now."""
    with lenient(connection):
        wrong = connection.execute(
            "SELECT rid, created_at, updated_at FROM memories WHERE"
            " created_at NOT GLOB ? OR updated_at NOT GLOB ?",
            (TIME, TIME)).fetchall()
    now = times.now()
    for rid, *texts in wrong:
        created, updated = map(_instant, texts)
        connection.execute(
            "UPDATE memories SET created_at = ?, updated_at = ?"
            " WHERE rid = ?", (created or updated or now,
                               updated or created or now, rid))
    return [f"the times of {len(wrong)} memories were set right"]


def _mend_superseded(connection: sqlite3.Connection) -> list[str]:
    number = connection.execute(
        "UPDATE memories SET superseded_by = NULL, superseded_at = NULL"
        f" WHERE {NOWHERE}").rowcount
    return [f"{number} memories can be found again"]


def _mend_versions(connection: sqlite3.Connection) -> list[str]:
    with lenient(connection):
        wrong = connection.execute(
            "SELECT vid, valid_until FROM memory_versions"
            " WHERE valid_until NOT GLOB ?", (TIME,)).fetchall()
    now = times.now()
    connection.executemany(
        "UPDATE memory_versions SET valid_until = ? WHERE vid = ?",
        [(_instant(text) or now, vid) for vid, text in wrong])
    return [f"{len(wrong)} earlier states got an end"] if wrong else []


# In this order: the tables first, then what they hold.
_MENDERS: dict[str, Callable[[sqlite3.Connection], list[str]]] = {
    "integrity": _mend_file, "schema": _mend_schema, "text": _mend_text,
    "times": _mend_times, "superseded": _mend_superseded,
    "versions": _mend_versions}


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


def _instant(text: Any) -> str | None:
    try:
        return times.to_utc(_readable(text))
    except ValueError:
        return None


def _readable(value: Any) -> str:
    if isinstance(value, bytes):
        return clean(value.decode("utf-8", "replace"))
    return str(value)
