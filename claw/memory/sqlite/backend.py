"""The default memory: one SQLite file, workspace/memory/brain.db.

Words are found through FTS5 over segmented text (schema.py), ranked in
recall.py, opened and recovered in recovery.py. One connection under a
lock, so calls may come from any thread.
"""

import builtins
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claw.core.embedding import EmbeddingProvider
from claw.core.errors import ClawError, StorageError, UnavailableError
from claw.core.memory import (
    NO_DEPS,
    Filters,
    MemoryCheck,
    MemoryDeps,
    MemoryEntry,
    Purge,
    Source,
    Version,
)
from claw.memory import times
from claw.memory.search.entries import (
    LARGEST,
    FilteredMemory,
    Found,
    check_key,
)
from claw.memory.search.filters import conditions, select_forgotten, where
from claw.memory.search.scoring import Weights
from claw.memory.sqlite import recall, recovery, rows, schema, triggers
from claw.memory.sqlite.connection import SqliteStore
from claw.memory.sqlite.schema import read_number
from claw.storage.sqlite import connect, impatient
from claw.text.segment import clean

if TYPE_CHECKING:
    from claw.memory.settings import MemorySettings
    from claw.memory.sqlite.embedding import Embeddings
    from claw.memory.sqlite.statistics import Statistics

List = builtins.list  # the class has a method of that name
FILE = Path("memory", "brain.db")
SNAPSHOT = "MEMORY_SNAPSHOT.md"
_PAUSE_S = 1.0


def _quiet(_: str) -> None:
    return None


class SqliteMemory(SqliteStore, FilteredMemory):
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
        self._notify = notify
        self._looks_after = 0.0
        self._embeddings: "Embeddings | None" = None
        if embedder is not None:
            from claw.memory.sqlite.embedding import Embeddings
            self._embeddings = Embeddings(
                embedder, connection, self._read, self._write,
                weights=Weights(settings.vector_weight,
                                settings.keyword_weight, settings.merge),
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
            memory = cls(connection, path, settings, readonly=readonly,
                         brain=brain, notify=notify, embedder=deps.embedder)
            memory._watch()
        except BaseException:  # settings that can't be
            connection.close()
            raise
        return memory

    @property
    def name(self) -> str:
        return "sqlite"

    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        key, content = check_key(key), clean(content)
        session = None if session_id is None else clean(session_id)
        namespace = self._settings.default_namespace

        def write(connection: sqlite3.Connection) -> int:
            policy = self._settings.policy
            if policy.read_only_namespaces \
                    or policy.max_entries_per_namespace \
                    or policy.max_entries_per_category:
                from claw.memory.policy import check
                check(connection, policy, key, clean(category), namespace)
            return rows.upsert(connection, key, content, clean(category),
                               session, namespace=namespace,
                               now=self._clock(), source=source,
                               most_versions=self._settings.max_versions)
        rid = self._write(write)
        if self._embeddings is not None:
            self._embeddings.embed_row(rid, key, content)

    def explain(self, query: str, limit: int, filters: Filters) -> Found:
        self._look()
        if filters.as_of is None or limit <= 0:
            return super().explain(query, limit, filters)
        from claw.memory.sqlite.as_of import search
        return self._read(lambda: search(
            self._connection, query, min(limit, LARGEST), filters))

    def get(self, key: str) -> MemoryEntry | None:
        found = self._select("WHERE memories.key = ?", [clean(key)])
        return found[0] if found else None

    def list(self, category: str | None = None,
             session_id: str | None = None) -> List[MemoryEntry]:
        self._look()
        return self._newest(Filters(category, session_id), -1)

    def page(self, filters: Filters, limit: int, offset: int
             ) -> tuple[List[MemoryEntry], int]:
        self._look()
        found, values = conditions(filters)
        total = self._number(f"SELECT count(*) FROM memories{where(found)}",
                             *values)
        return self._newest(filters, min(max(limit, 0), LARGEST),
                            min(max(offset, 0), LARGEST)), total

    def with_prefix(self, prefix: str, limit: int) -> List[MemoryEntry]:
        start = clean(prefix)
        # No UTF-8 text begins with 0xFF, so this bound is above them all.
        return self._select(
            "WHERE memories.key >= ? AND memories.key < CAST(? AS TEXT)"
            " ORDER BY memories.key LIMIT ?",
            [start, start.encode() + b"\xff", min(limit, LARGEST)])

    def stats(self) -> dict[str, int]:
        return dict(self._read(lambda: self._connection.execute(
            "SELECT category, count(*) FROM memories GROUP BY category"
            " ORDER BY count(*) DESC, category").fetchall()))

    def forget(self, key: str) -> bool:
        return self._write(lambda connection: rows.delete(
            connection, "key = ?", [clean(key)], now=self._end())) > 0

    def forget_where(self, category: str | None, older_than: str | None,
                     keys: Sequence[str] | None = None) -> int:
        self._look()
        found, values = select_forgotten(category, older_than, keys)

        def delete(connection: sqlite3.Connection) -> int:
            now = self._end()
            if keys is None:
                return rows.delete(connection, " AND ".join(found), values,
                                   now=now)
            removed = 0
            for batch in rows.batches(map(clean, keys)):
                named = f"key IN ({', '.join('?' * len(batch))})"
                removed += rows.delete(
                    connection, " AND ".join([*found, named]),
                    [*values, *batch], now=now)
            return removed
        return self._write(delete)

    def _end(self) -> str | None:
        """When what is forgotten now ended; None where it is not kept."""
        return (self._clock() if self._settings.undo_retention_days > 0
                else None)

    def count(self) -> int:
        return self._number("SELECT count(*) FROM memories")

    def health_check(self) -> bool:
        try:
            self._read(lambda: self._connection.execute(
                "SELECT 1 FROM memories LIMIT 1").fetchone())
        except ClawError:
            return False
        return True

    def entries(self) -> Iterator[MemoryEntry]:
        self._look()
        after = ("", 0)

        def read() -> tuple[List[MemoryEntry], tuple[str, int]]:
            return rows.all_entries(self._connection, after)

        while (found := self._read(read))[0]:
            yield from found[0]
            after = found[1]

    def restore(self, entries: Iterable[MemoryEntry], *,
                overwrite: bool) -> int:
        return self._write(lambda connection: rows.restore(
            connection, entries, overwrite=overwrite, now=self._clock(),
            most_versions=self._settings.max_versions), repeatable=False)

    def check(self) -> List[MemoryCheck]:
        """What SQLite and the index say of the file; reads only."""
        from claw.memory.sqlite import check
        return self._read(lambda: check.check_brain(self._connection))

    def reindex(self) -> int:
        """Write the word index anew; how many rows it holds."""
        return self._write(recovery.reindex)

    def repair(self) -> List[str]:
        """Repair what check finds and can be repaired; what was done."""
        from claw.memory.sqlite import repair
        return self._write(repair.repair)

    def history(self, key: str) -> List[Version]:
        from claw.memory.sqlite import versions
        return self._read(
            lambda: versions.history(self._connection, clean(key)))

    def undo(self, key: str) -> MemoryEntry | None:
        from claw.memory.sqlite import versions
        found = self._write(lambda connection: versions.undo(
            connection, clean(key), self._clock()))
        if self._embeddings is not None and found is not None \
                and found.superseded_by is None:
            row = self._read(lambda: self._connection.execute(
                "SELECT rid FROM memories WHERE key = ?",
                (found.key,)).fetchone())
            if row is not None:
                self._embeddings.embed_row(row[0], found.key, found.content)
        return found

    def count_unknown(self, as_of: str) -> int:
        from claw.memory.sqlite.as_of import count_unknown
        return self._read(lambda: count_unknown(self._connection, as_of))

    def purges(self) -> List[Purge]:
        from claw.memory.sqlite import versions
        return self._read(lambda: versions.purges(self._connection))

    def undo_purge(self, at: str) -> int:
        from claw.memory.sqlite import versions
        return self._write(lambda connection: versions.undo_purge(
            connection, at, self._clock()))

    def pin(self, keys: Sequence[str] | None, category: str | None, *,
            on: bool) -> List[str]:
        return self._write(lambda connection: rows.pin(
            connection, keys, category, on=on))

    def supersede(self, key: str, by: str) -> bool:
        from claw.memory.sqlite import versions
        return self._write(lambda connection: versions.supersede(
            connection, clean(key), clean(by), self._clock()))

    def purge(self, key: str) -> bool:
        from claw.memory.sqlite import versions
        return self._write(
            lambda connection: versions.purge(connection, clean(key)))

    def find_said_by(self, senders: Iterable[str]) -> List[str]:
        people = list(senders)
        among = f"WHERE sender IN ({', '.join('?' * len(people))})"
        return self._read(lambda: [key for key, in self._connection.execute(
            f"SELECT key FROM memories {among} UNION"
            f" SELECT key FROM memory_versions {among}", people * 2)])

    def count_redactable(self, clean: Callable[[str], str]) -> int:
        from claw.memory.sqlite import redact
        return self._read(lambda: redact.count(self._connection, clean))

    def redact(self, clean: Callable[[str], str]) -> int:
        from claw.memory.sqlite import redact
        from claw.memory.sqlite.maintenance import vacuum
        changed = self._write(
            lambda connection: redact.redact(connection, clean))
        if changed:  # what earlier changes left in free pages and in the log
            self._read(lambda: vacuum(self._connection))
        return changed

    def statistics(self) -> "Statistics":
        """The numbers of what is stored."""
        from claw.memory.sqlite.statistics import count_rows
        return self._read(lambda: count_rows(self._connection))

    def maintenance(self) -> object:
        """What hygiene works with."""
        from claw.memory.sqlite.maintenance import SqliteMaintenance
        return SqliteMaintenance(self._connection, self._read, self._write)

    @property
    def embedder(self) -> EmbeddingProvider | None:
        return None if self._embeddings is None else self._embeddings.embedder

    def unembedded(self) -> int:
        return 0 if self._embeddings is None else self._embeddings.missing()

    def embed_missing(self, progress: Callable[[int], None]) -> int:
        return (0 if self._embeddings is None
                else self._embeddings.embed_missing(progress))

    def _reconnect(self, connection: sqlite3.Connection) -> None:
        super()._reconnect(connection)
        if self._embeddings is not None:
            self._embeddings.reconnect(connection)

    def _watch(self) -> None:
        """See to it that what other programs change is marked, and take up
        what they have changed."""
        if not self._readonly:
            with suppress(StorageError, UnavailableError), self._lock, \
                    impatient(self._connection):
                if not self._read(
                        lambda: triggers.is_watched(self._connection)):
                    self._write(triggers.watch)
        if self._read(lambda: triggers.has_changes(self._connection)):
            self._catch_up()

    def _look(self) -> None:
        """Take up what other programs wrote meanwhile, before words are
        searched and times compared: theirs may have any offset."""
        if time.monotonic() > self._looks_after and self._read(
                lambda: triggers.has_changes(self._connection)):
            self._catch_up()

    def _catch_up(self) -> None:
        """Index what other programs have changed since the last look."""
        if self._readonly:
            self._let_writer_catch_up()
            self._note_left()
            return
        from claw.memory.sqlite.foreign import catch_up
        texts = self._read(lambda: catch_up(
            self._connection, self._path, self._notify))
        if self._embeddings is not None:
            self._embeddings.embed_rows(texts)
        self._note_left()

    def _note_left(self) -> None:
        """One command does not wait for two parts of what is left."""
        if self._read(lambda: triggers.has_changes(self._connection)):
            self._looks_after = time.monotonic() + _PAUSE_S

    def _let_writer_catch_up(self) -> None:
        """A reader does it through a connection of its own, where the file
        may be written. Without a Brain that one repairs nothing; what it
        can't do now is done the next time."""
        if os.access(self._path, os.W_OK) \
                and os.access(self._path.parent, os.W_OK):
            with suppress(StorageError, UnavailableError), \
                    closing(connect(self._path)) as connection:
                if schema.state(connection) == "current":
                    SqliteMemory(connection, self._path, self._settings,
                                 notify=self._notify)._watch()

    def _search(self, query: str, limit: int, filters: Filters) -> Found:
        embedding = (self._embeddings.embed_query(query)
                     if self._embeddings is not None else None)

        def search() -> Found:
            hits = recall.search(self._connection, query, limit, filters,
                                 embedding)
            held = rows.by_rid(self._connection, [hit.rid for hit in hits])
            return [hit.explain(held[hit.rid]) for hit in hits
                    if hit.rid in held]
        return self._read(search)

    def _newest(self, filters: Filters, limit: int, offset: int = 0
                ) -> List[MemoryEntry]:
        found, values = conditions(filters)
        return self._select(
            f"{where(found)} ORDER BY memories.updated_at DESC,"
            " memories.rid DESC LIMIT ? OFFSET ?", [*values, limit, offset])

    def _select(self, clause: str, values: Sequence[Any]
                ) -> List[MemoryEntry]:
        return self._read(lambda: [
            rows.read_entry(row) for row in self._connection.execute(
                f"SELECT {rows.SELECTED} FROM memories {clause}", values)])

    def _number(self, query: str, *values: Any) -> int:
        return self._read(lambda: read_number(
            self._connection, query, *values))
