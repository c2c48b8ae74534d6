"""No memory: every call succeeds and nothing is kept."""

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from claw.core.errors import UsageError
from claw.core.memory import CORE, NO_DEPS, Memory, MemoryDeps, MemoryEntry

if TYPE_CHECKING:
    from claw.memory.settings import MemorySettings


class NoneMemory(Memory):
    """Keeps nothing, always healthy."""

    @classmethod
    def open(cls, workspace: Path, settings: "MemorySettings", *,
             readonly: bool = False,
             notify: Callable[[str], None] = lambda _: None,
             deps: MemoryDeps = NO_DEPS) -> "NoneMemory":
        return cls()

    @property
    def name(self) -> str:
        return "none"

    def store(self, key: str, content: str, category: str = CORE,
              session_id: str | None = None) -> None:
        if not key:
            raise UsageError("a memory needs a key", hint="give it a name")

    def recall(self, query: str, limit: int = 5,
               session_id: str | None = None, since: str | None = None,
               until: str | None = None) -> builtins.list[MemoryEntry]:
        return []

    def get(self, key: str) -> MemoryEntry | None:
        return None

    def list(self, category: str | None = None,
             session_id: str | None = None) -> builtins.list[MemoryEntry]:
        return []

    def forget(self, key: str) -> bool:
        return False

    def count(self) -> int:
        return 0

    def health_check(self) -> bool:
        return True
