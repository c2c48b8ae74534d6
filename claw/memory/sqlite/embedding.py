"""The embedder's side of a brain.db: vectors for rows, and for questions.

A row is always stored before its vector is made, so a failing embedder never
loses one; what it missed is made by `embed_missing`. A question that can't
be embedded is answered by its words, and for half a minute no other one asks
the embedder. numpy loads when the first vector is used.
"""

import math
import sqlite3
import time
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from claw.core.embedding import EmbeddingProvider
from claw.core.errors import (
    ClawError,
    ConfigError,
    StorageError,
    UnavailableError,
)
from claw.memory.search.scoring import Weights
from claw.memory.sqlite.recall import Nearby, QueryEmbedding
from claw.storage.sqlite import impatient

if TYPE_CHECKING:
    from claw.memory.sqlite.vectors.index import VectorIndex

T = TypeVar("T")
Vectors = Mapping[str, "array[float]"]
Read = Callable[[Callable[[], T]], T]
Write = Callable[[Callable[[sqlite3.Connection], T]], T]

BATCH = 256  # an embedder over HTTP connects anew each time
PAUSE_S = 30.0
# What is past this says little to a model that reads 256 or 8,192 tokens.
CHARACTERS = 6_000


class Embeddings:
    """Joins an embedder with the vectors of one brain.db.

    `read` and `write` run their argument alone with the connection; the
    embedder is never called inside them.
    """

    def __init__(self, embedder: EmbeddingProvider,
                 connection: sqlite3.Connection, read: Any, write: Any, *,
                 weights: Weights, cache_size: int,
                 notify: Callable[[str], None], readonly: bool,
                 clock: Callable[[], float] = time.monotonic) -> None:
        if weights.vector + weights.keyword <= 0:
            raise ConfigError(
                "memory.vector_weight and memory.keyword_weight are both 0: "
                "no memory would be found",
                hint="claw config unset memory.vector_weight")
        self.embedder = embedder
        self._connection = connection
        self._read = read
        self._write = write
        self._weights = weights
        self._cache_size = cache_size
        self._notify = notify
        self._readonly = readonly
        self._clock = clock
        self._silent_until = float("-inf")
        self._index: "VectorIndex | None" = None

    def embed_query(self, query: str) -> QueryEmbedding | None:
        """A question as a vector; None where words must do: no vectors of
        this model yet, no weight, or an embedder that fails."""
        if self._weights.vector <= 0 or self._clock() < self._silent_until:
            return None
        model = self._read(lambda: self._find_model(create=False))
        if model is None:
            return None
        try:
            found, made = self._embed_texts([query])
        except (ClawError, ValueError) as error:
            self._report("the question is answered by its words", error)
            return None
        if made and not self._readonly:
            # Where that can be done at once: an answer does not wait for
            # another writer, nor for room.
            with suppress(StorageError, UnavailableError):
                self._read(lambda: self._keep_at_once(made))
        return _Question(self, model, found[query])

    def embed_row(self, rid: int, key: str, content: str) -> None:
        """Make the vector of a row that was just stored."""
        self.embed_rows([(rid, key, content)])

    def embed_rows(self, rows: Sequence[tuple[int, str, str]]) -> None:
        """Make the vectors of rows that were just stored, of at most BATCH:
        what stored more at once waits for embed_missing."""
        if not rows or self._clock() < self._silent_until:
            return
        try:
            self._embed(rows[:BATCH])
        except (ClawError, ValueError) as error:
            self._report("the memory is stored without its vector; later: "
                         "claw memory reindex", error)

    def reconnect(self, connection: sqlite3.Connection) -> None:
        """Go on with another connection."""
        self._connection = connection
        self._index = None

    def missing(self) -> int:
        """How many live rows have no vector of this model."""
        from claw.memory.sqlite.vectors import rows
        return int(self._read(lambda: rows.count_missing(
            self._connection, self._find_model(create=False))))

    def embed_missing(self, progress: Callable[[int], None]) -> int:
        """Make what is missing, batch by batch; how many were made."""
        from claw.memory.sqlite.vectors.rows import missing
        self._silent_until = float("-inf")
        made, after = 0, -2**63
        while True:
            rows = self._read(lambda after=after: missing(
                self._connection, self._find_model(create=False), BATCH,
                after=after))
            if not rows:
                return made
            after = rows[-1][0]
            made += self._embed(rows)
            progress(made)

    def nearest(self, model: int, vector: "array[float]", pool: int,
                allowed: Collection[int] | None) -> Nearby:
        """Rows near a vector; alone with the connection."""
        if self._index is None:
            from claw.memory.sqlite.vectors.index import VectorIndex
            self._index = VectorIndex()
        return self._index.search(self._connection, model, vector, pool,
                                  allowed)

    def cosines(self, model: int, vector: "array[float]",
                rids: Collection[int]) -> dict[int, float]:
        """Exact cosines of rows; alone with the connection."""
        assert self._index is not None  # nearest came first
        return self._index.cosines(self._connection, model, vector, rids)

    @property
    def weights(self) -> Weights:
        """How much vectors and words count."""
        return self._weights

    def _find_model(self, *, create: bool) -> Any:
        """The number of the model, None where it has none yet."""
        from claw.memory.sqlite.vectors.rows import model_id
        return model_id(
            self._connection, self.embedder.model, self.embedder.dimensions,
            create=create)

    def _embed(self, rows: Sequence[tuple[int, str, str]]) -> int:
        from claw.memory.sqlite.vectors.rows import put, unchanged
        vectors, made = self._embed_texts([content for _, _, content in rows])

        def keep(connection: sqlite3.Connection) -> int:
            same = unchanged(connection, rows)
            # Nor are words kept here that were removed meanwhile.
            self._keep(connection, {
                content: made[content] for rid, _, content in rows
                if rid in same and content in made})
            return put(connection, self._find_model(create=True), [
                (rid, vectors[content]) for rid, _, content in rows
                if rid in same])
        return int(self._write(keep))

    def _embed_texts(self, texts: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Vectors by text, and those of them that the cache did not have.
        Raises what the embedder raises."""
        from claw.memory.embeddings.cache import lookup
        held = {text: array("f", blob) for text, blob in self._read(
            lambda: lookup(self._connection, self.embedder.model, texts)
        ).items()}
        known = {text: vector for text, vector in held.items()
                 if self._is_sound(vector)}
        asked = [text for text in dict.fromkeys(texts) if text not in known]
        if not asked:
            return known, {}
        made = dict(zip(asked, (array("f", vector) for vector in
                                self.embedder.embed([
                                    text[:CHARACTERS] for text in asked])),
                        strict=True))
        if not all(map(self._is_sound, made.values())):
            raise UnavailableError(
                f"{self.embedder.name} made a vector that is not "
                f"{self.embedder.dimensions} finite numbers",
                hint="try again, or another embedding model")
        return {**known, **made}, made

    def _is_sound(self, vector: "array[float]") -> bool:
        return len(vector) == self.embedder.dimensions \
            and all(map(math.isfinite, vector))

    def _keep_at_once(self, made: Vectors) -> None:
        with impatient(self._connection):
            self._keep(self._connection, made)

    def _keep(self, connection: sqlite3.Connection, made: Vectors) -> None:
        if made and self._cache_size:
            from claw.memory.embeddings.cache import keep
            keep(
                connection, self.embedder.model,
                {text: vector.tobytes() for text, vector in made.items()},
                self._cache_size)

    def _report(self, consequence: str, error: Exception) -> None:
        self._silent_until = self._clock() + PAUSE_S
        what = getattr(error, "message", None) or str(error)
        hint = getattr(error, "hint", None)
        self._notify(f"embedding failed: {what}; {consequence}"
                     + (f" ({hint})" if hint else ""))


class _Question:
    """A QueryEmbedding: a vector in front of one model's vectors."""

    def __init__(self, side: Embeddings, model: int,
                 vector: "array[float]") -> None:
        self._side = side
        self._model = model
        self._vector = vector
        self.weights = side.weights
        self.is_multilingual = side.embedder.is_multilingual

    def nearest(self, pool: int, allowed: Collection[int] | None) -> Nearby:
        return self._side.nearest(self._model, self._vector, pool, allowed)

    def cosines(self, rids: Collection[int]) -> dict[int, float]:
        return self._side.cosines(self._model, self._vector, rids)
