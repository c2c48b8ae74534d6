"""Vectors of memories, in brain.db beside the memories themselves.

`vectors` holds each one exactly, `vector_shards` its signs (see
shards.py), written in one transaction: the caller's. A memory has
one vector at most; vectors of another model are left alone and never
compared. Searching is in index.py, the check in check.py.
This module imports numpy, so it is loaded where vectors are in use only.
"""

import sqlite3
from collections.abc import Collection, Iterable
from functools import partial

from claw.core.embedding import Vector
from claw.memory.search.vectors import MOST_DIMENSIONS, check_vector
from claw.memory.sqlite.schema import read_number
from claw.memory.sqlite.vectors import shards as vector_shards
from claw.memory.sqlite.vectors.index import Nearby, VectorIndex

__all__ = ["Nearby", "VectorIndex", "count_missing", "missing",
           "model_id", "put", "unchanged"]

_UPSERT = (
    "INSERT INTO vectors (rid, model, embedding)"
    " SELECT rid, ?, ? FROM memories"
    " WHERE rid = ? AND superseded_by IS NULL"
    " ON CONFLICT (rid) DO UPDATE SET model = excluded.model,"
    " embedding = excluded.embedding")
_LIVE = "superseded_by IS NULL"


def model_id(connection: sqlite3.Connection, name: str, dimensions: int, *,
             create: bool) -> int | None:
    """The number of the model `name`; None where the store does not know
    it with these dimensions and `create` is not set.

    With `create` vectors of the same name and another length are given
    up, and impossible dimensions raise ValueError.
    """
    row = connection.execute(
        "SELECT id, dimensions FROM embedding_models WHERE name = ?",
        (name,)).fetchone()
    if row is not None and row[1] == dimensions:
        return int(row[0])
    if not create:
        return None
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise ValueError(f"vectors of {dimensions} numbers can't be kept: "
                         f"the least is 1, the most {MOST_DIMENSIONS:,}")
    if row is not None:
        for table in ("vectors", "vector_shards"):
            connection.execute(f"DELETE FROM {table} WHERE model = ?",
                               (row[0],))
        connection.execute("UPDATE embedding_models SET dimensions = ?"
                           " WHERE id = ?", (dimensions, row[0]))
        return int(row[0])
    made = connection.execute(
        "INSERT INTO embedding_models (name, dimensions) VALUES (?, ?)",
        (name, dimensions)).lastrowid
    return int(made or 0)


def put(connection: sqlite3.Connection, model: int,
        items: Iterable[tuple[int, Vector]]) -> int:
    """Write the vectors of memories by row id; how many were written.

    A row that is gone or superseded is skipped. Raises ValueError for a
    vector that is not finite or not of the model's length, and for a model
    that is not known; what came before it is written then.
    """
    dimensions = vector_shards.find_dimensions(connection, model)
    if dimensions is None:
        raise ValueError(f"there is no model {model} in this store")
    signs = vector_shards.Writer(connection, model, dimensions)
    written = 0
    try:
        for rid, vector in items:
            row = check_vector(vector, dimensions)
            if connection.execute(
                    _UPSERT, (model, row.tobytes(), rid)).rowcount > 0:
                signs.add(rid, row)
                written += 1
    except ValueError:
        signs.flush()  # a vector without its signs would never be found
        raise
    signs.flush()
    return written


def missing(connection: sqlite3.Connection, model: int | None, limit: int, *,
            after: int = -2**63) -> list[tuple[int, str, str]]:
    """Row id, key and content of memories that have no vector of `model`
    (None: of all memories), in the order they were stored.

    Go on with `after` set to the last row id: what was looked at is not
    looked at again.
    """
    # The index by name: the table, which SQLite would take, has a page or
    # two for each vector and needs three times as long.
    return connection.execute(
        "SELECT rid, key, content FROM memories"
        f" WHERE rid > ? AND {_LIVE} AND NOT EXISTS (SELECT 1 FROM vectors"
        " INDEXED BY idx_vectors_model WHERE vectors.rid = memories.rid"
        " AND vectors.model = ?)"
        " ORDER BY rid LIMIT ?", (after, model, limit)).fetchall()


def count_missing(connection: sqlite3.Connection, model: int | None) -> int:
    """How many memories have no vector of `model`.

    From the sizes of tables, since a look at each of a million rows takes
    a second: superseded and removed rows must have lost their vectors, as
    they do (`check_vectors` finds those that did not).
    """
    count = partial(read_number, connection)
    live = count("SELECT count(*) FROM memories") - count(
        "SELECT count(*) FROM memories WHERE superseded_by IS NOT NULL")
    if model is None:
        return live
    # SQLite counts a whole table in a hundredth of the time of a part.
    have = count("SELECT count(*) FROM vectors") - count(
        "SELECT count(*) FROM vectors WHERE model < ?", model) - count(
        "SELECT count(*) FROM vectors WHERE model > ?", model)
    return max(live - have, 0)


def unchanged(connection: sqlite3.Connection,
              rows: Collection[tuple[int, str, str]]) -> set[int]:
    """Which of what `missing` gave are still as they were: ask inside the
    transaction of put, since texts may change while a model reads them."""
    return {rid for rid, key, content in rows if connection.execute(
        "SELECT 1 FROM memories WHERE rid = ? AND key = ? AND content = ?"
        f" AND {_LIVE}", (rid, key, content)).fetchone() is not None}
