"""A memory in the workspace of a test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[Callable[..., SqliteMemory]]:
    """open_memory(readonly=..., notes=[...], **settings)."""
    opened: list[SqliteMemory] = []

    def call(*, readonly: bool = False, notes: list[str] | None = None,
             workspace: Path = tmp_path, **settings: object) -> SqliteMemory:
        opened.append(SqliteMemory.open(
            workspace, MemorySettings(**settings), readonly=readonly,
            notify=(notes if notes is not None else []).append))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[..., SqliteMemory]) -> SqliteMemory:
    return open_memory()
