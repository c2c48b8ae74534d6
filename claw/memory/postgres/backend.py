"""The memory itself: the contract over one table of a server.

Nothing is connected before the first call, which also makes or upgrades
the table; with `readonly` it is taken as it stands, and one that is not
there is empty.
"""

import builtins
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from claw.core.embedding import EmbeddingProvider
from claw.core.errors import ClawError, StorageError, UsageError, describe
from claw.core.memory import (
    CORE,
    NO_DEPS,
    NO_SOURCE,
    Explanation,
    Filters,
    Inspection,
    Memory,
    MemoryDeps,
    MemoryEntry,
    Source,
)
from claw.core.value import Value
from claw.memory import times
from claw.memory.filters import bound, where
from claw.memory.postgres import (
    inspection,
    recall,
    rows,
    settings,
    table,
    vectors,
)
from claw.memory.postgres.errors import TableGoneError
from claw.memory.postgres.escape import escaped, restored
from claw.memory.postgres.filters import conditions, instant
from claw.memory.postgres.server import Connection, Server
from claw.memory.ranking import is_blank, knows
from claw.memory.rows import scored

if TYPE_CHECKING:
    from claw.memory.settings import MemorySettings

T = TypeVar("T")
List = builtins.list  # the class has a method of that name
_EMBEDDED_AT_ONCE = 64
_KEYS_AT_ONCE = 5000
_LARGEST = 2**31 - 1


def _quiet(_: str) -> None:
    return None


class _Ready(Value):
    """What the first call found: the table, and where vectors go."""

    shape: table.Shape
    space: vectors.Space | None = None


class PostgresMemory(Memory):
    """Memory in a table of PostgreSQL. Thread-safe."""

    def __init__(self, server: Server, names: table.Table, *,
                 readonly: bool = False, namespace: str = "default",
                 embedder: EmbeddingProvider | None = None,
                 weights: tuple[float, float] = (0.7, 0.3),
                 notify: Callable[[str], None] = _quiet,
                 clock: Callable[[], str] = times.now) -> None:
        self._server = server
        self._table = names
        self._readonly = readonly
        self._namespace = namespace
        self._embedder = embedder
        self._weights = weights
        self._notify = notify
        self._clock = clock
        self._known: _Ready | None = None
        self._has_complained = False
        self._lock = threading.Lock()

    @classmethod
    def open(cls, workspace: Path, settings_: "MemorySettings", *,
             readonly: bool = False,
             notify: Callable[[str], None] = _quiet,
             deps: MemoryDeps = NO_DEPS) -> "PostgresMemory":
        """The memory that [storage.provider.config] names. Raises
        ConfigError; whether the server is there shows with the first
        call."""
        own = settings.decode(deps.storage)
        return cls(Server(own, readonly=readonly),
                   table.Table(own.schema, own.table), readonly=readonly,
                   namespace=settings_.default_namespace,
                   embedder=deps.embedder if own.pgvector_enabled else None,
                   weights=(settings_.vector_weight,
                            settings_.keyword_weight), notify=notify)

    @property
    def name(self) -> str:
        return "postgres"

    def store(self, key: str, content: str, category: str = CORE,
              session_id: str | None = None) -> None:
        self.store_from(key, content, category, session_id, NO_SOURCE)

    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        rows.checked_key(key)
        ready = self._writable()
        stored = self._write(lambda connection: rows.upsert(
            connection, self._table, key, content, category, session_id,
            namespace=self._namespace, now=self._clock(), source=source,
            forget=_forgets(ready.shape)))
        if ready.space is not None and content.strip():
            self._embed(ready.space, stored, content)

    def recall(self, query: str, limit: int = 5,
               session_id: str | None = None, since: str | None = None,
               until: str | None = None) -> List[MemoryEntry]:
        return self.recall_filtered(
            query, limit, Filters(None, session_id, since, until))

    def recall_filtered(self, query: str, limit: int,
                        filters: Filters) -> List[MemoryEntry]:
        return [found for found, _ in self.explain(query, limit, filters)]

    def explain(self, query: str, limit: int, filters: Filters
                ) -> List[tuple[MemoryEntry, Explanation]]:
        """Like recall_filtered, with the parts of each score. The newest
        (a blank query) have no score and no parts."""
        if limit <= 0:
            return []
        limit = min(limit, _LARGEST // 2)
        if is_blank(query):
            return [(found, Explanation(found.key, 0.0, {"method": "newest"}))
                    for found in self._newest(filters, limit, 0)]
        conditions(filters)  # refused before anything is asked
        ready = self._ready()
        question = self._question(ready, query)
        return self._read(lambda connection: _found(
            connection, ready.shape, query, limit, filters, question), [])

    def get(self, key: str) -> MemoryEntry | None:
        found = self._select("WHERE memories.key = %s", [escaped(key)])
        return found[0] if found else None

    def list(self, category: str | None = None,
             session_id: str | None = None) -> List[MemoryEntry]:
        return self._newest(Filters(category, session_id), None, 0)

    def page(self, filters: Filters, limit: int, offset: int
             ) -> tuple[List[MemoryEntry], int]:
        found, values = conditions(filters)
        total = self._number(f"SELECT count(*) FROM {{}}{where(found)}",
                             values)
        return self._newest(filters, min(max(limit, 0), _LARGEST),
                            min(max(offset, 0), _LARGEST)), total

    def with_prefix(self, prefix: str, limit: int) -> List[MemoryEntry]:
        return self._select(
            'WHERE memories.key COLLATE "C" LIKE %s'
            ' ORDER BY memories.key COLLATE "C" LIMIT %s',
            [recall.pattern(prefix, ""), min(max(limit, 0), _LARGEST)])

    def stats(self) -> dict[str, int]:
        shape = self._ready().shape
        return self._read(lambda connection: {
            restored(category): count for category, count
            in connection.execute(
                f"SELECT category, count(*) FROM {shape.rows}"
                " GROUP BY category ORDER BY count(*) DESC, category")}, {})

    def forget(self, key: str) -> bool:
        self._writable()
        return self._write(lambda connection: connection.execute(
            f"DELETE FROM {self._table.quoted} WHERE key = %s",
            (escaped(key),)).rowcount) > 0

    def forget_where(self, category: str | None, older_than: str | None,
                     keys: Sequence[str] | None = None) -> int:
        if category is None and older_than is None and keys is None:
            raise UsageError("nothing was named to forget",
                             hint="name keys, a category or an age")
        found: List[str] = []
        values: List[Any] = []
        if category is not None:
            found.append("category = %s")
            values.append(escaped(category))
        if older_than is not None:
            found.append("updated_at < %s::timestamptz")
            values.append(instant(bound("older_than", older_than)))
        self._writable()
        return self._write(lambda connection: _delete(
            connection, self._table, found, values, keys))

    def count(self) -> int:
        return self._number("SELECT count(*) FROM {}", [])

    def health_check(self) -> bool:
        try:
            self._select("LIMIT 1", [])
        except ClawError:
            return False
        return True

    def entries(self) -> Iterator[MemoryEntry]:
        after: tuple[str, int] | None = None
        while True:
            batch, after = self._batch(after)
            if not batch:
                return
            yield from batch

    def restore(self, entries: Iterable[MemoryEntry], *,
                overwrite: bool) -> int:
        ready = self._writable()
        return self._write(lambda connection: rows.restore(
            connection, self._table, entries, overwrite=overwrite,
            now=self._clock(), forget=_forgets(ready.shape)),
            repeatable=False)

    @property
    def embedder(self) -> EmbeddingProvider | None:
        """None also where the server can't keep vectors."""
        if self._embedder is None:
            return None
        space = self._ready().space
        return None if space is None else space.embedder

    def unembedded(self) -> int:
        space = self._ready().space
        if space is None:
            return 0
        return self._read(lambda connection: vectors.missing(
            connection, self._table, space), 0)

    def embed_missing(self, progress: Callable[[int], None]) -> int:
        space = self._writable().space
        done = last = 0
        while space is not None:
            batch = self._next_missing(space, last)
            if not batch:
                break
            made = space.embedder.embed([text for _, _, text in batch])
            done += self._keep(space, [
                (id_, vector) for (_, id_, _), vector
                in zip(batch, made, strict=True)])
            last = batch[-1][0]
            progress(done)
        return done

    def inspect(self) -> List[Inspection]:
        ready = self._ready()
        return self._read(lambda connection: inspection.inspect(
            connection, ready.shape, ready.space),
            [inspection.absent(self._table)])

    def reindex(self) -> int:
        """Write the word index anew; how many rows it holds."""
        self._writable()
        return self._write(lambda connection: table.reindex(
            connection, self._table))

    def close(self) -> None:
        self._server.close()

    def _ready(self) -> _Ready:
        """The table as the first call found or made it."""
        with self._lock:
            if self._known is None or not self._known.shape.exists:
                with self._server.alone() as connection:
                    self._known = self._prepared(connection)
            return self._known

    def _writable(self) -> _Ready:
        if self._readonly:
            raise StorageError(
                f"{self._server.place.table} is open for reading only")
        return self._ready()

    def _prepared(self, connection: Connection) -> _Ready:
        if self._readonly:
            shape = table.look(connection, self._table)
            space = (vectors.existing(connection, shape, self._embedder)
                     if self._embedder else None)
            return _Ready(shape, space)
        table.ensure(connection, self._table)
        space = (vectors.ensure(connection, self._table, self._embedder,
                                self._notify) if self._embedder else None)
        return _Ready(table.look(connection, self._table), space)

    def _question(self, ready: _Ready, query: str
                  ) -> vectors.Question | None:
        space = ready.space
        if space is None or not knows(space.embedder, query):
            return None
        try:
            vector = space.text(space.embedder.embed_one(query))
        except ClawError as error:
            self._complain(f"only words are compared: {describe(error)}")
            return None
        return vectors.Question(space, vector, *self._weights)

    def _embed(self, space: vectors.Space, id_: str, content: str) -> None:
        """The memory is stored; its vector can follow later."""
        try:
            self._keep(space, [(id_, space.embedder.embed_one(content))])
        except ClawError as error:
            self._complain("stored without its meaning, which claw memory "
                           f"reindex adds: {describe(error)}")

    def _complain(self, text: str) -> None:
        """Once: every memory would tell the same."""
        if not self._has_complained:
            self._has_complained = True
            self._notify(text)

    def _keep(self, space: vectors.Space,
              made: Sequence[tuple[str, Any]]) -> int:
        return self._write(lambda connection: vectors.keep(
            connection, self._table, space, made))

    def _next_missing(self, space: vectors.Space, after: int
                      ) -> List[tuple[int, str, str]]:
        return self._read(lambda connection: vectors.next_missing(
            connection, self._table, space, after, _EMBEDDED_AT_ONCE), [])

    def _batch(self, after: tuple[str, int] | None
               ) -> tuple[List[MemoryEntry], tuple[str, int] | None]:
        shape = self._ready().shape
        nothing: tuple[List[MemoryEntry], tuple[str, int] | None] = ([], None)
        return self._read(lambda connection: rows.all_entries(
            connection, shape.rows, after), nothing)

    def _newest(self, filters: Filters, limit: int | None, offset: int
                ) -> List[MemoryEntry]:
        found, values = conditions(filters)
        return self._select(
            f"{where(found)} ORDER BY memories.updated_at DESC,"
            " memories.rid DESC LIMIT %s OFFSET %s",
            [*values, limit, offset])

    def _number(self, statement: str, values: List[Any]) -> int:
        shape = self._ready().shape
        return self._read(lambda connection: int(connection.execute(
            statement.format(shape.rows), values).fetchall()[0][0]), 0)

    def _select(self, clause: str, values: Sequence[Any]
                ) -> List[MemoryEntry]:
        shape = self._ready().shape
        return self._read(lambda connection: [
            rows.entry(row) for row in connection.execute(
                f"SELECT {rows.COLUMNS} FROM {shape.rows} {clause}",
                values)], [])

    def _read(self, work: Callable[[Connection], T], otherwise: T) -> T:
        """What `work` gives, `otherwise` where there is no table."""
        if not self._ready().shape.exists:
            return otherwise
        with self._noticing():
            return self._server.read(work)

    def _write(self, work: Callable[[Connection], T], *,
               repeatable: bool = True) -> T:
        with self._noticing():
            return self._server.write(work, repeatable=repeatable)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """A table that was dropped is looked for anew."""
        try:
            yield
        except TableGoneError:
            self._known = None
            raise


def _forgets(shape: table.Shape) -> str:
    """What a new text empties: its vector, where the table keeps any."""
    return vectors.FORGET if "meaning_model" in shape.columns else ""


def _found(connection: Connection, shape: table.Shape, query: str,
           limit: int, filters: Filters, question: vectors.Question | None
           ) -> List[tuple[MemoryEntry, Explanation]]:
    hits = recall.search(connection, shape, query, limit, filters, question)
    held = rows.by_rid(connection, shape.rows, [hit.rid for hit in hits])
    return [(scored(held[hit.rid], hit.score),
             Explanation(held[hit.rid].key, hit.score, hit.parts))
            for hit in hits if hit.rid in held]


def _delete(connection: Connection, names: table.Table, found: List[str],
            values: List[Any], keys: Sequence[str] | None) -> int:
    statement = f"DELETE FROM {names.quoted}"
    if keys is None:
        return connection.execute(statement + where(found), values).rowcount
    statement += where([*found, "key = ANY(%s)"])
    return sum(connection.execute(statement, [
        *values, [escaped(key) for key in keys[at:at + _KEYS_AT_ONCE]]
        ]).rowcount for at in range(0, len(keys), _KEYS_AT_ONCE))
