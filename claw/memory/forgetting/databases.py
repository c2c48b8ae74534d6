"""Texts taken out of a SQLite file, to its last byte.

Every value of every table is looked at. Then the word indexes are merged
(what was deleted stays in one until then), the file is written anew and its
log is emptied: what is not in a row is in no page. A process that reads
meanwhile keeps the log from being emptied; it is waited for.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from claw.core.errors import UnavailableError
from claw.core.failpoint import reach
from claw.memory.forgetting.frames import is_name
from claw.memory.forgetting.spans import MARK
from claw.memory.forgetting.texts import Texts, is_rest
from claw.memory.sqlite import schema, triggers, versions
from claw.memory.sqlite.redact import redact
from claw.storage.log.removal import rewrite
from claw.storage.log.schema import is_log
from claw.storage.sqlite import connect, translated, write

HEAD = b"SQLite format 3\0"
SIDE_FILES = ("-wal", "-shm", "-journal")
_PATIENCE_S = 20.0
_PAUSE_S = 0.05
_LOG_NAMES = ("labels", "parent", "root")
# A kept answer is given again, and a job run, whole or not at all.
_ANSWERS = ("response_cache", "map_answers", "cron_jobs")


def clean_database(path: Path, texts: Texts, keys: list[str]) -> None:
    """Take the texts out, and what a copy of a memory has under these keys.
    Raises StorageError (CorruptError), UnavailableError."""
    with closing(connect(path)) as connection:
        with write(connection, path), _removing(connection):
            if _is_brain(connection):
                _clean_brain(connection, texts, keys)
            elif is_log(connection):
                rewrite(connection, partial(_clean_text, texts))
            else:
                _clean_tables(connection, texts)
            _clean_names(connection, texts)
        reach("forget.cleaned")
        wipe(connection, path)


def wipe_database(path: Path) -> None:
    """Leave nothing in the file that is in no row."""
    with closing(connect(path)) as connection:
        wipe(connection, path)


def wipe(connection: sqlite3.Connection, path: Path) -> None:
    """The same on an open connection."""
    with translated(path):
        for name in _list_word_indexes(connection):
            connection.execute(
                f"INSERT INTO {name}({name}) VALUES ('optimize')")
        connection.execute("PRAGMA temp_store=FILE")
        connection.execute("VACUUM")
        reach("forget.vacuumed")
        deadline = time.monotonic() + _PATIENCE_S
        while connection.execute(
                "PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"another process reads {path}: its log can't be emptied",
                    hint="try again when that is done")
            time.sleep(_PAUSE_S)


class _removing:
    """Inside, what is removed is overwritten in its page at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("PRAGMA secure_delete=ON")
        self._connection.text_factory = schema.decode_lenient

    def __exit__(self, *_: object) -> None:
        self._connection.execute("PRAGMA secure_delete=OFF")


def _is_brain(connection: sqlite3.Connection) -> bool:
    return schema.state(connection) == "current"


def _clean_text(texts: Texts, text: str) -> str:
    return texts.clean_bytes(text.encode()).decode()


def _clean_brain(connection: sqlite3.Connection, texts: Texts,
                 keys: list[str]) -> None:
    triggers.exempt(connection)
    for key in keys:
        versions.purge(connection, key)
    if redact(connection, texts.clean):
        # Nothing is left of what said no more.
        said_no_more = f"instr(content, '{MARK}') AND claw_is_rest(content)"
        connection.create_function("claw_is_rest", 1, is_rest)
        for key, in connection.execute(
                f"SELECT key FROM memories WHERE {said_no_more}").fetchall():
            versions.purge(connection, key)
        connection.execute(f"DELETE FROM memory_versions WHERE {said_no_more}")
    _clean_tables(connection, texts)


def _clean_tables(connection: sqlite3.Connection, texts: Texts) -> None:
    def clean(value: Any) -> Any:
        return texts.clean_bytes(value) if isinstance(value, bytes) else value

    connection.create_function("claw_clean", 1, clean, deterministic=True)
    for table, columns, _ in _list_columns(connection):
        for column in columns:
            changed = (f"typeof({column}) IN ('text', 'blob') AND"
                       f" claw_clean(CAST({column} AS BLOB))"
                       f" IS NOT CAST({column} AS BLOB)")
            if table in map(schema.quote, _ANSWERS):
                connection.execute(f"DELETE FROM {table} WHERE {changed}")
                continue
            connection.execute(
                f"UPDATE {table} SET {column} = CASE typeof({column})"
                f" WHEN 'blob' THEN claw_clean({column}) ELSE"
                f" CAST(claw_clean(CAST({column} AS BLOB)) AS TEXT) END"
                f" WHERE {changed}")
    _forget_derived(connection)


def _clean_names(connection: sqlite3.Connection, texts: Texts) -> None:
    """Names and keys, in every table alike; one that another row has
    already gets a number."""
    connection.create_function(
        "claw_clean_name", 1, texts.clean_name, deterministic=True)
    for table, _, names in _list_columns(connection):
        if table == '"entries"' and is_log(connection):
            names += _LOG_NAMES
        for name in names:
            changed = (f"typeof({name}) = 'text' AND"
                       f" claw_clean_name({name}) <> {name}")
            connection.execute(f"UPDATE OR IGNORE {table} SET {name} ="
                               f" claw_clean_name({name}) WHERE {changed}")
            connection.execute(
                f"UPDATE {table} SET {name} = claw_clean_name({name})"
                f" || ' ' || abs(random()) WHERE {changed}")


def _forget_derived(connection: sqlite3.Connection) -> None:
    """In a memory of another version: an index and vectors, which are made
    anew by who opens it, and rows of which nothing is left."""
    names = {name for name, in connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if "memories" not in names or _is_brain(connection):
        return
    for name in ("memories", "memory_versions"):
        if name in names:
            connection.execute(f"DELETE FROM {name} WHERE content = ?",
                               (MARK,))
    for name in ("vectors", "vector_shards", "embedding_cache"):
        if name in names:
            connection.execute(f"DELETE FROM {name}")
    if "embedding" in schema.column_names(connection, "memories"):
        connection.execute("UPDATE memories SET embedding = NULL")
    for name, in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
            " AND sql LIKE '%memories_fts%'").fetchall():
        connection.execute(f"DROP TRIGGER {schema.quote(name)}")
    connection.execute("DROP TABLE IF EXISTS memories_fts")


def _list_word_indexes(connection: sqlite3.Connection) -> list[str]:
    return [schema.quote(name) for name, in connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        " AND sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'").fetchall()]


def _list_columns(connection: sqlite3.Connection
                  ) -> Iterator[tuple[str, list[str], list[str]]]:
    """Tables with the columns that may hold texts, and with those that tell
    rows apart, name or date; not the tables of an index."""
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite_%'").fetchall()
    made = [name for name, sql in rows
            if (sql or "").upper().startswith("CREATE VIRTUAL")]
    for name, _ in rows:
        if name in made or any(
                name.startswith(f"{other}_") for other in made):
            continue
        table = schema.quote(name)
        keys = {row[1] for row in connection.execute(
            f"PRAGMA table_info({table})") if row[5]}
        for index in connection.execute(
                f"PRAGMA index_list({table})").fetchall():
            if index[2]:
                keys.update(row[2] for row in connection.execute(
                    f"PRAGMA index_info({schema.quote(index[1])})"))
        columns: list[str] = []
        names: list[str] = []
        for row in connection.execute(f"PRAGMA table_info({table})"):
            (names if row[1] in keys or is_name(row[1]) else columns).append(
                schema.quote(row[1]))
        yield table, columns, names


def find_database(name: str) -> str:
    """The database that a file is, or is beside."""
    for side in SIDE_FILES:
        if name.endswith(side):
            return name.removesuffix(side)
    return name
