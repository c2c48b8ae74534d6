"""Marks of what other programs change in `memories`.

Triggers of plain SQL, which any sqlite3 shell since 3.9 can run, write the
row ids to `memory_changes`; foreign.py takes them up. They are quiet where
sqlite_source_id(), a text everywhere else, answers 0, as it does on our own
connections (`exempt`): our own writes leave no marks and touch no further
page.

No mark is ever written twice: an INSERT in a trigger fails as the statement
that fired it says ("INSERT OR FAIL"), whatever it says itself. A REPLACE
fires no DELETE trigger: what it will remove is marked before it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

TABLE = "memory_changes"
# What a mark says: the text is as it was; it is another one (or the origin
# is); not known, the word index tells.
SAME, OTHER, UNSURE = 0, 1, 2

_TABLE = (f"CREATE TABLE IF NOT EXISTS {TABLE} (rid INTEGER NOT NULL,"
          " kind INTEGER NOT NULL, PRIMARY KEY (rid, kind)) WITHOUT ROWID")
_REPLACED = ("SELECT rid, 0 AS kind FROM memories WHERE key = NEW.key"
             " OR id = NEW.id OR rid = NEW.rid")
_UPDATED = ("SELECT NEW.rid AS rid, " + " OR ".join(
    f"NEW.{name} IS NOT OLD.{name}"
    for name in ("rid", "key", "content", "origin"))
    + " AS kind UNION SELECT OLD.rid, 0")
# Name -> (when it fires, the marks).
_TRIGGERS = {
    "foreign_replace": ("BEFORE INSERT", _REPLACED),
    "foreign_insert": ("AFTER INSERT", "SELECT NEW.rid AS rid, 1 AS kind"),
    "foreign_rename": ("BEFORE UPDATE OF rid, id, key", _REPLACED),
    "foreign_update": ("AFTER UPDATE", _UPDATED),
    "foreign_delete": ("AFTER DELETE", "SELECT OLD.rid AS rid, 0 AS kind"),
}


def _write_marks(marks: str) -> str:
    return (f"INSERT INTO {TABLE} (rid, kind) SELECT rid, kind FROM ({marks})"
            f" AS c WHERE NOT EXISTS (SELECT 1 FROM {TABLE} AS m"
            " WHERE m.rid = c.rid AND m.kind = c.kind)")


_STATEMENTS = {name: f"CREATE TRIGGER {name} {fires} ON memories"
               " WHEN sqlite_source_id() <> 0\n"
               f"BEGIN {_write_marks(marks)}; END"
               for name, (fires, marks) in _TRIGGERS.items()}


def exempt(connection: sqlite3.Connection) -> None:
    """What this connection writes is not marked."""
    # Where SQLite trusts no schema by itself, a trigger may call no function
    # of ours.
    connection.execute("PRAGMA trusted_schema=ON")
    connection.create_function("sqlite_source_id", 0, lambda: 0,
                               deterministic=True)


def is_watched(connection: sqlite3.Connection) -> bool:
    """Whether the table and all triggers are there as they should be."""
    marks = ", ".join("?" * len(_STATEMENTS))
    number: int = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE name = ?"
        f" OR sql IN ({marks})", (TABLE, *_STATEMENTS.values())).fetchone()[0]
    return number == 1 + len(_STATEMENTS)


def watch(connection: sqlite3.Connection) -> None:
    """Make the table and the triggers, inside the caller's transaction.

    Where triggers were lost anything may have changed meanwhile: every row
    is marked. Where there never were any, those are that the word index
    does not know, or knows for nothing.
    """
    was_watched = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE name = ?", (TABLE,)).fetchone()
    connection.execute(_TABLE)
    for name, statement in _STATEMENTS.items():
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        connection.execute(statement)
    connection.execute(_write_marks(
        f"SELECT rid, {UNSURE} AS kind FROM memories"
        f" UNION SELECT id, {UNSURE} FROM memories_fts_docsize"
        if was_watched else
        f"SELECT rid, {OTHER} AS kind FROM memories"
        " WHERE superseded_by IS NULL AND rid NOT IN"
        " (SELECT id FROM memories_fts_docsize)"
        f" UNION SELECT id, {SAME} FROM memories_fts_docsize WHERE id NOT IN"
        " (SELECT rid FROM memories WHERE superseded_by IS NULL)"))


@contextmanager
def silent(connection: sqlite3.Connection) -> Iterator[None]:
    """Inside, in the caller's transaction, no trigger is asked. What was
    lost before stays lost: `watch` sees to it."""
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        f" AND name IN ({', '.join('?' * len(_TRIGGERS))})",
        tuple(_TRIGGERS)).fetchall()
    for name, _ in found:
        connection.execute(f"DROP TRIGGER {name}")
    yield
    for _, statement in found:
        connection.execute(statement)


def has_changes(connection: sqlite3.Connection) -> bool:
    """Whether a mark waits. Not in a store without a memory: the words that
    the index still holds say there that its owner did not empty it
    (recovery.py)."""
    try:
        found: int = connection.execute(
            f"SELECT EXISTS (SELECT 1 FROM {TABLE})"
            " AND EXISTS (SELECT 1 FROM memories)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if f"no such table: {TABLE}" in str(error):
            return False  # never opened for writing by this version
        raise
    return found == 1
