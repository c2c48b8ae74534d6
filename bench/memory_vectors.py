"""Vector recall of brain.db beside other ways, in CPU time, in one run.

    python bench/memory_vectors.py [--sizes 10000,100000] [--large]
        [--dimensions 384] [--rounds 15]

Compares, alternately and for the same questions: a loop over rows (SELECT,
numpy's dot for each), sqlite-vec's vec0, claw with an index that was used
before and claw with a new one, as a command has it. sqlite-vec needs a
Python whose sqlite3 can load extensions, or apsw; without it its line is
left out. The vectors are made: clusters of a mixture, projected and with
noise, as sentence embeddings lie. Columns are medians.
"""

import argparse
import contextlib
import importlib
import math
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from claw.memory.sqlite import schema
from claw.memory.sqlite.vectors import rows as vectors
from claw.storage.sqlite import connect, write

LATENT = 64
CLUSTERS = 400
CHUNK = 10_000
TOP = 10
Search = Callable[[np.ndarray], list[int]]

ALONE = """
import resource, sys
import numpy as np
from claw.memory.sqlite.vectors import rows as vectors
from claw.storage.sqlite import connect
connection = connect(sys.argv[1], readonly=True)
queries = np.load(sys.argv[2])
def peak():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status
                        if line.startswith("VmHWM"))
    except FileNotFoundError:  # begins at the parent's peak on Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
index = vectors.VectorIndex()
for query in queries:
    index.search(connection, 1, query, 200)
print(before, peak())
"""


class Sentences:
    """Vectors as sentence embeddings lie: themes, variations, noise."""

    def __init__(self, dimensions: int) -> None:
        self._rng = np.random.default_rng(7)
        self._centres = self._rng.standard_normal((CLUSTERS, LATENT))
        self._projection = (self._rng.standard_normal((LATENT, dimensions))
                            / math.sqrt(LATENT))
        self._common = self._rng.standard_normal(dimensions) * 0.3

    def make(self, count: int) -> np.ndarray:
        """(count, dimensions) float32 of length 1."""
        chosen = self._rng.integers(0, CLUSTERS, count)
        latent = self._centres[chosen] + 0.6 * self._rng.standard_normal(
            (count, LATENT))
        made = latent @ self._projection + self._common
        made += 0.3 * self._rng.standard_normal(made.shape)
        made /= np.linalg.norm(made, axis=1)[:, None]
        return made.astype("<f4")


def fill(connection: sqlite3.Connection, path: Path, size: int,
         sentences: Sentences, also: Callable[[int, np.ndarray], None]
         ) -> float:
    """A brain of `size` memories with vectors; CPU seconds of put."""
    spent = 0.0
    with write(connection, path):
        schema.ensure(connection)
        model = vectors.model_id(connection, "bench", sentences.make(1)
                                 .shape[1], create=True)
        assert model is not None
    for start in range(0, size, CHUNK):
        made = sentences.make(min(CHUNK, size - start))
        with write(connection, path):
            connection.executemany(
                "INSERT INTO memories (id, key, content, created_at,"
                " updated_at) VALUES (?, ?, ?, '', '')",
                ((f"{n}", f"key-{n}", f"what was noted as number {n}")
                 for n in range(start + 1, start + len(made) + 1)))
            began = time.process_time()
            vectors.put(connection, model,
                        enumerate(made, start + 1))
            spent += time.process_time() - began
        also(start, made)
    return spent


def by_rows(connection: sqlite3.Connection) -> Search:
    """The loop: every BLOB out of SQLite, one dot product each."""
    def search(query: np.ndarray) -> list[int]:
        length = math.sqrt(float(query @ query))
        found = []
        for rid, blob in connection.execute(
                "SELECT rid, embedding FROM vectors"):
            row = np.frombuffer(blob, np.float32)
            norm = math.sqrt(float(row @ row)) * length
            found.append((float(row @ query) / norm if norm else 0.0, rid))
        found.sort(reverse=True)
        return [rid for _, rid in found[:TOP]]
    return search


def by_claw(connection: sqlite3.Connection,
            index: vectors.VectorIndex | None) -> Search:
    """Claw's search with its pool of 200; a new index where none is
    given."""
    def search(query: np.ndarray) -> list[int]:
        found = (index or vectors.VectorIndex()).search(
            connection, 1, query, 200)
        return [rid for rid, _ in found.hits[:TOP]]
    return search


class Vec0:
    """sqlite-vec in a file of its own, through sqlite3 or apsw."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._db = _with_extension(path)
        self._run("PRAGMA cache_size=-2000")
        self._run("PRAGMA mmap_size=8388608")
        self._run(f"CREATE VIRTUAL TABLE v USING vec0(e float[{dimensions}]"
                  " distance_metric=cosine)")

    def add(self, start: int, made: np.ndarray) -> None:
        self._run("BEGIN")
        for number, row in enumerate(made, start + 1):
            self._run("INSERT INTO v(rowid, e) VALUES (?, ?)",
                      (number, row.tobytes()))
        self._run("COMMIT")

    def search(self, query: np.ndarray) -> list[int]:
        return [row[0] for row in self._run(
            "SELECT rowid FROM v WHERE e MATCH ? AND k = ?"
            " ORDER BY distance", (query.tobytes(), TOP))]

    def close(self) -> None:
        self._db.close()

    def _run(self, statement: str, values: tuple[Any, ...] = ()
             ) -> list[Any]:
        return list(self._db.execute(statement, values))


def _with_extension(path: Path) -> Any:
    """A connection with sqlite-vec; raises ImportError where none can
    load it."""
    extension = importlib.import_module("sqlite_vec")
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        db: Any = sqlite3.connect(path, isolation_level=None)
    else:
        db = importlib.import_module("apsw").Connection(str(path))
    db.enable_load_extension(True)
    db.load_extension(extension.loadable_path())
    return db


@contextlib.contextmanager
def vec0(path: Path, dimensions: int) -> Iterator[Vec0 | None]:
    try:
        peer = Vec0(path, dimensions)
    except ImportError as error:
        print(f"vec0 is left out: {error} (pip install apsw sqlite-vec)")
        yield None
        return
    try:
        yield peer
    finally:
        peer.close()


def measure(size: int, options: argparse.Namespace) -> None:
    """Fill, ask, print the table of one size."""
    sentences = Sentences(options.dimensions)
    with (tempfile.TemporaryDirectory(dir=options.directory) as place,
          vec0(Path(place, "vec.db"), options.dimensions) as peer,
          contextlib.closing(connect(Path(place, "brain.db"))
                             ) as connection):
        path = Path(place, "brain.db")
        spent = fill(connection, path, size, sentences,
                     peer.add if peer else lambda *_: None)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rounds = options.rounds if size < 500_000 else min(
            options.rounds, 3)
        queries = sentences.make(rounds)
        cases: dict[str, Search] = {"loop over rows": by_rows(connection)}
        if peer:
            cases["sqlite-vec vec0"] = peer.search
        cases["claw, new index"] = by_claw(connection, None)
        cases["claw"] = by_claw(connection, vectors.VectorIndex())
        print(f"\n{size:,} vectors of {options.dimensions}")
        report(*run(cases, queries))
        print(f"put in bulk: {size / spent:,.0f} a CPU second; put of one "
              f"(durable): {single(connection, path, sentences):.2f} ms; "
              f"not embedded, counted: {counted(connection):.2f} ms")
        memory(path, Path(place, "queries.npy"), queries)


def run(cases: dict[str, Search], queries: np.ndarray
        ) -> tuple[dict[str, list[float]], dict[str, list[int]]]:
    """CPU ms and how many of the loop's ten were found, by case."""
    spent: dict[str, list[float]] = {name: [] for name in cases}
    hits: dict[str, list[int]] = {name: [] for name in cases}
    for search in cases.values():
        search(queries[0])
    for query in queries:
        exact: set[int] = set()
        for name, search in cases.items():
            began = time.process_time()
            found = search(query)
            spent[name].append((time.process_time() - began) * 1000)
            exact = exact or set(found)
            hits[name].append(len(exact & set(found)))
    return spent, hits


def report(spent: dict[str, list[float]],
           hits: dict[str, list[int]]) -> None:
    middle = {name: statistics.median(values)
              for name, values in spent.items()}
    print(f"{'':18} {'CPU ms':>9} {'recall@10':>10} {'claw is':>9}")
    for name, value in middle.items():
        print(f"{name:18} {value:9.2f} "
              f"{statistics.mean(hits[name]) / TOP:10.3f} "
              f"{value / middle['claw']:8.1f}x")


def single(connection: sqlite3.Connection, path: Path,
           sentences: Sentences) -> float:
    """CPU ms of one vector in a transaction of its own."""
    spent = []
    for number, row in enumerate(sentences.make(50)):
        began = time.process_time()
        with write(connection, path):
            vectors.put(connection, 1, [(1 + 97 * number, row)])
        spent.append((time.process_time() - began) * 1000)
    return statistics.median(spent)


def counted(connection: sqlite3.Connection) -> float:
    """CPU ms of asking how many have no vector."""
    began = time.process_time()
    assert vectors.count_missing(connection, 1) == 0
    return (time.process_time() - began) * 1000


def memory(path: Path, saved: Path, queries: np.ndarray) -> None:
    """Peak of a process that only searches."""
    np.save(saved, queries)
    said = subprocess.run([sys.executable, "-c", ALONE, path, saved],
                          text=True, capture_output=True, check=True).stdout
    before, after = (int(number) / 1024 for number in said.split())
    print(f"a process that searches: {after:.0f} MB at its peak, "
          f"{before:.0f} MB before")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--large", action="store_true",
                        help="also a million vectors (1.5 GB each way)")
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--directory", help="where the files are made")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    for size in [*sizes, *([1_000_000] if options.large else [])]:
        measure(size, options)
    print(time.strftime("measured %Y-%m-%d"), "numpy", np.__version__,
          "SQLite", sqlite3.sqlite_version,
          "page size", resource.getpagesize())


if __name__ == "__main__":
    main()
