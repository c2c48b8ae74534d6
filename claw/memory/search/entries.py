"""What every store does alike with its entries: keys, times, recall."""

import builtins
from abc import abstractmethod

from claw.core.errors import UsageError
from claw.core.memory import (
    CORE,
    NO_SOURCE,
    Explanation,
    Filters,
    Memory,
    MemoryEntry,
    Source,
)
from claw.memory import times
from claw.memory.search.ranking import is_blank
from claw.text.segment import clean

LARGEST = 2**30  # of limits and offsets
Found = builtins.list[tuple[MemoryEntry, Explanation]]


class FilteredMemory(Memory):
    """A store that keeps sources, narrows recall and explains scores."""

    @abstractmethod
    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        """Like store."""

    @abstractmethod
    def _newest(self, filters: Filters, limit: int
                ) -> builtins.list[MemoryEntry]:
        """The newest memories, newest first."""

    @abstractmethod
    def _search(self, query: str, limit: int, filters: Filters) -> Found:
        """The best matches of a query that is not blank."""

    def store(self, key: str, content: str, category: str = CORE,
              session_id: str | None = None) -> None:
        self.store_from(key, content, category, session_id, NO_SOURCE)

    def recall(self, query: str, limit: int = 5,
               session_id: str | None = None, since: str | None = None,
               until: str | None = None) -> builtins.list[MemoryEntry]:
        return self.recall_filtered(
            query, limit, Filters(None, session_id, since, until))

    def recall_filtered(self, query: str, limit: int,
                        filters: Filters) -> builtins.list[MemoryEntry]:
        return [found for found, _ in self.explain(query, limit, filters)]

    def explain(self, query: str, limit: int, filters: Filters) -> Found:
        """Like recall_filtered, with the parts of each score. The newest
        (a blank query) have no score and no parts."""
        if limit <= 0:
            return []
        limit = min(limit, LARGEST)
        return (list(map(explain_newest, self._newest(filters, limit)))
                if is_blank(query) else self._search(query, limit, filters))


def explain_newest(entry: MemoryEntry) -> tuple[MemoryEntry, Explanation]:
    """One of the newest, which no score put there."""
    return entry, Explanation(entry.key, 0.0, {"method": "newest"})


def check_key(key: str) -> str:
    """A key that can be stored. Raises UsageError for an empty one."""
    if not key:
        raise UsageError("a memory needs a key", hint="give it a name")
    return clean(key)


def read_times(entry: MemoryEntry, now: str) -> tuple[str, str]:
    """When an entry was made and last changed, in UTC; where one is
    missing the other stands for it, or `now`. Raises UsageError."""
    return (_read_time(entry, entry.created_at or entry.updated_at or now),
            _read_time(entry, entry.updated_at or entry.created_at or now))


def _read_time(entry: MemoryEntry, text: str) -> str:
    try:
        return times.to_utc(text)
    except ValueError as error:
        raise UsageError(
            f"memory {entry.key!r}: {text!r} is not a time",
            hint="write it like 2026-11-20T19:00:00Z") from error
