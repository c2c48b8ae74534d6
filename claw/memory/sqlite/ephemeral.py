"""A memory that lives as long as the process: SQLite without a file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from claw.core.memory import NO_DEPS, MemoryDeps
from claw.memory.sqlite import schema
from claw.memory.sqlite.backend import SqliteMemory
from claw.storage.sqlite import connect, write

if TYPE_CHECKING:
    from claw.memory.settings import MemorySettings


class EphemeralMemory(SqliteMemory):
    """The same search as `sqlite`, nothing on disk, gone at the end."""

    @classmethod
    def open(cls, workspace: Path, settings: "MemorySettings", *,
             readonly: bool = False,
             notify: Callable[[str], None] = lambda _: None,
             deps: MemoryDeps = NO_DEPS) -> "EphemeralMemory":
        connection = connect(":memory:")
        with write(connection, ":memory:"):
            schema.ensure(connection)
        return cls(connection, Path(":memory:"), settings, readonly=readonly,
                   notify=notify, embedder=deps.embedder)

    @property
    def name(self) -> str:
        return "ephemeral"
