"""Arithmetic of vectors: signs, distances, cosines. No database here.

Nothing here goes through BLAS: its threads spend more on waiting for each
other than products of a few hundred rows cost (0.2 ms of CPU without it),
and einsum needs no setting in the environment.
"""

from collections.abc import Sequence
from typing import Any, cast

from claw.core.embedding import Vector
from claw.memory.lean_numpy import np, npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint16]

STORED = np.dtype("<f4")
# Distances, up to three for each number, are counted in 16 bits.
MOST_DIMENSIONS = 16_384
FAR = 2**16 - 1
_BLOCK = 2_048  # slots at a time: small enough for the processor's cache

# numpy 1.26 has no bitwise_count.
_COUNT: Any = getattr(np, "bitwise_count", None)


def check_vector(vector: Vector, dimensions: int) -> Floats:
    """The vector as it is stored: (dimensions,) float32.

    Raises ValueError for another length, for what is no list of numbers
    and for numbers that are not finite in 32 bits.
    """
    try:
        with np.errstate(over="ignore"):
            row = np.asarray(vector, dtype=STORED)
    except (TypeError, ValueError) as error:
        raise ValueError("a vector must be a list of numbers") from error
    if row.ndim != 1 or len(row) != dimensions:
        seen = " x ".join(map(str, row.shape)) or "one"
        raise ValueError(f"a vector has {seen} numbers, the model's have "
                         f"{dimensions}")
    if not np.isfinite(row).all():
        raise ValueError("a vector holds numbers that are not finite")
    return row


def unit(row: Floats) -> Doubles:
    """The same direction with length 1; a zero vector stays zero."""
    return cast("Doubles", units(row[None, :])[0])


def slot_bytes(dimensions: int) -> int:
    """Bytes of one vector's signs: whole words of 64 bits."""
    return (dimensions + 63) // 64 * 8


def signs(rows: Floats) -> Bytes:
    """(n, d) float32 -> (n, slot_bytes(d)): a bit is 1 above zero.

    Never all 0, which is a slot that nothing was written to.
    """
    packed = _packed(rows > 0)
    packed[~packed.any(axis=1), -1] = 1
    return packed


def _packed(flags: npt.NDArray[np.bool_]) -> Bytes:
    packed = np.packbits(flags, axis=1)
    lacking = slot_bytes(flags.shape[1]) - packed.shape[1]
    return np.pad(packed, ((0, 0), (0, lacking))) if lacking else packed


def stack(blobs: Sequence[bytes], dimensions: int) -> Floats:
    """Stored vectors, each of the right length, as (n, dimensions)."""
    return np.frombuffer(b"".join(blobs), STORED).reshape(-1, dimensions)


def units(rows: Floats) -> Doubles:
    """Each row with length 1 (zero rows stay zero; rows that are not
    finite become nan)."""
    wide = rows.astype(np.float64)
    squares = np.einsum("ij,ij->i", wide, wide)
    squares[squares == 0.0] = 1.0
    with np.errstate(invalid="ignore"):
        wide /= np.sqrt(squares)[:, None]
    return wide


def cosines(rows: Floats, target: Doubles) -> Doubles:
    """Cosine of each row to `target` (length 1 or 0), each in [-1, 1].

    rows (n, d) float32, target (d,) float64; returns (n,) float64. A zero
    vector scores 0, a row that is not finite nan.
    """
    # Turned into doubles on the way, a buffer at a time: nothing overflows
    # and no copy pushes the rows out of the processor's cache.
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    found: Doubles = np.einsum("ij,j->i", rows, target, dtype=np.float64)
    squares[squares == 0.0] = 1.0
    with np.errstate(invalid="ignore"):
        found /= np.sqrt(squares)
    return np.clip(found, -1.0, 1.0)


class Distances:
    """How far one vector is from each slot of a shard, judged by signs.

    Each sign that differs counts 0 to 3, by the size of the query's number
    there: that finds as much with 400 candidates as plain counting with a
    thousand. Holds its scratch memory, so that a shard costs no allocation.
    """

    def __init__(self, row: Floats) -> None:
        sizes = np.abs(row)
        weights = np.clip(np.rint(sizes * (1.5 / (sizes.mean() or 1.0))),
                          0, 3).astype(np.uint8)
        # As large as what it meets: operations on equal shapes are four
        # times as fast as those that repeat six words.
        self._query, self._ones, self._twos = (
            np.tile(_packed(flags[None, :]).view(np.uint64)[0], (_BLOCK, 1))
            for flags in (row > 0, weights & 1 > 0, weights & 2 > 0))
        self._empty = int(weights[row > 0].sum())
        self._differing = np.empty_like(self._query)
        self._masked = np.empty_like(self._query)
        self._counts: Bytes = np.empty(self._query.shape, np.uint8)
        self._doubled: Bytes = np.empty_like(self._counts)

    def to(self, shard: Words) -> Counts:
        """(slots, words) -> (slots,), for a whole number of blocks; a slot
        that nothing was written to is FAR away."""
        sums = np.empty(len(shard), np.uint16)
        for start in range(0, len(shard), _BLOCK):
            self._add_up(shard[start:start + _BLOCK],
                         sums[start:start + _BLOCK])
        doubtful = np.flatnonzero(sums == self._empty)
        sums[doubtful[~shard[doubtful].any(axis=1)]] = FAR
        return sums

    def _add_up(self, block: Words, sums: Counts) -> None:
        np.bitwise_xor(block, self._query, out=self._differing)
        self._count(self._ones, self._counts)
        self._count(self._twos, self._doubled)
        # At most 64 + 2 * 64 in a word.
        np.add(self._counts, self._doubled, out=self._counts)
        np.add(self._counts, self._doubled, out=self._counts)
        np.copyto(sums, self._counts[:, 0])
        for column in range(1, self._counts.shape[1]):
            np.add(sums, self._counts[:, column], out=sums)

    def _count(self, mask: Words, out: Bytes) -> None:
        np.bitwise_and(self._differing, mask, out=self._masked)
        if _COUNT is not None:
            _COUNT(self._masked, out=out)
            return
        quarters = np.take(_table(), self._masked.view(np.uint16))
        out[:] = np.einsum("ijk->ij", quarters.reshape(_BLOCK, -1, 4))


_tables: list[Bytes] = []


def _table() -> Bytes:
    """How many bits are set in each number of 16 bits."""
    if not _tables:
        numbers = np.arange(65_536, dtype=np.uint16).view(np.uint8)
        _tables.append(np.unpackbits(numbers.reshape(-1, 2), axis=1)
                       .sum(axis=1, dtype=np.uint8))
    return _tables[0]
