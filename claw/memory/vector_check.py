"""Looking over the vectors of brain.db, and putting right what is wrong.

Both go shard by shard, so a store of any size takes the same memory.
"""

import sqlite3
from collections.abc import Iterator

from claw.core.memory import Inspection
from claw.core.value import Value
from claw.memory import vector_shards as shards
from claw.memory.lean_numpy import np
from claw.memory.vector_math import Bytes, signs, slot_bytes

_HINT = "claw memory check --repair, then claw memory reindex"
_GONE = ("NOT EXISTS (SELECT 1 FROM memories"
         " WHERE memories.rid = vectors.rid)")
# By way of the index of superseded rows: few, and not part of the scan.
_SUPERSEDED = ("rid IN (SELECT rid FROM memories"
               " WHERE superseded_by IS NOT NULL)")
_MISSHAPEN = ("NOT EXISTS (SELECT 1 FROM embedding_models AS known"
              " WHERE known.id = vectors.model"
              " AND typeof(embedding) = 'blob'"
              " AND length(embedding) = 4 * known.dimensions)")


class _Shard(Value):
    """One shard beside the vectors that it stands for."""

    model: int
    number: int
    right: Bytes
    held: Bytes | None
    used: list[int]  # slots
    broken: list[int]  # row ids of vectors that are not finite

    @property
    def wrong(self) -> int:
        """Vectors whose signs are not those in the shard."""
        if self.held is None:
            return len(self.used)
        differing = (self.held[self.used] != self.right[self.used])
        return int(differing.any(axis=1).sum())

    @property
    def left(self) -> int:
        """Slots with signs of a vector that is gone."""
        if self.held is None:
            return 0
        return int((self.held != self.right).any(axis=1).sum()) - self.wrong


def inspect(connection: sqlite3.Connection) -> list[Inspection]:
    """Findings about the vectors and their signs; reads only."""
    total = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    faults = {"without a memory": _count(connection, _GONE),
              "of superseded memories": _count(connection, _SUPERSEDED),
              "of another length than their model's": _count(
                  connection, _MISSHAPEN),
              "not finite": 0}
    wrong = left = 0
    for shard in _all(connection):
        faults["not finite"] += len(shard.broken)
        wrong += shard.wrong
        left += shard.left
    return [_vectors(total, faults), _signs(wrong, left)]


def repair(connection: sqlite3.Connection) -> int:
    """Drop vectors that are wrong and write shards that differ anew,
    inside the caller's transaction; how many of both. A memory that lost
    its vector gets one from the next reindex."""
    repaired = 0
    for condition in (_GONE, _SUPERSEDED, _MISSHAPEN):
        repaired += connection.execute(
            f"DELETE FROM vectors WHERE {condition}").rowcount
    for shard in _all(connection):
        repaired += _mended(connection, shard)
    return repaired + connection.execute(
        "DELETE FROM vector_shards WHERE model NOT IN"
        " (SELECT id FROM embedding_models)").rowcount


def _mended(connection: sqlite3.Connection, shard: _Shard) -> int:
    connection.executemany("DELETE FROM vectors WHERE rid = ?",
                           [(rid,) for rid in shard.broken])
    count = len(shard.broken)
    if not shard.used:
        return count + connection.execute(
            "DELETE FROM vector_shards WHERE model = ? AND shard = ?",
            (shard.model, shard.number)).rowcount
    if shard.wrong or shard.left:
        shards.write(connection, shard.model, shard.number, shard.right)
        count += 1
    return count


def _vectors(total: int, faults: dict[str, int]) -> Inspection:
    seen = ", ".join(f"{count} {what}" for what, count in faults.items()
                     if count)
    if seen:
        return Inspection("vectors", False, f"of {total} vectors: {seen}",
                          _HINT)
    return Inspection("vectors", True, f"{total} vectors, all sound")


def _signs(wrong: int, left: int) -> Inspection:
    if wrong:
        return Inspection(
            "vector_index", False,
            f"{wrong} vectors are not in the index as they are", _HINT)
    rest = f"; {left} places of vectors that are gone" if left else ""
    return Inspection("vector_index", True, "all vectors are in it" + rest)


def _count(connection: sqlite3.Connection, condition: str) -> int:
    count: int = connection.execute(
        f"SELECT count(*) FROM vectors WHERE {condition}").fetchone()[0]
    return count


def _all(connection: sqlite3.Connection) -> Iterator[_Shard]:
    """Every shard that is stored, or should be."""
    models = connection.execute(
        "SELECT id, dimensions FROM embedding_models").fetchall()
    for model, dimensions in models:
        numbers = set(shards.numbers(connection, model))
        numbers.update(shards.occupied(connection, model))
        for number in sorted(numbers):
            yield _shard(connection, model, number, dimensions)


def _shard(connection: sqlite3.Connection, model: int, number: int,
           dimensions: int) -> _Shard:
    right = np.zeros((shards.SLOTS, slot_bytes(dimensions)), np.uint8)
    used: list[int] = []
    broken: list[int] = []
    for rids, vectors in shards.rows_of(connection, model, number,
                                        dimensions):
        finite = np.isfinite(vectors).all(axis=1)
        places = np.array(rids)
        broken += places[~finite].tolist()
        slots = places[finite] & (shards.SLOTS - 1)
        right[slots] = signs(vectors[finite])
        used += slots.tolist()
    row = connection.execute(
        "SELECT bits FROM vector_shards WHERE model = ? AND shard = ?",
        (model, number)).fetchone()
    held = shards.words(row[0], dimensions) if row else None
    return _Shard(model, number, right,
                  None if held is None else held.view(np.uint8), used, broken)
