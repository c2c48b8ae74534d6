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
from claw.core.errors import ClawError, StorageError, describe
from claw.core.memory import (
    NO_DEPS,
    Filters,
    MemoryCheck,
    MemoryDeps,
    MemoryEntry,
    Source,
)
from claw.core.value import Value
from claw.memory import times
from claw.memory.postgres import (
    check,
    recall,
    rows,
    settings,
    table,
    vectors,
)
from claw.memory.postgres.errors import TableGoneError
from claw.memory.postgres.escape import escape, unescape
from claw.memory.postgres.filters import DIALECT, conditions
from claw.memory.postgres.server import Connection, Server
from claw.memory.search.entries import (
    LARGEST,
    FilteredMemory,
    Found,
    check_key,
)
from claw.memory.search.filters import select_forgotten, where
from claw.memory.search.ranking import knows
from claw.memory.search.scoring import MEASURED, Weights

if TYPE_CHECKING:
    from claw.memory.settings import MemorySettings

T = TypeVar("T")
List = builtins.list  # the class has a method of that name
_EMBEDDED_AT_ONCE = 64
_KEYS_AT_ONCE = 5000


def _quiet(_: str) -> None:
    return None


class _Ready(Value):
    """What the first call found: the table, and where vectors go."""

    shape: table.Shape
    space: vectors.Space | None = None


class PostgresMemory(FilteredMemory):
    """Memory in a table of PostgreSQL. Thread-safe."""

    is_remote = True  # `claw status` asks nobody over a network

    def __init__(self, server: Server, names: table.Table, *,
                 readonly: bool = False, namespace: str = "default",
                 embedder: EmbeddingProvider | None = None,
                 weights: Weights = MEASURED,
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
                   weights=Weights(settings_.vector_weight,
                                   settings_.keyword_weight,
                                   settings_.merge), notify=notify)

    @property
    def name(self) -> str:
        return "postgres"

    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        check_key(key)
        ready = self._writable()
        stored = self._write(lambda connection: rows.upsert(
            connection, self._table, key, content, category, session_id,
            namespace=self._namespace, now=self._clock(), source=source,
            forget=_forgets(ready.shape)))
        if ready.space is not None and content.strip():
            try:  # the memory is stored; its vector can follow later
                self._keep(ready.space, [
                    (stored, ready.space.embedder.embed_one(content))])
            except ClawError as error:
                self._complain("stored without its meaning, which claw "
                               f"memory reindex adds: {describe(error)}")

    def get(self, key: str) -> MemoryEntry | None:
        found = self._select("WHERE memories.key = %s", [escape(key)])
        return found[0] if found else None

    def list(self, category: str | None = None,
             session_id: str | None = None) -> List[MemoryEntry]:
        return self._newest(Filters(category, session_id), None)

    def page(self, filters: Filters, limit: int, offset: int
             ) -> tuple[List[MemoryEntry], int]:
        found, values = conditions(filters)
        total = self._number(f"SELECT count(*) FROM {{}}{where(found)}",
                             values)
        return self._newest(filters, min(max(limit, 0), LARGEST),
                            min(max(offset, 0), LARGEST)), total

    def with_prefix(self, prefix: str, limit: int) -> List[MemoryEntry]:
        return self._select(
            'WHERE memories.key COLLATE "C" LIKE %s'
            ' ORDER BY memories.key COLLATE "C" LIMIT %s',
            [recall.pattern(prefix, ""), min(max(limit, 0), LARGEST)])

    def stats(self) -> dict[str, int]:
        shape = self._ready().shape
        return self._read(lambda connection: {
            unescape(category): count for category, count
            in connection.execute(
                f"SELECT category, count(*) FROM {shape.rows}"
                " GROUP BY category ORDER BY count(*) DESC, category")}, {})

    def forget(self, key: str) -> bool:
        self._writable()
        return self._write(lambda connection: connection.execute(
            f"DELETE FROM {self._table.quoted} WHERE key = %s",
            (escape(key),)).rowcount) > 0

    def forget_where(self, category: str | None, older_than: str | None,
                     keys: Sequence[str] | None = None) -> int:
        found, values = select_forgotten(category, older_than, keys, DIALECT)
        self._writable()

        def delete(connection: Connection) -> int:
            statement = f"DELETE FROM {self._table.quoted}"
            if keys is None:
                return connection.execute(statement + where(found),
                                          values).rowcount
            statement += where([*found, "key = ANY(%s)"])
            return sum(connection.execute(statement, [*values, [
                escape(key) for key in keys[at:at + _KEYS_AT_ONCE]]]).rowcount
                for at in range(0, len(keys), _KEYS_AT_ONCE))
        return self._write(delete)

    def expire(self, category: str, older_than: str, *,
               kept_at: str | None, dry: bool = False) -> int:
        found, values = select_forgotten(category, older_than, None, DIALECT)
        found = [*found, "kept_by IS NULL",
                 found[-1].replace("updated_at", "arrived_at")]
        values = [*values, values[-1]]
        if dry:
            return self._number(f"SELECT count(*) FROM {{}}{where(found)}",
                                values)
        self._writable()
        return self._write(lambda connection: connection.execute(
            f"DELETE FROM {self._table.quoted}{where(found)}",
            values).rowcount)

    def pin(self, keys: Sequence[str] | None, category: str | None, *,
            on: bool) -> List[str]:
        self._writable()
        chosen = "category = %s" if keys is None else "key = ANY(%s)"
        given: Any = (escape(category or "") if keys is None
                      else [escape(key) for key in keys])
        found = self._write(lambda connection: connection.execute(
            f"UPDATE {self._table.quoted} SET kept_by = %s WHERE {chosen}"
            " RETURNING key", ("pin" if on else None, given)).fetchall())
        there = [unescape(key) for key, in found]
        return there if keys is None else [key for key in keys
                                           if key in set(there)]

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
        shape = self._ready().shape

        def read(connection: Connection) -> rows.Batch:
            return rows.all_entries(connection, shape.rows, after)

        nothing: rows.Batch = ([], None)
        while (found := self._read(read, nothing))[0]:
            yield from found[0]
            after = found[1]

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
        if space is None:
            return 0

        def read(connection: Connection) -> List[tuple[int, str, str]]:
            return vectors.next_missing(connection, self._table, space, last,
                                        _EMBEDDED_AT_ONCE)

        nothing: List[tuple[int, str, str]] = []
        while batch := self._read(read, nothing):
            made = space.embedder.embed([text for _, _, text in batch])
            done += self._keep(space, [
                (id_, vector) for (_, id_, _), vector
                in zip(batch, made, strict=True)])
            last = batch[-1][0]
            progress(done)
        return done

    def check(self) -> List[MemoryCheck]:
        ready = self._ready()
        return self._read(lambda connection: check.check_table(
            connection, ready.shape, ready.space),
            [check.report_absent(self._table)])

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
                with self._server.connect_alone() as connection:
                    self._known = self._prepare(connection)
            return self._known

    def _prepare(self, connection: Connection) -> _Ready:
        if self._readonly:
            shape = table.look(connection, self._table)
            space = (vectors.find_space(connection, shape, self._embedder)
                     if self._embedder else None)
            return _Ready(shape, space)
        table.ensure(connection, self._table)
        space = (vectors.ensure(connection, self._table, self._embedder,
                                self._notify) if self._embedder else None)
        return _Ready(table.look(connection, self._table), space)

    def _writable(self) -> _Ready:
        if self._readonly:
            raise StorageError(
                f"{self._server.place.table} is open for reading only")
        return self._ready()

    def _embed_query(self, ready: _Ready, query: str
                     ) -> vectors.QueryEmbedding | None:
        space = ready.space
        if space is None or not knows(space.embedder, query):
            return None
        try:
            vector = space.text(space.embedder.embed_one(query))
        except ClawError as error:
            self._complain(f"only words are compared: {describe(error)}")
            return None
        return vectors.QueryEmbedding(space, vector, self._weights)

    def _complain(self, text: str) -> None:
        """Once: every memory would tell the same."""
        if not self._has_complained:
            self._has_complained = True
            self._notify(text)

    def _keep(self, space: vectors.Space,
              made: Sequence[tuple[str, Any]]) -> int:
        return self._write(lambda connection: vectors.keep(
            connection, self._table, space, made))

    def _search(self, query: str, limit: int, filters: Filters) -> Found:
        conditions(filters)  # refused before anything is asked
        ready = self._ready()
        embedding = self._embed_query(ready, query)

        def search(connection: Connection) -> Found:
            hits = recall.search(connection, ready.shape, query, limit,
                                 filters, embedding)
            held = rows.by_rid(connection, ready.shape.rows,
                               [hit.rid for hit in hits])
            return [hit.explain(held[hit.rid]) for hit in hits
                    if hit.rid in held]
        return self._read(search, [])

    def _newest(self, filters: Filters, limit: int | None,
                offset: int = 0) -> List[MemoryEntry]:
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
            rows.read_entry(row) for row in connection.execute(
                f"SELECT {rows.SELECTED} FROM {shape.rows} {clause}",
                values)], [])

    def _read(self, work: Callable[[Connection], T], otherwise: T) -> T:
        """What `work` gives, `otherwise` where there is no table."""
        if not self._ready().shape.exists:
            return otherwise
        with self._watch_table():
            return self._server.read(work)

    def _write(self, work: Callable[[Connection], T], *,
               repeatable: bool = True) -> T:
        with self._watch_table():
            return self._server.write(work, repeatable=repeatable)

    @contextmanager
    def _watch_table(self) -> Iterator[None]:
        """A table that was dropped is looked for anew."""
        try:
            yield
        except TableGoneError:
            self._known = None
            raise


def _forgets(shape: table.Shape) -> str:
    """What a new text empties: its vector, where the table keeps any."""
    return vectors.FORGET if "meaning_model" in shape.columns else ""
