"""Sign bits of vectors in brain.db, 4,096 to a BLOB.

A vector's bits lie at the place of its row id: shard rid >> 12, slot
rid & 4095. They only choose which vectors are looked at, so bits that are
left from a vector that is gone do no harm; bits that are missing hide one.
Everything is written inside the caller's transaction.
"""

import sqlite3
from collections.abc import Iterator

from claw.memory.lean_numpy import np
from claw.memory.search.vectors import (
    Bytes,
    Floats,
    Words,
    signs,
    slot_bytes,
    stack,
)
from claw.memory.sqlite import schema

SLOTS = schema.SHARD
SHIFT = SLOTS.bit_length() - 1
# Above this many slots a whole shard is written at once.
_FEW = 32
_ROWS = 256
# Signs that wait to be written together.
_WAITING_BYTES = 16 * 2**20


def find_dimensions(connection: sqlite3.Connection, model: int) -> int | None:
    """Length of a model's vectors; None for a model that is not known."""
    row = connection.execute(
        "SELECT dimensions FROM embedding_models WHERE id = ?",
        (model,)).fetchone()
    return row[0] if row is not None and isinstance(row[0], int) else None


def is_vector(blob: object, dimensions: int) -> bool:
    """Whether a column holds that many numbers."""
    return isinstance(blob, bytes) and len(blob) == 4 * dimensions


def words(bits: object, dimensions: int) -> Words | None:
    """A shard's BLOB as (SLOTS, words); None where it is none."""
    width = slot_bytes(dimensions)
    if not isinstance(bits, bytes) or len(bits) != SLOTS * width:
        return None
    return np.frombuffer(bits, np.uint64).reshape(SLOTS, width // 8)


def numbers(connection: sqlite3.Connection, model: int) -> list[int]:
    """The shards that are stored, in order."""
    return [row[0] for row in connection.execute(
        "SELECT shard FROM vector_shards WHERE model = ? ORDER BY shard",
        (model,))]


def occupied(connection: sqlite3.Connection, model: int) -> Iterator[int]:
    """The shards that the vectors of a model belong to, in order."""
    base = -2**63
    while True:
        row = connection.execute(
            "SELECT rid FROM vectors WHERE model = ? AND rid >= ?"
            " ORDER BY rid LIMIT 1", (model, base)).fetchone()
        if row is None:
            return
        yield row[0] >> SHIFT
        base = ((row[0] >> SHIFT) + 1) << SHIFT
        if base >= 2**63:
            return


def read_shard(connection: sqlite3.Connection, model: int, shard: int,
            dimensions: int) -> Iterator[tuple[list[int], Floats]]:
    """Row ids and vectors of one shard, some at a time; what has another
    length is left out."""
    first = shard << SHIFT
    cursor = connection.execute(
        "SELECT rid, embedding FROM vectors"
        " WHERE model = ? AND rid BETWEEN ? AND ? ORDER BY rid",
        (model, first, first + SLOTS - 1))
    while batch := cursor.fetchmany(_ROWS):
        sound = [row for row in batch if is_vector(row[1], dimensions)]
        if sound:
            yield ([row[0] for row in sound],
                   stack([row[1] for row in sound], dimensions))


def build_shard(connection: sqlite3.Connection, model: int, shard: int,
         dimensions: int) -> Bytes:
    """What a shard should hold, from the exact vectors."""
    bits = np.zeros((SLOTS, slot_bytes(dimensions)), np.uint8)
    for rids, vectors in read_shard(connection, model, shard, dimensions):
        bits[np.array(rids) & (SLOTS - 1)] = signs(vectors)
    return bits


def write(connection: sqlite3.Connection, model: int, shard: int,
          bits: Bytes) -> None:
    """Write one shard whole."""
    connection.execute(
        "INSERT INTO vector_shards (model, shard, bits) VALUES (?, ?, ?)"
        " ON CONFLICT (model, shard) DO UPDATE SET bits = excluded.bits",
        (model, shard, bits.tobytes()))


class Writer:
    """Collects the signs of vectors whose rows are written already, and
    writes each shard once."""

    def __init__(self, connection: sqlite3.Connection, model: int,
                 dimensions: int) -> None:
        self._connection = connection
        self._model = model
        self._dimensions = dimensions
        self._width = slot_bytes(dimensions)
        self._waiting: dict[int, dict[int, bytes]] = {}
        self._size = 0

    def add(self, rid: int, vector: Floats) -> None:
        """The signs of one vector, for its row id."""
        slots = self._waiting.setdefault(rid >> SHIFT, {})
        slots[rid & (SLOTS - 1)] = signs(vector[None, :]).tobytes()
        self._size += self._width
        if self._size >= _WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        for shard in sorted(self._waiting):
            self._write(shard, self._waiting[shard])
        self._waiting.clear()
        self._size = 0

    def _write(self, shard: int, slots: dict[int, bytes]) -> None:
        row = self._connection.execute(
            "SELECT id, typeof(bits), length(bits) FROM vector_shards"
            " WHERE model = ? AND shard = ?", (self._model, shard)).fetchone()
        if row is None or row[1:] != ("blob", SLOTS * self._width):
            # New, or damaged: from the vectors, these among them.
            write(self._connection, self._model, shard,
                  build_shard(self._connection, self._model, shard,
                       self._dimensions))
        elif len(slots) > _FEW:
            held = self._connection.execute(
                "SELECT bits FROM vector_shards WHERE id = ?",
                row[:1]).fetchone()
            whole = np.frombuffer(held[0], np.uint8).reshape(
                SLOTS, self._width).copy()
            whole[list(slots)] = np.frombuffer(
                b"".join(slots.values()), np.uint8).reshape(-1, self._width)
            write(self._connection, self._model, shard, whole)
        else:
            # In place: SQLite writes the pages that change, not 200 kB.
            with self._connection.blobopen("vector_shards", "bits",
                                           row[0]) as blob:
                for slot, bits in slots.items():
                    blob.seek(slot * self._width)
                    blob.write(bits)
