"""Memory: the contract of the agent's long-term store.

Plain and synchronous: the agent puts it on a thread, commands call it as it
is. All members are required; what only some stores can do is a small
protocol of its own, asked for with isinstance.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from claw.core.value import Value

CORE = "core"
DAILY = "daily"
CONVERSATION = "conversation"


class MemoryEntry(Value):
    """One memory.

    `category` is core (lasting facts), daily (journal), conversation (what
    was said) or any other word. Times are RFC 3339 in UTC. `score` is in
    [0, 1] and set by recall of a query only; get and list leave it None.
    """

    id: str
    key: str
    content: str
    category: str
    created_at: str
    updated_at: str
    session_id: str | None = None
    score: float | None = None
    sender: str | None = None
    namespace: str = "default"
    importance: float | None = None
    superseded_by: str | None = None

    @property
    def timestamp(self) -> str:
        """The seeds' name for the time of creation."""
        return self.created_at

    def to_json(self) -> dict[str, Any]:
        """The shape of CLI.md."""
        return {"id": self.id, "key": self.key, "content": self.content,
                "category": self.category, "session_id": self.session_id,
                "sender": self.sender, "score": self.score,
                "created_at": self.created_at, "updated_at": self.updated_at}


class Memory(ABC):
    """A long-term store. Raises StorageError where the disk or the store
    fails, UsageError for a key or content it can't take (empty key)."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The backend's registered name."""

    @abstractmethod
    def store(self, key: str, content: str, category: str = CORE,
              session_id: str | None = None) -> None:
        """Write or overwrite the memory under `key`."""

    @abstractmethod
    def recall(self, query: str, limit: int = 5,
               session_id: str | None = None, since: str | None = None,
               until: str | None = None) -> list[MemoryEntry]:
        """The best matches, best first; a blank query or "*" gives the
        newest. With `session_id`: that session's memories and those
        without one. `since` and `until` (RFC 3339) bound created_at,
        both inclusive."""

    @abstractmethod
    def get(self, key: str) -> MemoryEntry | None:
        """The memory under exactly this key."""

    @abstractmethod
    def list(self, category: str | None = None,
             session_id: str | None = None) -> list[MemoryEntry]:
        """All memories, newest update first."""

    @abstractmethod
    def forget(self, key: str) -> bool:
        """Remove; whether there was something to remove."""

    @abstractmethod
    def count(self) -> int:
        """How many memories there are."""

    @abstractmethod
    def health_check(self) -> bool:
        """Whether the store can be read now."""


class Filters(Value):
    """What a recall or listing is narrowed to; None does not narrow."""

    category: str | None = None
    session_id: str | None = None
    since: str | None = None
    until: str | None = None


class Explanation(Value):
    """How a score came about: parts by name (e.g. bm25, coverage)."""

    key: str
    score: float
    parts: dict[str, float | str]


@runtime_checkable
class RecallsFiltered(Protocol):
    """Recall narrowed inside the query."""

    def recall_filtered(self, query: str, limit: int,
                        filters: Filters) -> list[MemoryEntry]:
        """Like recall, with every filter applied before the cut."""


@runtime_checkable
class ExplainsRecall(Protocol):
    """Says how each score was made."""

    def explain(self, query: str, limit: int, filters: Filters
                ) -> list[tuple[MemoryEntry, Explanation]]: ...


@runtime_checkable
class PagesMemories(Protocol):
    """Listing that does not read everything."""

    def page(self, filters: Filters, limit: int, offset: int
             ) -> tuple[list[MemoryEntry], int]:
        """One page, newest update first, and the total."""

    def with_prefix(self, prefix: str, limit: int) -> list[MemoryEntry]:
        """Memories whose key starts with `prefix`, by key."""

    def stats(self) -> dict[str, int]:
        """Number of memories by category, largest first."""


@runtime_checkable
class RestoresMemories(Protocol):
    """Bulk writing that keeps ids, times and sessions."""

    def entries(self) -> Iterator[MemoryEntry]:
        """Every memory, oldest first, without loading all at once."""

    def restore(self, entries: Iterable[MemoryEntry], *,
                overwrite: bool) -> int:
        """Write the entries as they are, by key, in one transaction;
        returns how many were written. Without `overwrite` an existing key
        is left alone."""


@runtime_checkable
class ForgetsMany(Protocol):
    """Removal by rule."""

    def forget_where(self, category: str | None, older_than: str | None,
                     keys: Sequence[str] | None = None) -> int:
        """Remove what matches all that is given (updated_at before
        `older_than`, RFC 3339); returns how many."""


@runtime_checkable
class ClosesMemory(Protocol):
    """Holds something open (a file, a pool)."""

    def close(self) -> None: ...


class Inspection(Value):
    """One thing that was looked at: a stable word, and what was seen.

    `hint` is the next step where `ok` is false.
    """

    id: str
    ok: bool
    detail: str
    hint: str | None = None


@runtime_checkable
class InspectsMemory(Protocol):
    """Can be looked over without changing anything."""

    def inspect(self) -> list[Inspection]:
        """Integrity of what is stored and of its index."""

    def reindex(self) -> int:
        """Make the search index anew; how many memories it holds."""
