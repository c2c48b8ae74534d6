"""A memory that is opened when it is first used.

Reading opens it for reading only, so that a question creates nothing on
disk; the first write opens it again for writing. Turns may use it from
several threads.
"""

import threading
from collections.abc import Callable

from claw.core.memory import CORE, ClosesMemory, Memory, MemoryEntry

Open = Callable[[bool], Memory]


class OnDemandMemory(Memory):
    """`open_memory(readonly)` is called at most once for each way."""

    def __init__(self, name: str, open_memory: Open) -> None:
        self._name = name
        self._open = open_memory
        self._reader: Memory | None = None
        self._writer: Memory | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    def store(self, key: str, content: str, category: str = CORE,
              session_id: str | None = None) -> None:
        self._for_writing().store(key, content, category, session_id)

    def recall(self, query: str, limit: int = 5,
               session_id: str | None = None, since: str | None = None,
               until: str | None = None) -> list[MemoryEntry]:
        return self._for_reading().recall(query, limit, session_id, since,
                                          until)

    def get(self, key: str) -> MemoryEntry | None:
        return self._for_reading().get(key)

    def list(self, category: str | None = None,
             session_id: str | None = None) -> list[MemoryEntry]:
        return self._for_reading().list(category, session_id)

    def forget(self, key: str) -> bool:
        if self._writer is None and self.get(key) is None:
            return False
        return self._for_writing().forget(key)

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
