"""Secrets taken out of a brain.db that kept them before: out of memories,
of what they were, of the word index, the vectors and the embedding cache.

Plain functions over a connection. What `clean` changes in a key or a text
is what counts.
"""

import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple

from claw.memory.embeddings.cache import content_hash
from claw.memory.sqlite import rows, schema, versions

Clean = Callable[[str], str]
# Table -> its number of a row.
_TABLES = {"memories": "rid", "memory_versions": "vid"}


class _Found(NamedTuple):
    """A row that holds something."""

    number: int
    key: str
    content: str


def count(connection: sqlite3.Connection, clean: Clean) -> int:
    """How many memories and earlier states of memories hold something."""
    return sum(1 for table in _TABLES for _ in _find(connection, table,
                                                     clean))


def redact(connection: sqlite3.Connection, clean: Clean) -> int:
    """Put every key and text as `clean` gives it back, inside the caller's
    transaction; how many rows were changed. A vector of what was changed
    goes, and the word index is made anew: both tell what they were made of.
    Old pages are overwritten with zeros (secure_delete)."""
    before = connection.execute("PRAGMA secure_delete").fetchone()[0]
    connection.execute("PRAGMA secure_delete=ON")
    try:
        changed = 0
        for table, name in _TABLES.items():
            for found in list(_find(connection, table, clean)):
                changed += 1
                key, content = clean(found.key), clean(found.content)
                if table == "memories":
                    key = _choose_free(connection, key, found.number)
                    versions.clear_signs(connection, found.number)
                    rows.unindex(connection, "= ?", (found.number,))
                    connection.execute("UPDATE memories SET embedding = NULL"
                                       " WHERE rid = ?", (found.number,))
                connection.execute(
                    f"UPDATE {table} SET key = ?, content = ?"
                    f" WHERE {name} = ?", (key, content, found.number))
                connection.execute(
                    "DELETE FROM embedding_cache WHERE content_hash = ?",
                    (content_hash(found.content),))
        if changed:
            schema.reindex(connection)
        return changed
    finally:
        connection.execute(f"PRAGMA secure_delete={before}")


def _find(connection: sqlite3.Connection, table: str, clean: Clean
          ) -> Iterator[_Found]:
    """Many rows are looked at as one text first: `clean` has a cost of its
    own for each."""
    cursor = connection.execute(
        f"SELECT {_TABLES[table]}, CAST(key AS TEXT), CAST(content AS TEXT)"
        f" FROM {table}")
    for batch in rows.batches(_Found(*row) for row in cursor):
        whole = "\n".join(f"{row.key}\n{row.content}" for row in batch)
        if clean(whole) != whole:
            yield from (row for row in batch
                        if clean(row.key) != row.key
                        or clean(row.content) != row.content)


def _choose_free(connection: sqlite3.Connection, key: str, rid: int) -> str:
    """The key, with a number where another memory has it."""
    free, number = key, 2
    while connection.execute("SELECT 1 FROM memories WHERE key = ? AND"
                             " rid <> ?", (free, rid)).fetchone():
        free, number = f"{key} {number}", number + 1
    return free
