"""The default memory: one SQLite file, workspace/memory/brain.db.

Words are found through FTS5 over segmented text (schema.py), ranked in
recall.py, opened and recovered in recovery.py. One connection under a
lock, so calls may come from any thread.
"""

import builtins
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claw.core.embedding import EmbeddingProvider
from claw.core.errors import ClawError, UsageError
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
    Version,
)
from claw.core.registry import load_dotted
from claw.memory import recall, recovery, rows, times
from claw.memory.filters import bound, conditions, where
from claw.memory.recall import Meaning
from claw.memory.sqlite_store import SqliteStore
from claw.text.segment import clean

if TYPE_CHECKING:
    from claw.memory.meaning import Embedded
    from claw.memory.settings import MemorySettings
    from claw.memory.statistics import Statistics

List = builtins.list  # the class has a method of that name
FILE = Path("memory", "brain.db")
SNAPSHOT = "MEMORY_SNAPSHOT.md"
_LARGEST = 2**31 - 1

# Loaded when they are needed: few commands need any.
_EMBEDDED = "claw.memory.meaning:Embedded"
_PAST = "claw.memory.past:search"
_VERSIONS = "claw.memory.versions:"
_INSPECT = "claw.memory.inspection:inspect"
_REPAIR = "claw.memory.mending:repair"
_STATISTICS = "claw.memory.statistics:of_connection"
_TENDING = "claw.memory.tending:SqliteTending"
_POLICY = "claw.memory.policy:check"
_late = load_dotted


def _quiet(_: str) -> None:
    return None


class SqliteMemory(SqliteStore, Memory):
    """Memory in an SQLite file."""

    def __init__(self, connection: sqlite3.Connection, path: Path,
                 settings: "MemorySettings", *, readonly: bool = False,
                 clock: Callable[[], str] = times.now,
                 brain: recovery.Brain | None = None,
                 notify: Callable[[str], None] = _quiet,
                 embedder: EmbeddingProvider | None = None) -> None:
        super().__init__(connection, path, readonly=readonly, brain=brain)
        self._settings = settings
        self._clock = clock
        self._embedded: Embedded | None = None
        if embedder is not None:
            self._embedded = _late(_EMBEDDED)(
                embedder, connection, self._read, self._write,
                weights=(settings.vector_weight, settings.keyword_weight),
                cache_size=settings.embedding_cache_size, notify=notify,
                readonly=readonly)

    @classmethod
    def open(cls, workspace: Path, settings: "MemorySettings", *,
             readonly: bool = False,
             notify: Callable[[str], None] = _quiet,
             deps: MemoryDeps = NO_DEPS) -> "SqliteMemory":
        """The memory of a workspace; created or recovered as needed.

        With `readonly` an absent store is an empty one and nothing is
        created, but for recovery from the snapshot. Raises StorageError.
        """
        path = workspace / FILE
        brain = recovery.Brain(
            path, workspace / SNAPSHOT if settings.auto_hydrate else None,
            settings.sqlite_open_timeout_secs, notify)
        opener = recovery.open_reader if readonly else recovery.open_writer
        connection = opener(brain)
        try:
            return cls(connection, path, settings, readonly=readonly,
                       brain=brain, notify=notify, embedder=deps.embedder)
        except BaseException:  # settings that can't be
            connection.close()
            raise

    @property
    def name(self) -> str:
        return "sqlite"

    def store(self, key: str, content: str, category: str = CORE,
              session_id: str | None = None) -> None:
        self.store_from(key, content, category, session_id, NO_SOURCE)

    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        key, content = rows.checked_key(key), clean(content)
        session = None if session_id is None else clean(session_id)
        namespace = self._settings.default_namespace

        def written(connection: sqlite3.Connection) -> int:
            self._check_policy(connection, key, clean(category), namespace)
            return rows.upsert(connection, key, content, clean(category),
                               session, namespace=namespace,
                               now=self._clock(), source=source)
        rid = self._write(written)
        if self._embedded is not None:
            self._embedded.embed_row(rid, key, content)

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
        limit = min(limit, _LARGEST)
        if filters.as_of is not None:
            return self._read(lambda: _late(_PAST)(
                self._connection, query, limit, filters))
        if recall.is_blank(query):
            return [(found, Explanation(found.key, 0.0, {"method": "newest"}))
                    for found in self._newest(filters, limit, 0)]
        meaning = (self._embedded.question(query)
                   if self._embedded is not None else None)
        return self._read(lambda: self._found(query, limit, filters,
                                              meaning))

    def get(self, key: str) -> MemoryEntry | None:
        found = self._select("WHERE memories.key = ?", [clean(key)])
        return found[0] if found else None

    def list(self, category: str | None = None,
             session_id: str | None = None) -> List[MemoryEntry]:
        return self._newest(Filters(category, session_id), -1, 0)

    def page(self, filters: Filters, limit: int, offset: int
             ) -> tuple[List[MemoryEntry], int]:
        found, values = conditions(filters)
        total = self._read(lambda: self._connection.execute(
            f"SELECT count(*) FROM memories{where(found)}",
            values).fetchone()[0])
        entries = self._newest(filters, min(max(limit, 0), _LARGEST),
                               min(max(offset, 0), _LARGEST))
        return entries, total

    def with_prefix(self, prefix: str, limit: int) -> List[MemoryEntry]:
        start = clean(prefix)
        # No UTF-8 text begins with 0xFF, so this bound is above them all.
        return self._select(
            "WHERE memories.key >= ? AND memories.key < CAST(? AS TEXT)"
            " ORDER BY memories.key LIMIT ?",
            [start, start.encode() + b"\xff", min(limit, _LARGEST)])

    def stats(self) -> dict[str, int]:
        return dict(self._read(lambda: self._connection.execute(
            "SELECT category, count(*) FROM memories GROUP BY category"
            " ORDER BY count(*) DESC, category").fetchall()))

    def forget(self, key: str) -> bool:
        return self._write(lambda connection: rows.delete(
            connection, "key = ?", [clean(key)], now=self._end())) > 0

    def forget_where(self, category: str | None, older_than: str | None,
                     keys: Sequence[str] | None = None) -> int:
        if category is None and older_than is None and keys is None:
            raise UsageError("nothing was named to forget",
                             hint="name keys, a category or an age")
        conditions_, values = [], []
        if category is not None:
            conditions_.append("category = ?")
            values.append(clean(category))
        if older_than is not None:
            conditions_.append("updated_at < ?")
            values.append(bound("older_than", older_than))
        return self._write(lambda connection: _delete(
            connection, conditions_, values, keys, self._end()))

    def _end(self) -> str | None:
        """When what is forgotten now ended; None where it is not kept."""
        return (self._clock() if self._settings.undo_retention_days > 0
                else None)

    def count(self) -> int:
        total: int = self._read(lambda: self._connection.execute(
            "SELECT count(*) FROM memories").fetchone()[0])
        return total

    def health_check(self) -> bool:
        try:
            self._read(lambda: self._connection.execute(
                "SELECT 1 FROM memories LIMIT 1").fetchone())
        except ClawError:
            return False
        return True

    def entries(self) -> Iterator[MemoryEntry]:
        after = ("", 0)
        while True:
            batch, after = self._batch(after)
            if not batch:
                return
            yield from batch

    def restore(self, entries: Iterable[MemoryEntry], *,
                overwrite: bool) -> int:
        return self._write(lambda connection: rows.restore(
            connection, entries, overwrite=overwrite, now=self._clock()),
            repeatable=False)

    def inspect(self) -> List[Inspection]:
        """What SQLite and the index say of the file; reads only."""
        found: List[Inspection] = self._read(
            lambda: _late(_INSPECT)(self._connection))
        return found

    def reindex(self) -> int:
        """Write the word index anew; how many rows it holds."""
        return self._write(recovery.reindex)

    def repair(self) -> List[str]:
        """Mend what inspect finds and can be mended; what was done."""
        done: List[str] = self._write(_late(_REPAIR))
        return done

    def history(self, key: str) -> List[Version]:
        found: List[Version] = self._read(lambda: _late(_VERSIONS + "history")(
            self._connection, clean(key)))
        return found

    def undo(self, key: str) -> MemoryEntry | None:
        found: MemoryEntry | None = self._write(
            lambda connection: _late(_VERSIONS + "undo")(
                connection, clean(key), self._clock()))
        if self._embedded is not None and found is not None \
                and found.superseded_by is None:
            rid = self._read(lambda: self._connection.execute(
                "SELECT rid FROM memories WHERE key = ?",
                (found.key,)).fetchone())
            if rid is not None:
                self._embedded.embed_row(rid[0], found.key, found.content)
        return found

    def supersede(self, key: str, by: str) -> bool:
        done: bool = self._write(
            lambda connection: _late(_VERSIONS + "supersede")(
                connection, clean(key), clean(by), self._clock()))
        return done

    def purge(self, key: str) -> bool:
        done: bool = self._write(lambda connection: _late(
            _VERSIONS + "purge")(connection, clean(key)))
        return done

    def statistics(self) -> "Statistics":
        """The numbers of what is stored."""
        found: Statistics = self._read(
            lambda: _late(_STATISTICS)(self._connection))
        return found

    def tending(self) -> object:
        """What hygiene works with."""
        return _late(_TENDING)(self._connection, self._read, self._write)

    @property
    def embedder(self) -> EmbeddingProvider | None:
        return None if self._embedded is None else self._embedded.embedder

    def unembedded(self) -> int:
        return 0 if self._embedded is None else self._embedded.missing()

    def embed_missing(self, progress: Callable[[int], None]) -> int:
        return (0 if self._embedded is None
                else self._embedded.embed_missing(progress))

    def _check_policy(self, connection: sqlite3.Connection, key: str,
                      category: str, namespace: str) -> None:
        policy = self._settings.policy
        if policy.read_only_namespaces or policy.max_entries_per_namespace \
                or policy.max_entries_per_category:
            _late(_POLICY)(connection, policy, key, category, namespace)

    def _connected(self, connection: sqlite3.Connection) -> None:
        super()._connected(connection)
        if self._embedded is not None:
            self._embedded.connected(connection)

    def _batch(self, after: tuple[str, int]
               ) -> tuple[List[MemoryEntry], tuple[str, int]]:
        return self._read(lambda: rows.all_entries(self._connection, after))

    def _found(self, query: str, limit: int, filters: Filters,
               meaning: Meaning | None
               ) -> List[tuple[MemoryEntry, Explanation]]:
        hits = recall.search(self._connection, query, limit, filters,
                             meaning)
        held = rows.by_rid(self._connection, [hit.rid for hit in hits])
        return [(rows.scored(held[hit.rid], hit.score),
                 Explanation(held[hit.rid].key, hit.score, hit.parts))
                for hit in hits if hit.rid in held]

    def _newest(self, filters: Filters, limit: int, offset: int
                ) -> List[MemoryEntry]:
        found, values = conditions(filters)
        return self._select(
            f"{where(found)} ORDER BY memories.updated_at DESC,"
            " memories.rid DESC LIMIT ? OFFSET ?", [*values, limit, offset])

    def _select(self, clause: str, values: Sequence[Any]
                ) -> List[MemoryEntry]:
        return self._read(lambda: [
            rows.entry(row) for row in self._connection.execute(
                f"SELECT {rows.COLUMNS} FROM memories {clause}", values)])


def _delete(connection: sqlite3.Connection, found: list[str],
            values: list[Any], keys: Sequence[str] | None,
            now: str | None) -> int:
    if keys is None:
        return rows.delete(connection, " AND ".join(found), values, now=now)
    removed = 0
    for batch in rows.batches(map(clean, keys)):
        marks = ", ".join("?" * len(batch))
        removed += rows.delete(
            connection, " AND ".join([*found, f"key IN ({marks})"]),
            [*values, *batch], now=now)
    return removed
