"""Looking over a brain.db: what is wrong, and what mends it.

Each finding has a stable id: integrity (the file), index (which memories
the word index holds), index-content (what it holds of them), schema
(tables, columns and indexes), text, times, superseded, versions, vectors.
Looking changes nothing.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from claw.core.memory import Inspection
from claw.core.registry import load_dotted
from claw.memory import schema
from claw.text.segment import index_text

# Loaded where there are vectors: it brings numpy.
_VECTORS = "claw.memory.vector_check:inspect"
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


def inspect(connection: sqlite3.Connection) -> list[Inspection]:
    """Findings about the file and what it holds; reads only."""
    with _one_moment(connection):
        found = [_safely(look, connection) for look in (
            _file, _index, _index_content, _schema, _text, _times,
            _superseded, _versions)]
        return [*found, *_vectors(connection)]


def _safely(look: Callable[[sqlite3.Connection], Inspection],
            connection: sqlite3.Connection) -> Inspection:
    """A finding, also where SQLite can't say: `_index` looks at "index"."""
    try:
        return look(connection)
    except sqlite3.Error as error:
        name = look.__name__.strip("_").replace("_", "-")
        return Inspection({"file": "integrity"}.get(name, name), False,
                          f"can't be looked at: {error}",
                          _REBUILD if name == "index" else _REPAIR)


def _file(connection: sqlite3.Connection) -> Inspection:
    found = complaints(connection)
    if not found:
        return Inspection("integrity", True, "the file is sound")
    return Inspection(
        "integrity", False, "; ".join(found[:3]), _REPAIR
        if only_indexes(found) else
        "export what can be read: claw memory export > memories.ndjson")


def complaints(connection: sqlite3.Connection) -> list[str]:
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


def _index(connection: sqlite3.Connection) -> Inspection:
    wanted, indexed, left_out, orphans = (
        _number(connection, query) for query in (
            "SELECT count(*) FROM memories WHERE superseded_by IS NULL",
            "SELECT count(*) FROM memories_fts_docsize",
            f"SELECT count(*) FROM ({_NOT_INDEXED})",
            f"SELECT count(*) FROM ({_INDEXED_FOR_NOTHING})"))
    if left_out:
        return Inspection("index", False, f"{indexed - orphans} of {wanted} "
                          "memories are in the index", _REBUILD)
    if orphans:
        return Inspection("index", False, f"{orphans} rows of the index "
                          "belong to no memory that can be found", _REBUILD)
    return Inspection("index", True, f"{wanted} memories, all in the index")


def _index_content(connection: sqlite3.Connection) -> Inspection:
    """Whether the index holds the words of its memories: what it keeps is
    compared, and one word of each is looked for."""
    total = _number(connection, "SELECT count(*) FROM memories"
                    " WHERE superseded_by IS NULL")
    seen = wrong = 0
    for rid, key, content in _some(connection, total):
        seen += 1
        # A damaged row may hold nothing where a text must be.
        wrong += key is None or content is None or not _is_found(
            connection, rid, index_text(key), index_text(content))
    if wrong:
        return Inspection("index-content", False, f"{wrong} of {seen} "
                          "memories looked at stand in the index with other "
                          "words", _REPAIR)
    if not _agrees_with_itself(connection):
        return Inspection("index-content", False,
                          "the index does not agree with itself", _REPAIR)
    return Inspection("index-content", True, f"{seen} of {total} memories "
                      "compared, all found by their words")


def _some(connection: sqlite3.Connection, total: int
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


def _schema(connection: sqlite3.Connection) -> Inspection:
    lost = [name for name, _ in missing(connection)]
    if lost:
        return Inspection("schema", False,
                          f"missing: {', '.join(lost)}", _REPAIR)
    return Inspection("schema", True, "tables and indexes are all there")


def missing(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """(name, SQL) of what a new file has and this one lacks; tables come
    before their indexes. The word index is looked at elsewhere."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        fresh.execute("BEGIN")
        schema.ensure(fresh)
        wanted = fresh.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
            " AND tbl_name NOT LIKE 'memories_fts%' ORDER BY type = 'index',"
            " rowid").fetchall()
        columns = fresh.execute(_COLUMNS_OF).fetchall()
    there = {row[0] for row in
             connection.execute("SELECT name FROM sqlite_master")}
    known = {row[0] for row in connection.execute(_COLUMNS_OF)}
    return [*((f"memories.{name}", "ALTER TABLE memories ADD COLUMN "
               f"{name} {kind}") for name, kind in columns
              if name not in known and "memories" in there),
            *((name, sql) for name, sql in wanted if name not in there)]


_COLUMNS_OF = "SELECT name, type FROM pragma_table_info('memories')"


def _text(connection: sqlite3.Connection) -> Inspection:
    wrong = sum(1 for _ in unreadable(connection))
    if wrong:
        return Inspection("text", False, f"{wrong} memories hold bytes that "
                          "are no text", _REPAIR)
    return Inspection("text", True, "all texts can be read")


def unreadable(connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """(rid, key, content, category) of memories that are no text, as
    bytes."""
    with _as(connection, bytes):
        for row in connection.execute(
                "SELECT rid, CAST(key AS BLOB), CAST(content AS BLOB),"
                " CAST(category AS BLOB), typeof(key) <> 'text'"
                " OR typeof(content) <> 'text' FROM memories"):
            if row[4] or not all(map(_is_text, row[1:4])):
                yield row[:4]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _times(connection: sqlite3.Connection) -> Inspection:
    wrong = _number(connection, "SELECT count(*) FROM memories WHERE"
                    " created_at NOT GLOB ? OR updated_at NOT GLOB ?",
                    TIME, TIME)
    if wrong:
        return Inspection("times", False, f"{wrong} memories have times that "
                          "can't be compared", _REPAIR)
    return Inspection("times", True, "all times can be compared")


def _superseded(connection: sqlite3.Connection) -> Inspection:
    number, lost = (_number(connection, f"SELECT count(*) FROM memories"
                            f" WHERE {condition}")
                    for condition in ("superseded_by IS NOT NULL", NOWHERE))
    if lost:
        return Inspection("superseded", False, f"{lost} memories are hidden "
                          "by one that is not there", _REPAIR)
    return Inspection("superseded", True, f"{number} memories superseded")


def _versions(connection: sqlite3.Connection) -> Inspection:
    number, wrong = connection.execute(
        "SELECT count(*), coalesce(sum(valid_until NOT GLOB ?), 0)"
        " FROM memory_versions", (TIME,)).fetchone()
    if wrong:
        return Inspection("versions", False, f"{wrong} of {number} earlier "
                          "states end at no time", _REPAIR)
    return Inspection("versions", True, f"{number} earlier states kept")


def _vectors(connection: sqlite3.Connection) -> list[Inspection]:
    """What vector_check says, where there are any."""
    try:
        any_there = any(_number(connection, "SELECT EXISTS"
                                f" (SELECT 1 FROM {table})")
                        for table in ("vectors", "vector_shards"))
        if not any_there:
            return [Inspection("vectors", True, "no vectors are kept")]
        found: list[Inspection] = load_dotted(_VECTORS)(connection)
    except sqlite3.Error as error:
        return [Inspection("vectors", False, f"can't be looked at: {error}",
                           _REPAIR)]
    return found


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


@contextmanager
def _as(connection: sqlite3.Connection,
        factory: Callable[[bytes], Any]) -> Iterator[None]:
    before = connection.text_factory
    connection.text_factory = factory
    try:
        yield
    finally:
        connection.text_factory = before


@contextmanager
def lenient(connection: sqlite3.Connection) -> Iterator[None]:
    """Bytes that are no text become replacement characters."""
    with _as(connection, lambda data: data.decode("utf-8", "replace")):
        yield


def _number(connection: sqlite3.Connection, query: str,
            *values: Any) -> int:
    found: int = connection.execute(query, values).fetchone()[0]
    return found
