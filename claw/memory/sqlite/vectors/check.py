"""Check and repair of the vectors of brain.db.

Both go shard by shard, so a store of any size takes the same memory.
"""

import sqlite3
from collections.abc import Iterator

from claw.core.memory import MemoryCheck
from claw.core.value import Value
from claw.memory.lean_numpy import np
from claw.memory.search.vectors import Bytes, signs, slot_bytes
from claw.memory.sqlite.schema import read_number
from claw.memory.sqlite.vectors import shards

_HINT = "claw memory check --repair, then claw memory reindex"
# What may be wrong with a vector -> its condition.
_FAULTS = {
    "without a memory": "NOT EXISTS (SELECT 1 FROM memories"
                        " WHERE memories.rid = vectors.rid)",
    # By way of the index of superseded rows: few, and not part of the scan.
    "of superseded memories": "rid IN (SELECT rid FROM memories"
                              " WHERE superseded_by IS NOT NULL)",
    "of another length than their model's":
        "NOT EXISTS (SELECT 1 FROM embedding_models AS known"
        " WHERE known.id = vectors.model AND typeof(embedding) = 'blob'"
        " AND length(embedding) = 4 * known.dimensions)",
}


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


def check_vectors(connection: sqlite3.Connection) -> list[MemoryCheck]:
    """Findings about the vectors and their signs; reads only."""
    total = read_number(connection, "SELECT count(*) FROM vectors")
    faults = {what: read_number(
        connection, f"SELECT count(*) FROM vectors WHERE {condition}")
        for what, condition in _FAULTS.items()}
    broken = wrong = left = 0
    for shard in _read_all(connection):
        broken += len(shard.broken)
        wrong += shard.wrong
        left += shard.left
    seen = ", ".join(f"{count} {what}" for what, count in {
        **faults, "not finite": broken}.items() if count)
    rest = f"; {left} places of vectors that are gone" if left else ""
    return [
        MemoryCheck("vectors", False, f"of {total} vectors: {seen}", _HINT)
        if seen else
        MemoryCheck("vectors", True, f"{total} vectors, all sound"),
        MemoryCheck("vector_index", False, f"{wrong} vectors are not in the "
                    "index as they are", _HINT) if wrong else
        MemoryCheck("vector_index", True, "all vectors are in it" + rest)]


def repair_vectors(connection: sqlite3.Connection) -> int:
    """Drop vectors that are wrong and write shards that differ anew,
    inside the caller's transaction; how many of both. A memory that lost
    its vector gets one from the next reindex."""
    repaired = 0
    for condition in _FAULTS.values():
        repaired += connection.execute(
            f"DELETE FROM vectors WHERE {condition}").rowcount
    for shard in _read_all(connection):
        connection.executemany("DELETE FROM vectors WHERE rid = ?",
                               [(rid,) for rid in shard.broken])
        repaired += len(shard.broken)
        if not shard.used:
            repaired += connection.execute(
                "DELETE FROM vector_shards WHERE model = ? AND shard = ?",
                (shard.model, shard.number)).rowcount
        elif shard.wrong or shard.left:
            shards.write(connection, shard.model, shard.number, shard.right)
            repaired += 1
    return repaired + connection.execute(
        "DELETE FROM vector_shards WHERE model NOT IN"
        " (SELECT id FROM embedding_models)").rowcount


def _read_all(connection: sqlite3.Connection) -> Iterator[_Shard]:
    """Every shard that is stored, or should be."""
    models = connection.execute(
        "SELECT id, dimensions FROM embedding_models").fetchall()
    for model, dimensions in models:
        numbers = set(shards.numbers(connection, model))
        numbers.update(shards.occupied(connection, model))
        for number in sorted(numbers):
            yield _read_shard(connection, model, number, dimensions)


def _read_shard(connection: sqlite3.Connection, model: int, number: int,
                dimensions: int) -> _Shard:
    right = np.zeros((shards.SLOTS, slot_bytes(dimensions)), np.uint8)
    used: list[int] = []
    broken: list[int] = []
    for rids, vectors in shards.read_shard(connection, model, number,
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
