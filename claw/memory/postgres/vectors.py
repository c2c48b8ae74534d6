"""Embeddings: vectors in the table, compared by pgvector.

The column `meaning` takes vectors of any length, and `meaning_model` says
what made each: those of another model are never compared. Each model has
an HNSW index of its own over its own length, up to what pgvector indexes;
longer vectors are compared one by one.
Source: github.com/pgvector/pgvector, README, read 2026-11.
"""

import math
from collections.abc import Callable, Collection, Sequence
from hashlib import sha256

import psycopg

from claw.core.embedding import EmbeddingProvider, Vector
from claw.core.errors import UnavailableError
from claw.core.memory import Filters
from claw.core.value import Value
from claw.memory.postgres.escape import unescape
from claw.memory.postgres.filters import conditions
from claw.memory.postgres.server import Connection
from claw.memory.postgres.table import Shape, Table, lock
from claw.memory.search.filters import where
from claw.memory.search.scoring import Weights

MAX_INDEXED = 2000
SEEN = 200  # how many neighbours the index looks at
_SAMPLE = 1000
_UNSEEN = 3
# What a new text empties.
FORGET = ", meaning = NULL, meaning_model = NULL"
_EXTENSION = ("SELECT nspname FROM pg_extension JOIN pg_namespace"
              " ON pg_namespace.oid = extnamespace WHERE extname = 'vector'")


class Space(Value):
    """Where vectors are compared: the schema that pgvector is in, and what
    makes the vectors of this column."""

    extension: str
    embedder: EmbeddingProvider

    @property
    def model(self) -> str:
        return self.embedder.model

    @property
    def cast(self) -> str:
        """Into a vector of this model's length."""
        return f'::"{self.extension}".vector({self.embedder.dimensions})'

    @property
    def distance(self) -> str:
        """Of the column to a parameter, over the rows of this model."""
        return (f"(memories.meaning{self.cast}"
                f' OPERATOR("{self.extension}".<=>) %s{self.cast})')

    @property
    def is_mine(self) -> str:
        """The condition of this model's index. Written out: the planner
        does not look into parameters."""
        name = self.model.replace("'", "''").replace("\0", "")
        return f"meaning_model = '{name}'"

    def text(self, vector: Vector) -> str:
        """A vector as pgvector reads it. Raises UnavailableError for one
        that can't be compared."""
        numbers = [float(number) for number in vector]
        if len(numbers) != self.embedder.dimensions \
                or not all(map(math.isfinite, numbers)):
            raise UnavailableError(
                f"{self.model} gave a vector of {len(numbers)} numbers that "
                f"can't be compared ({self.embedder.dimensions} were wanted)",
                hint="check memory.embedding_dimensions")
        return "[" + ",".join(f"{number:.9g}" for number in numbers) + "]"


class QueryEmbedding(Value):
    """What is asked, as a vector, and how much it counts."""

    space: Space
    vector: str
    weights: Weights

    @property
    def is_multilingual(self) -> bool:
        return self.space.embedder.is_multilingual


class Near(Value):
    """The nearest that are nearer than most, and the mean cosine of the
    store."""

    rids: list[int]
    mean: float


def ensure(connection: Connection, table: Table,
           embedder: EmbeddingProvider, notify: Callable[[str], None]
           ) -> Space | None:
    """The extension, the columns and this model's index, made where they
    are missing. None where the server has no pgvector: then `notify` says
    so, and words have to do."""
    schema = _extension(connection, notify)
    if schema is None:
        return None
    space = Space(schema, embedder)
    index = table.index("meaning_" + sha256(
        space.is_mine.encode()).hexdigest()[:8])
    if connection.execute("SELECT to_regclass(%s)", (
            f'"{table.schema}"."{index}"',)).fetchone() != (None,):
        return space
    with connection.transaction():
        lock(connection, table)
        connection.execute(
            f"ALTER TABLE {table.quoted} ADD COLUMN IF NOT EXISTS"
            f' meaning "{schema}".vector,'
            " ADD COLUMN IF NOT EXISTS meaning_model TEXT")
    if embedder.dimensions <= MAX_INDEXED:
        try:
            connection.execute(
                f'CREATE INDEX IF NOT EXISTS "{index}" ON {table.quoted}'
                f' USING hnsw ((meaning{space.cast})'
                f' "{space.extension}".vector_cosine_ops)'
                f" WHERE {space.is_mine}")
        except psycopg.Error as error:  # pgvector before 0.5
            notify("meanings are compared one by one, which is slow: "
                   f"{_first_line(error)}")
    return space


def find_space(connection: Connection, shape: Shape,
             embedder: EmbeddingProvider) -> Space | None:
    """What can be compared without making anything."""
    row = connection.execute(_EXTENSION).fetchone()
    return (None if row is None or "meaning_model" not in shape.columns
            else Space(row[0], embedder))


def keep(connection: Connection, table: Table, space: Space,
         vectors: Sequence[tuple[str, Vector]]) -> int:
    """Keep vectors of memories by their ids; those that were changed
    meanwhile have another id and are left. How many were kept."""
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {table.quoted} SET meaning = %s{space.cast},"
            " meaning_model = %s WHERE id = %s",
            [(space.text(vector), space.model, id_)
             for id_, vector in vectors])
        return cursor.rowcount


def missing(connection: Connection, table: Table, space: Space) -> int:
    """How many memories have no vector of this model."""
    row = connection.execute(
        f"SELECT count(*) FROM {table.quoted} AS memories"
        f" WHERE {_wants(space)}").fetchone()
    return int(row[0]) if row else 0


def next_missing(connection: Connection, table: Table, space: Space,
                 after: int, size: int) -> list[tuple[int, str, str]]:
    """(row id, id, content) of the next ones without a vector."""
    rows = connection.execute(
        f"SELECT rid, id, content FROM {table.quoted} AS memories"
        f" WHERE {_wants(space)} AND rid > %s ORDER BY rid LIMIT %s",
        (after, size))
    return [(rid, id_, unescape(content)) for rid, id_, content in rows]


def nearest(connection: Connection, shape: Shape, embedding: QueryEmbedding,
            pool: int, filters: Filters) -> Near:
    """The row ids of the nearest. Where the index finds too few, since it
    looks at the filters last, all are compared."""
    space = embedding.space
    found, values = conditions(filters)
    narrowed = where([space.is_mine, *found])
    mean = _mean(connection, shape, embedding)

    def ordered(by: str) -> list[tuple[int, float]]:
        return connection.execute(
            f"SELECT memories.rid, 1 - {space.distance}"
            f" FROM {shape.table.quoted} AS memories"
            f"{narrowed} ORDER BY {by} LIMIT %s",
            (embedding.vector, *values, embedding.vector, pool)).fetchall()

    with connection.transaction():
        connection.execute("SELECT set_config('hnsw.ef_search', %s, true)",
                           (str(max(SEEN, min(pool, 1000))),))
        near = ordered(space.distance)
        if len(near) < pool:
            near = ordered(space.distance + " + 0")
    return Near([rid for rid, cosine in near if cosine > mean], mean)


def cosines(connection: Connection, shape: Shape, embedding: QueryEmbedding,
            rids: Collection[int]) -> dict[int, float]:
    """Cosine similarity, from 0 to 1, of these memories."""
    space = embedding.space
    rows = connection.execute(
        f"SELECT rid, 1 - {space.distance}"
        f" FROM {shape.table.quoted} AS memories"
        f" WHERE {space.is_mine} AND rid = ANY(%s)",
        (embedding.vector, list(rids)))
    return {rid: max(0.0, cosine) for rid, cosine in rows
            if math.isfinite(cosine)}


def _mean(connection: Connection, shape: Shape, embedding: QueryEmbedding
          ) -> float:
    """The mean cosine of a sample, above which "alike" begins. A small
    store can't tell: as if it had a few more memories that are unlike."""
    space = embedding.space
    row = connection.execute(
        f"SELECT sum(1 - {space.distance}) / (count(*) + {_UNSEEN})"
        f" FROM (SELECT meaning"
        f" FROM {shape.table.quoted} WHERE {space.is_mine}"
        f" LIMIT {_SAMPLE}) AS memories", (embedding.vector,)).fetchone()
    mean = row[0] if row else None
    return max(0.0, mean) if mean is not None and math.isfinite(mean) else 0.0


def _wants(space: Space) -> str:
    return ("superseded_by IS NULL AND content ~ '[^[:space:]]'"
            f" AND ({space.is_mine}) IS NOT TRUE")


def _extension(connection: Connection, notify: Callable[[str], None]
               ) -> str | None:
    row = connection.execute(_EXTENSION).fetchone()
    if row is None:
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.Error as error:
            notify("no meanings are compared, only words: pgvector can't be "
                   f"used on this server ({_first_line(error)})")
            return None
        row = connection.execute(_EXTENSION).fetchone()
    return str(row[0]) if row else None


def _first_line(error: psycopg.Error) -> str:
    return " ".join(str(error).partition("\n")[0].split())
