"""Search among the vectors of brain.db.

A store of some thousand vectors is compared whole. In a larger one the sign
bits choose some hundred candidates, and their exact vectors are compared:
at 100,000 vectors of 384 numbers that reads 5 MB instead of 150, and the
ten best are nearly always (0.98 and more) the ten best of all.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import cast

from claw.core.embedding import Vector
from claw.core.value import Value
from claw.memory.lean_numpy import np, npt
from claw.memory.search.vectors import (
    FAR,
    Distances,
    Doubles,
    Floats,
    Words,
    check_vector,
    cosines,
    stack,
    unit,
    units,
)
from claw.memory.sqlite.schema import read_number
from claw.memory.sqlite.vectors import shards
from claw.memory.sqlite.vectors.shards import SHIFT, SLOTS

Rids = npt.NDArray[np.int64]

# Up to this many are compared exactly: about what the shards would cost.
EXACT = 2_000
# Candidates of the signs that are compared exactly, and from how many
# vectors on there are more of them.
RESCORED = 400
RESCORED_OF_MANY = 2_000
MANY = 500_000
# Up to so many times as many where the signs tell little.
MORE = 4
# Sign bits that stay in memory while nothing is written; the rest is read
# for each search, so a large store takes no more memory than this.
CACHE_BYTES = 16 * 2**20
# Vectors that the mean is estimated from: its error is about 0.01.
SAMPLE = 128
_ROWS = 256
_GOLDEN = 0.6180339887498949


class Nearby(Value):
    """The best of a search.

    `hits` are row ids with their cosine in [-1, 1], best first; `mean` is
    the mean cosine over all vectors of the model, estimated from a sample
    where there are many.
    """

    hits: list[tuple[int, float]]
    mean: float


class VectorIndex:
    """Searches one memory's vectors; keeps shards between searches."""

    def __init__(self) -> None:
        self._key: object = None
        self._numbers: list[int] | None = None
        self._shards: dict[int, Words | None] = {}
        self._free = 0
        self._used = 0
        self._is_small: bool | None = None
        self._middle: Doubles | None = None

    def search(self, connection: sqlite3.Connection, model: int,
               query: Vector, pool: int,
               allowed: Collection[int] | None = None) -> Nearby:
        """The `pool` vectors of `model` nearest to `query`; only those
        whose row id is in `allowed`, where that is given.

        Raises ValueError for a query of another length and for one that
        is not finite.
        """
        dimensions = shards.find_dimensions(connection, model)
        if dimensions is None:
            return Nearby([], 0.0)
        row = check_vector(query, dimensions)
        self._refresh(connection, model)
        wanted = None if allowed is None else _sort(allowed)
        if self._is_small is None:
            self._is_small = read_number(
                connection, "SELECT count(*) FROM (SELECT 1 FROM vectors"
                " WHERE model = ? LIMIT ?)", model, EXACT + 1) <= EXACT
        if self._is_small:
            return _whole(connection, model, unit(row), pool, wanted)
        if self._middle is None:
            self._middle = _find_middle(connection, model, len(row))
        mean = float(np.einsum("i,i->", self._middle, unit(row)))
        if pool <= 0 or (wanted is not None and not len(wanted)):
            return Nearby([], mean)
        if wanted is not None and len(wanted) <= EXACT:
            found = _score(connection, model, unit(row), wanted.tolist())
        else:
            found = self._rescore(connection, model, row, pool, wanted)
        return Nearby(_best(found, pool), mean)

    def cosines(self, connection: sqlite3.Connection, model: int,
                query: Vector, rids: Collection[int]) -> dict[int, float]:
        """The exact cosine of each row that has a vector of `model`.

        Raises ValueError as search does.
        """
        dimensions = shards.find_dimensions(connection, model)
        if dimensions is None:
            return {}
        target = unit(check_vector(query, dimensions))
        return _score(connection, model, target, _sort(rids).tolist())

    def _refresh(self, connection: sqlite3.Connection, model: int) -> None:
        """Forget what was kept once anything was written: data_version
        tells of others' commits, total_changes of our own writes. Inside
        a transaction nothing is kept, since it may be undone."""
        key = None
        if not connection.in_transaction:
            version = connection.execute("PRAGMA data_version").fetchone()[0]
            key = (connection, model, version, connection.total_changes)
        if key is None or key != self._key:
            self._numbers = self._is_small = self._middle = None
            self._shards = {}
            self._free = self._used = 0
        elif self._free == self._used == 0:
            # Kept from the second search on: the first may be the only
            # one, and to hold 5 MB costs as much as to compare them.
            self._free = CACHE_BYTES
        self._key = key

    def _rescore(self, connection: sqlite3.Connection, model: int,
                  row: Floats, pool: int, wanted: Rids | None
                  ) -> dict[int, float]:
        """Exact cosines of the candidates: so many that have a vector,
        however many bits are left of vectors that are gone, and more of
        them while the best come from far down the list."""
        if self._numbers is None:
            self._numbers = shards.numbers(connection, model)
        many = len(self._numbers) * SLOTS > MANY
        enough = max(pool, RESCORED_OF_MANY if many else RESCORED)
        most = MORE * enough
        found: dict[int, float] = {}
        seen, kept = 0, 2 * enough
        while True:
            near = self._nearest(connection, model, row, kept, wanted)
            while seen < len(near):
                some = near[seen:seen + max(enough - len(found), _ROWS)]
                found |= _score(connection, model, unit(row), some)
                seen += len(some)
                if len(found) < enough:
                    continue
                if enough >= most or _is_settled(found):
                    return found
                enough *= 2
            if len(near) < kept:
                return found
            kept *= 4

    def _nearest(self, connection: sqlite3.Connection, model: int,
                 row: Floats, kept: int, wanted: Rids | None) -> list[int]:
        """Row ids of the slots whose signs differ least, nearest first,
        at most `kept`; equal ones by row id."""
        nearest = _Nearest(kept)
        distances = Distances(row)
        for number, shard in self._each(connection, model, len(row), wanted):
            rids: Rids | None = None
            found = distances.to(shard)
            first = number << SHIFT
            if wanted is not None:
                rids = wanted[_span(wanted, number)]
                found = found[rids - first]
            nearest.add(found, first, rids)
        return nearest.rids()

    def _each(self, connection: sqlite3.Connection, model: int,
              dimensions: int, wanted: Rids | None
              ) -> Iterator[tuple[int, Words]]:
        """The shards that hold anything wanted, kept ones or read."""
        for number in self._numbers or ():
            if wanted is not None:
                span = _span(wanted, number)
                if span.start == span.stop:
                    continue
            if number in self._shards:
                shard = self._shards[number]
            else:
                shard = self._read(connection, model, number, dimensions)
            if shard is not None:
                yield number, shard

    def _read(self, connection: sqlite3.Connection, model: int, number: int,
              dimensions: int) -> Words | None:
        held = connection.execute(
            "SELECT bits FROM vector_shards WHERE model = ? AND shard = ?",
            (model, number)).fetchone()
        shard = shards.words(held[0], dimensions) if held else None
        size = 0 if shard is None else shard.nbytes
        if size < self._free:
            self._shards[number] = shard
            self._free -= size
            self._used += size
        return shard


class _Nearest:
    """The slots with the smallest distances, of many shards in order."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._limit = FAR
        self._rids: list[Rids] = []
        self._distances: list[npt.NDArray[np.uint16]] = []
        self._waiting = 0

    def add(self, distances: npt.NDArray[np.uint16], first: int,
            rids: Rids | None) -> None:
        """Those of one shard; `rids` where they are not first, first + 1
        and so on."""
        closer = np.flatnonzero(distances < self._limit)
        self._rids.append(closer + first if rids is None else rids[closer])
        self._distances.append(distances[closer])
        self._waiting += len(closer)
        if self._waiting >= 2 * self._kept:
            self._cut()

    def rids(self) -> list[int]:
        """All that is kept, nearest first."""
        if not self._rids:
            return []
        self._cut()
        return cast("list[int]", self._rids[0].tolist())

    def _cut(self) -> None:
        distances = np.concatenate(self._distances)
        # Stable: of equal ones the lower row id, which came first. What
        # is kept is in order, so nothing that is as far can get in later.
        order = np.argsort(distances, kind="stable")[:self._kept]
        self._rids = [np.concatenate(self._rids)[order]]
        self._distances = [distances[order]]
        if len(order) == self._kept:
            self._limit = int(distances[order[-1]])
        self._waiting = len(order)


def _sort(rids: Collection[int]) -> Rids:
    return np.unique(np.fromiter(rids, np.int64, len(rids)))


def _span(wanted: Rids, number: int) -> slice:
    first = number << SHIFT
    return slice(int(np.searchsorted(wanted, first)),
                 int(np.searchsorted(wanted, first + SLOTS - 1, "right")))


def _whole(connection: sqlite3.Connection, model: int, target: Doubles,
           pool: int, wanted: Rids | None) -> Nearby:
    """A small store, all of it."""
    cursor = connection.execute(
        "SELECT rid, embedding FROM vectors WHERE model = ?", (model,))
    found: dict[int, float] = {}
    while batch := cursor.fetchmany(_ROWS):
        found |= _compare(batch, target)
    mean = sum(found.values()) / len(found) if found else 0.0
    if wanted is not None:
        found = {rid: found[rid] for rid in wanted.tolist() if rid in found}
    return Nearby(_best(found, pool), mean)


def _score(connection: sqlite3.Connection, model: int, target: Doubles,
            rids: Sequence[int]) -> dict[int, float]:
    """Exact cosines of those rows that have a vector of the model."""
    found: dict[int, float] = {}
    for start in range(0, len(rids), _ROWS):
        # json_each: half the time of IN (...) with as many numbers.
        some = ",".join(map(str, rids[start:start + _ROWS]))
        found |= _compare(connection.execute(
            "SELECT rid, embedding FROM json_each(?) CROSS JOIN vectors"
            " ON rid = value AND model = ?", (f"[{some}]", model)).fetchall(),
            target)
    return found


def _compare(rows: list[tuple[int, bytes]], target: Doubles
              ) -> dict[int, float]:
    """Cosines by row id; what is no vector of this length is left out."""
    sound = [row for row in rows if shards.is_vector(row[1], len(target))]
    if not sound:
        return {}
    values = cosines(stack([row[1] for row in sound], len(target)), target)
    found = dict(zip([row[0] for row in sound], values.tolist(),
                     strict=True))
    return ({rid: value for rid, value in found.items() if value == value}
            if np.isnan(values).any() else found)


def _is_settled(found: dict[int, float]) -> bool:
    """Whether the ten best stand in the nearer half of the candidates, in
    whose order they were looked up: further on there is little to find."""
    best = {rid for rid, _ in _best(found, 10)}
    return best.isdisjoint(islice(found, len(found) // 2, None))


def _best(found: dict[int, float], pool: int) -> list[tuple[int, float]]:
    rank = sorted(found.items(), key=lambda hit: (-hit[1], hit[0]))
    return rank[:max(pool, 0)]


def _find_middle(connection: sqlite3.Connection, model: int, dimensions: int
            ) -> Doubles:
    """The mean of the unit vectors, from a sample that is spread over the
    row ids and the same for the same store."""
    first, last = connection.execute(
        "SELECT (SELECT min(rid) FROM vectors WHERE model = ?),"
        " (SELECT max(rid) FROM vectors WHERE model = ?)",
        (model, model)).fetchone()
    if first is None:
        return np.zeros(dimensions)
    # Steps of the golden ratio: even, and in step with no rhythm of turns.
    places = ",".join(str(first + int(number * _GOLDEN % 1 * (last - first)))
                      for number in range(SAMPLE))
    rows = connection.execute(
        "SELECT embedding FROM json_each(?) CROSS JOIN vectors"
        " ON rid = value AND model = ?", (f"[{places}]", model)).fetchall()
    if len(rows) < SAMPLE // 2:  # many gaps: the next ones, at four seeks
        rows = connection.execute(
            "SELECT embedding FROM vectors WHERE rid IN (SELECT (SELECT rid"
            " FROM vectors WHERE model = ? AND rid >= value"
            " ORDER BY rid LIMIT 1) FROM json_each(?))",
            (model, f"[{places}]")).fetchall()
    sound = [row[0] for row in rows if shards.is_vector(row[0], dimensions)]
    if not sound:
        return np.zeros(dimensions)
    directions = units(stack(sound, dimensions))
    directions = directions[np.isfinite(directions).all(axis=1)]
    return cast("Doubles", directions.sum(axis=0) / max(len(directions), 1))
