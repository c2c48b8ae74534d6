"""Memory: the contract of the agent's long-term store.

Plain and synchronous: the agent puts it on a thread, commands call it as it
is. All members are required; what only some stores can do is a small
protocol of its own, asked for with isinstance.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

from claw.core.embedding import EmbeddingProvider
from claw.core.labels import describe_origin
from claw.core.value import Value, made

CORE = "core"
DAILY = "daily"
CONVERSATION = "conversation"

# The agent is not shown what scores less, unless the settings say otherwise.
MIN_RELEVANCE = 0.4


class MemoryEntry(Value):
    """One memory.

    `category` is core (lasting facts), daily (journal), conversation (what
    was said) or any other word. Times are RFC 3339 in UTC. `score` is in
    [0, 1] and set by recall of a query only; get and list leave it None.
    `sender` said it (None: the owner), `source` is the message it stood in,
    `origin` where foreign text in it comes from, as labels ("file,web";
    None: it is the owner's or the sender's own). `kept_by` is why hygiene
    never removes it: "import" (a person brought it) or "pin".
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
    source: str | None = None
    origin: str | None = None
    kept_by: str | None = None

    @property
    def timestamp(self) -> str:
        """The seeds' name for the time of creation."""
        return self.created_at

    def to_json(self) -> dict[str, Any]:
        """The shape of CLI.md; "origin" and "kept_by" where there is one."""
        more = {name: value for name, value in (
            ("origin", self.origin), ("kept_by", self.kept_by)) if value}
        return {"id": self.id, "key": self.key, "content": self.content,
                "category": self.category, "session_id": self.session_id,
                "sender": self.sender, "score": self.score,
                "created_at": self.created_at, "updated_at": self.updated_at,
                "source": self.source, **more}


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


class Rule(Value):
    """What a filter compares: a field of memories with its value.

    `sign` is "=", ">=" or "<=". `or_none`: memories without that field
    pass as well.
    """

    field: str
    sign: str
    or_none: bool = False


class Filters(Value):
    """What a recall or listing is narrowed to; None does not narrow.

    A new filter is a field with its Rule: stores derive the test from it.
    A session sees its own memories and those without one. `as_of`
    (RFC 3339) asks for what was known at that moment: memories changed,
    superseded or forgotten since then are as they were.
    """

    category: Annotated[str | None, Rule("category", "=")] = None
    session_id: Annotated[str | None, Rule("session_id", "=", True)] = None
    since: Annotated[str | None, Rule("created_at", ">=")] = None
    until: Annotated[str | None, Rule("created_at", "<=")] = None
    as_of: str | None = None


class Source(Value):
    """Where a memory comes from.

    `sender` is who said it: a channel's name of a person, "assistant" for
    the model's own words. `message` names the message it stood in, as
    "chat:-100123:4711", `origin` the labels of foreign text, as in
    MemoryEntry.
    """

    sender: str | None = None
    message: str | None = None
    origin: str | None = None


NO_SOURCE = Source()


class Version(Value):
    """One state of a memory and when it held.

    `valid_from` and `valid_until` are RFC 3339 in UTC; the state that holds
    now has no end. `ended_by` is "updated", "forgotten", "superseded",
    "purged" (by hygiene), "undone", "thinned" (updated, and states after it
    are not kept any more), or None for what holds now.
    """

    entry: MemoryEntry
    valid_from: str
    valid_until: str | None = None
    ended_by: str | None = None


class MemoryDeps(Value):
    """What a backend is given beside its place and the [memory] table.

    `embedder` is None where vectors are not configured. `storage` is the
    table [storage.provider.config], for backends that live elsewhere.
    """

    embedder: EmbeddingProvider | None = None
    storage: Mapping[str, Any] = made(factory=dict)


NO_DEPS = MemoryDeps()


class Explanation(Value):
    """How a score came about: parts by name (e.g. bm25, coverage).

    Stores with an index: confidence says how well the best rows answer at
    all, from the weight of the question's words that one of them holds
    (found), lacks (lacking), and that any rows would hold (by_chance).
    of_best is a row's rank value over the best row's: where confidence
    passes MIN_RELEVANCE, rows not far behind the best pass with it.
    """

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
class StoresSource(Protocol):
    """Keeps with a memory who said it and where."""

    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        """Like store."""


def store_with(memory: Memory, key: str, content: str, category: str,
               session_id: str | None, source: Source) -> None:
    """Store, with the source where the memory can keep one; where it can't,
    the text itself says at least where it comes from."""
    if isinstance(memory, StoresSource):
        memory.store_from(key, content, category, session_id, source)
        return
    origin = describe_origin(source.origin)
    memory.store(key, f"({origin}) {content}" if origin else content,
                 category, session_id)


@runtime_checkable
class KeepsVersions(Protocol):
    """Remembers what a memory was before."""

    def history(self, key: str) -> list[Version]:
        """Every state known of `key`, newest first."""

    def undo(self, key: str) -> MemoryEntry | None:
        """Take back the last change of `key`: what was forgotten is there
        again, what was overwritten or superseded holds again. The memory
        as it is now, None where there is nothing to take back."""

    def supersede(self, key: str, by: str) -> bool:
        """Let the memory `by` take the place of `key`, which is kept but
        found no longer; whether both were there."""


@runtime_checkable
class KnowsGaps(Protocol):
    """Knows what it does not keep of before."""

    def count_unknown(self, as_of: str) -> int:
        """How many memories there were at a moment (RFC 3339) of which is
        not known any more what they said then."""


class Purge(Value):
    """What one run of hygiene removed and undo can bring back: when
    (RFC 3339 in UTC), and how many memories of each category."""

    at: str
    categories: Mapping[str, int]

    @property
    def count(self) -> int:
        return sum(self.categories.values())


@runtime_checkable
class UndoesPurges(Protocol):
    """Keeps what hygiene removed."""

    def purges(self) -> list[Purge]:
        """Those that can be taken back, the latest first."""

    def undo_purge(self, at: str) -> int:
        """Bring all of one back, in one transaction; how many memories. A
        key that holds a memory again keeps it."""


@runtime_checkable
class PinsMemories(Protocol):
    """Can keep memories from hygiene."""

    def pin(self, keys: Sequence[str] | None, category: str | None, *,
            on: bool) -> list[str]:
        """Set or take `kept_by` of the memories under these keys, or of a
        whole category; the keys that there were."""


@runtime_checkable
class KeepsForGood(Protocol):
    """Can't forget: what is written stays written."""

    def why_kept(self, key: str) -> str | None:
        """Where a memory stands and why it stays; None where there is no
        such memory."""


@runtime_checkable
class ForgetsForGood(Protocol):
    """Removes without a way back."""

    def purge(self, key: str) -> bool:
        """Remove a memory and every earlier state of it; whether there
        was anything."""


@runtime_checkable
class FindsSenders(Protocol):
    """Knows who said what, also of what memories were."""

    def find_said_by(self, senders: Iterable[str]) -> list[str]:
        """The keys of memories, and of earlier states, that one of these
        people said."""


@runtime_checkable
class EmbedsMemories(Protocol):
    """Keeps vectors of its memories."""

    @property
    def embedder(self) -> EmbeddingProvider | None:
        """What makes the vectors; None where none is configured."""

    def unembedded(self) -> int:
        """How many memories have no vector of the configured model."""

    def embed_missing(self, progress: Callable[[int], None]) -> int:
        """Make the vectors that are missing, batch by batch, each kept at
        once; `progress` hears how many are done. Returns how many were
        made. Raises what the embedder raises."""


@runtime_checkable
class ClosesMemory(Protocol):
    """Holds something open (a file, a pool)."""

    def close(self) -> None: ...


class MemoryCheck(Value):
    """One thing that was checked: a stable word, and what was seen.

    `hint` is the next step where `ok` is false.
    """

    id: str
    ok: bool
    detail: str
    hint: str | None = None


@runtime_checkable
class ChecksMemory(Protocol):
    """Can be checked without changing anything."""

    def check(self) -> list[MemoryCheck]:
        """Integrity of what is stored and of its index."""

    def reindex(self) -> int:
        """Make the search index anew; how many memories it holds."""


@runtime_checkable
class RedactsMemories(Protocol):
    """Can take secrets out of what it holds already."""

    def count_redactable(self, clean: Callable[[str], str]) -> int:
        """How many memories and earlier states of memories have a key or a
        text that `clean` would change."""

    def redact(self, clean: Callable[[str], str]) -> int:
        """Put these as `clean` gives them back, without a way back; how
        many."""


@runtime_checkable
class RepairsMemory(Protocol):
    """Repairs itself."""

    def repair(self) -> list[str]:
        """Repair what `check` finds ill, where that can be done, in one
        transaction; a sentence about each thing done."""


def recall_all(memory: Memory, query: str, limit: int,
               sessions: Sequence[str | None], since: str | None = None,
               until: str | None = None) -> list[MemoryEntry]:
    """The best of several sessions, the newest of a blank query."""
    found = {entry.key: entry for session in dict.fromkeys(sessions)
             for entry in memory.recall(query, limit, session, since, until)}
    if len(sessions) == 1:
        return list(found.values())
    return sorted(found.values(), key=lambda entry: (
        1.0 if entry.score is None else entry.score, entry.updated_at),
        reverse=True)[:limit]
