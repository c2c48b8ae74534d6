"""Checks of a brain.db: what is wrong, and what repairs it.

Each finding has a stable id: integrity (the file), index (which memories
the word index holds), index-content (what it holds of them), schema
(tables, columns and indexes), text, times, superseded, versions, vectors.
A check changes nothing.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from claw.core.memory import MemoryCheck
from claw.memory.sqlite import schema
from claw.memory.sqlite.schema import lenient, read_number, reading_as
from claw.text.plural import memories, plural
from claw.text.segment import index_text

_REBUILD = "claw doctor --fix makes the index anew; no memory is touched"
_REPAIR = "claw memory check --repair"
_EVERY = 10_000  # memories whose words are all compared
_SAMPLE = 2_000  # and how many of more than that

# The form of claw.memory.times, which SQL compares as text.
_D = "[0-9]"
TIME = (f"{_D * 4}-{_D * 2}-{_D * 2}T{_D * 2}:{_D * 2}:{_D * 2}."
         f"{_D * 6}*Z")
# Where it is known when a fact ended, it has ended though what took its
# place is gone since.
NOWHERE = ("superseded_by IS NOT NULL AND superseded_at IS NULL"
            " AND superseded_by NOT IN (SELECT id FROM memories)"
            " AND superseded_by NOT IN (SELECT id FROM memory_versions)")
_NOT_INDEXED = ("SELECT rid FROM memories WHERE superseded_by IS NULL"
                " EXCEPT SELECT id FROM memories_fts_docsize")
_INDEXED_FOR_NOTHING = ("SELECT id FROM memories_fts_docsize EXCEPT"
                        " SELECT rid FROM memories"
                        " WHERE superseded_by IS NULL")


def check_brain(connection: sqlite3.Connection) -> list[MemoryCheck]:
    """Findings about the file and what it holds; reads only."""
    found = []
    with _one_moment(connection):
        for name, check in _CHECKS.items():
            try:
                found.append(check(connection))
            except sqlite3.Error as error:
                found.append(_result(
                    name, f"can't be looked at: {error}",
                    hint=_REBUILD if name == "index" else _REPAIR))
        return [*found, *_check_vectors(connection)]


def _result(name: str, wrong: str, fine: str = "",
            hint: str = _REPAIR) -> MemoryCheck:
    """What a check says: what is wrong, or that all is well."""
    return MemoryCheck(name, not wrong, wrong or fine,
                       hint if wrong else None)


def _check_file(connection: sqlite3.Connection) -> MemoryCheck:
    found = list_complaints(connection)
    return _result(
        "integrity", "; ".join(found[:3]), "the file is sound",
        _REPAIR if only_indexes(found) else
        "export what can be read: claw memory export > memories.ndjson")


def list_complaints(connection: sqlite3.Connection) -> list[str]:
    """What SQLite has to say against the file."""
    try:
        found = [str(row[0]) for row in
                 connection.execute("PRAGMA integrity_check(100)")]
    except sqlite3.DatabaseError as error:
        if (getattr(error, "sqlite_errorcode", 0) & 0xFF) != 11:  # corrupt
            raise
        return [str(error)]
    return [] if found == ["ok"] else found


def only_indexes(complaints: list[str]) -> bool:
    """Whether the rows themselves are whole."""
    return all(" index " in text or " in index" in text
               for text in complaints)


def _check_index(connection: sqlite3.Connection) -> MemoryCheck:
    wanted, indexed, left_out, orphans = (
        read_number(connection, query) for query in (
            "SELECT count(*) FROM memories WHERE superseded_by IS NULL",
            "SELECT count(*) FROM memories_fts_docsize",
            f"SELECT count(*) FROM ({_NOT_INDEXED})",
            f"SELECT count(*) FROM ({_INDEXED_FOR_NOTHING})"))
    wrong = ""
    if left_out:
        wrong = f"{indexed - orphans} of {wanted} memories are in the index"
    elif orphans:
        wrong = (f"{plural(orphans, 'row')} of the index "
                 f"{'belongs' if orphans == 1 else 'belong'} to no memory "
                 "that can be found")
    return _result("index", wrong, f"{memories(wanted)}, all in the index",
                   _REBUILD)


def _check_index_content(connection: sqlite3.Connection) -> MemoryCheck:
    """Whether the index holds the words of its memories: what it keeps is
    compared, and one word of each is looked for."""
    total = read_number(connection, "SELECT count(*) FROM memories"
                        " WHERE superseded_by IS NULL")
    seen = bad = 0
    for rid, key, content in _pick_some(connection, total):
        seen += 1
        # A damaged row may hold nothing where a text must be.
        bad += key is None or content is None or not _is_found(
            connection, rid, index_text(key), index_text(content))
    wrong = ""
    if bad:
        wrong = (f"{bad} of {seen} memories looked at stand in the index "
                 "with other words")
    elif not _agrees_with_itself(connection):
        wrong = "the index does not agree with itself"
    return _result("index-content", wrong, f"{seen} of {total} memories "
                   "compared, all found by their words")


def _pick_some(connection: sqlite3.Connection, total: int
               ) -> Iterator[tuple[int, str | None, str | None]]:
    """All rows of a small store, evenly spread ones of a large one."""
    columns = ("SELECT rid, CAST(key AS TEXT), CAST(content AS TEXT)"
               " FROM memories WHERE superseded_by IS NULL")
    with lenient(connection):
        if total <= _EVERY:
            yield from connection.execute(columns)
            return
        low, high = connection.execute(
            "SELECT min(rid), max(rid) FROM memories").fetchone()
        last = low - 1
        for number in range(_SAMPLE):
            start = low + (high - low) * number // _SAMPLE
            row = connection.execute(
                f"{columns} AND rid >= ? ORDER BY rid LIMIT 1",
                (max(start, last + 1),)).fetchone()
            if row is None:
                return
            last = row[0]
            yield row


def _is_found(connection: sqlite3.Connection, rid: int, key: str,
              content: str) -> bool:
    held = connection.execute("SELECT key, content FROM memories_fts"
                              " WHERE rowid = ?", (rid,)).fetchone()
    if held != (key, content):
        return False
    word = max((content or key).split(), key=len, default=None)
    return word is None or connection.execute(
        "SELECT 1 FROM memories_fts WHERE memories_fts MATCH ?"
        " AND rowid = ?", ('"' + word.replace('"', '""') + '"', rid)
    ).fetchone() is not None


def _agrees_with_itself(connection: sqlite3.Connection) -> bool:
    """FTS5's own check. It is a command, so a reader can't give it, and
    it need not wait for another writer."""
    try:
        connection.execute("INSERT INTO memories_fts(memories_fts)"
                           " VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        # 5 and 6: locked, 8: read-only
        return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (5, 6, 8)
    return True


def _check_schema(connection: sqlite3.Connection) -> MemoryCheck:
    lost = ", ".join(name for name, _ in find_missing(connection))
    return _result("schema", lost and f"missing: {lost}",
                   "tables and indexes are all there")


def find_missing(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """(name, SQL) of what a new file has and this one lacks; tables come
    before their indexes. The word index is looked at elsewhere."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        fresh.execute("BEGIN")
        schema.ensure(fresh)
        wanted = fresh.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
            " AND tbl_name NOT LIKE 'memories_fts%' ORDER BY type = 'index',"
            " rowid").fetchall()
        columns = fresh.execute(_COLUMNS).fetchall()
    there = {row[0] for row in
             connection.execute("SELECT name FROM sqlite_master")}
    known = {row[0] for row in connection.execute(_COLUMNS)}
    return [*((f"memories.{name}", "ALTER TABLE memories ADD COLUMN "
               f"{name} {kind}") for name, kind in columns
              if name not in known and "memories" in there),
            *((name, sql) for name, sql in wanted if name not in there)]


_COLUMNS = "SELECT name, type FROM pragma_table_info('memories')"


def _check_text(connection: sqlite3.Connection) -> MemoryCheck:
    count = sum(1 for _ in find_unreadable(connection))
    return _result("text", f"bytes that are no text in {memories(count)}"
                   if count else "", "all texts can be read")


def find_unreadable(connection: sqlite3.Connection
                    ) -> Iterator[tuple[Any, ...]]:
    """(rid, key, content, category) of memories that are no text, as
    bytes."""
    with reading_as(connection, bytes):
        for row in connection.execute(
                "SELECT rid, CAST(key AS BLOB), CAST(content AS BLOB),"
                " CAST(category AS BLOB), typeof(key) <> 'text'"
                " OR typeof(content) <> 'text' FROM memories"):
            try:
                is_text = not row[4] and all(
                    data.decode() is not None for data in row[1:4])
            except UnicodeDecodeError:
                is_text = False
            if not is_text:
                yield row[:4]


def _check_times(connection: sqlite3.Connection) -> MemoryCheck:
    count = read_number(connection, "SELECT count(*) FROM memories WHERE"
                        " created_at NOT GLOB ? OR updated_at NOT GLOB ?",
                        TIME, TIME)
    return _result("times", f"{memories(count)} with times that can't be "
                   "compared" if count else "", "all times can be compared")


def _check_superseded(connection: sqlite3.Connection) -> MemoryCheck:
    number, lost = (read_number(connection, "SELECT count(*) FROM memories"
                                f" WHERE {condition}")
                    for condition in ("superseded_by IS NOT NULL", NOWHERE))
    return _result("superseded", f"{memories(lost)} hidden by one that is "
                   "not there" if lost else "",
                   f"{memories(number)} superseded")


def _check_versions(connection: sqlite3.Connection) -> MemoryCheck:
    number, bad = connection.execute(
        "SELECT count(*), coalesce(sum(valid_until NOT GLOB ?), 0)"
        " FROM memory_versions", (TIME,)).fetchone()
    return _result("versions", f"{bad} of {number} earlier states end at no "
                   "time" if bad else "", f"{number} earlier states kept")


_CHECKS: dict[str, Callable[[sqlite3.Connection], MemoryCheck]] = {
    "integrity": _check_file, "index": _check_index,
    "index-content": _check_index_content, "schema": _check_schema,
    "text": _check_text, "times": _check_times,
    "superseded": _check_superseded, "versions": _check_versions}


def _check_vectors(connection: sqlite3.Connection) -> list[MemoryCheck]:
    """What vectors/check.py says, where there are any."""
    try:
        if not any(read_number(connection, "SELECT EXISTS"
                               f" (SELECT 1 FROM {table})")
                   for table in ("vectors", "vector_shards")):
            return [_result("vectors", "", "no vectors are kept")]
        from claw.memory.sqlite.vectors.check import check_vectors
        return check_vectors(connection)
    except sqlite3.Error as error:
        return [_result("vectors", f"can't be looked at: {error}")]


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is read is of one moment, whoever writes meanwhile."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
