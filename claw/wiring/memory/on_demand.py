"""A memory that is opened when it is first used.

Reading opens it for reading only, so that a question creates nothing on
disk; the first write opens it again for writing. Turns may use it from
several threads.

What a backend can do beyond the contract (keep a source, keep versions,
recall by filters) its class says before it is open: `on_demand` gives a
memory that has just these abilities, so that isinstance tells the truth.
"""

import threading
from collections.abc import Callable
from typing import Any

from claw.core.errors import UsageError
from claw.core.memory import (
    CORE,
    ClosesMemory,
    Filters,
    KeepsVersions,
    Memory,
    MemoryEntry,
    RecallsFiltered,
    Source,
    Version,
    store_with,
)

Open = Callable[[bool], Memory]
Clean = Callable[[str], str]


class OnDemandMemory(Memory):
    """`open_memory(readonly)` is called at most once for each way.

    Keeps the source of a memory where the backend can, and the memory
    without it where it can't. Keys and texts are kept as `clean` gives
    them back, and found under either key.
    """

    def __init__(self, name: str, open_memory: Open, clean: Clean) -> None:
        self._name = name
        self._open = open_memory
        self._clean = clean
        self._reader: Memory | None = None
        self._writer: Memory | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    def store(self, key: str, content: str, category: str = CORE,
              session_id: str | None = None) -> None:
        self._for_writing().store(self._clean(key), self._clean(content),
                                  category, session_id)

    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        store_with(self._for_writing(), self._clean(key),
                   self._clean(content), category, session_id, source)

    def recall(self, query: str, limit: int = 5,
               session_id: str | None = None, since: str | None = None,
               until: str | None = None) -> list[MemoryEntry]:
        return self._for_reading().recall(query, limit, session_id, since,
                                          until)

    def get(self, key: str) -> MemoryEntry | None:
        return self._for_reading().get(self._clean(key))

    def list(self, category: str | None = None,
             session_id: str | None = None) -> list[MemoryEntry]:
        return self._for_reading().list(category, session_id)

    def forget(self, key: str) -> bool:
        if self._writer is None and self.get(key) is None:
            return False
        return self._for_writing().forget(self._clean(key))

    def count(self) -> int:
        return self._for_reading().count()

    def health_check(self) -> bool:
        return self._for_reading().health_check()

    def close(self) -> None:
        for memory in (self._reader, self._writer):
            if isinstance(memory, ClosesMemory):
                memory.close()
        self._reader = self._writer = None

    def _for_reading(self) -> Memory:
        with self._lock:
            if self._writer is not None:
                return self._writer
            if self._reader is None:
                self._reader = self._open(True)
            return self._reader

    def _for_writing(self) -> Memory:
        with self._lock:
            if self._writer is None:
                self._writer = self._open(False)
            return self._writer


class _Filtered(OnDemandMemory):
    """RecallsFiltered."""

    def recall_filtered(self, query: str, limit: int,
                        filters: Filters) -> list[MemoryEntry]:
        memory = self._for_reading()
        if not isinstance(memory, RecallsFiltered):
            raise _lacks(self, "filter what it recalls")
        return memory.recall_filtered(query, limit, filters)


class _Versioned(OnDemandMemory):
    """KeepsVersions."""

    def history(self, key: str) -> list[Version]:
        return self._versions(self._for_reading()).history(
            self._clean(key))

    def undo(self, key: str) -> MemoryEntry | None:
        return self._versions(self._for_writing()).undo(self._clean(key))

    def supersede(self, key: str, by: str) -> bool:
        return self._versions(self._for_writing()).supersede(
            self._clean(key), self._clean(by))

    def _versions(self, memory: Memory) -> KeepsVersions:
        if not isinstance(memory, KeepsVersions):
            raise _lacks(self, "keep what memories were")
        return memory


# protocol -> what forwards it
_ABILITIES: tuple[tuple[type[Any], type[OnDemandMemory]], ...] = (
    (RecallsFiltered, _Filtered), (KeepsVersions, _Versioned))


def on_demand(name: str, open_memory: Open, plug_in: object,
              clean: Clean = str) -> OnDemandMemory:
    """A memory that is opened when it is first used, and can do what its
    plug-in (the class that the registry names) can."""
    able = [forwards for protocol, forwards in _ABILITIES
            if isinstance(plug_in, type) and issubclass(plug_in, protocol)]
    kind = type("OnDemandMemory", (*able, OnDemandMemory), {})
    memory: OnDemandMemory = kind(name, open_memory, clean)
    return memory


def _lacks(memory: Memory, what: str) -> UsageError:
    return UsageError(f'the memory backend "{memory.name}" can\'t {what}',
                      hint="claw config set memory.backend sqlite")
