"""The SQLite memory with a bridge to the external command `lucid`.

brain.db is what counts: a memory is stored there first, then handed to the
tool without waiting. Recall asks brain.db, and the tool only where fewer
than `local_hit_threshold` memories were found, it did not fail in the last
15 seconds, and the question is not narrowed to a session or a time: the
tool knows neither. Whatever goes wrong with it, the answer is ours alone.
Lists, counts, versions and all else are those of SQLite.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from claw.core.memory import (
    NO_DEPS,
    Explanation,
    Filters,
    MemoryDeps,
    MemoryEntry,
    Source,
)
from claw.memory import times
from claw.memory.lucid_output import memories, merged, type_of
from claw.memory.lucid_tool import LucidTool, settings_from
from claw.memory.sqlite import SqliteMemory

if TYPE_CHECKING:
    from claw.memory.settings import MemorySettings


class LucidMemory(SqliteMemory):
    """SQLite, and `lucid` where that finds too little. It is an
    SqliteMemory, so that it can do all that one can."""

    _tool: LucidTool | None = None

    @classmethod
    def open(cls, workspace: Path, settings: "MemorySettings", *,
             readonly: bool = False,
             notify: Callable[[str], None] = lambda _: None,
             deps: MemoryDeps = NO_DEPS) -> "LucidMemory":
        memory = super().open(workspace, settings, readonly=readonly,
                              notify=notify, deps=deps)
        assert isinstance(memory, LucidMemory)
        memory._tool = LucidTool(settings_from(os.environ, notify),
                                 workspace, os.environ)
        return memory

    @property
    def name(self) -> str:
        return "lucid"

    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        super().store_from(key, content, category, session_id, source)
        if self._tool is not None:
            self._tool.store(f"{key}: {content}", type_of(category))

    def explain(self, query: str, limit: int, filters: Filters
                ) -> list[tuple[MemoryEntry, Explanation]]:
        local = super().explain(query, limit, filters)
        tool = self._tool
        if (tool is None or limit <= 0 or _is_narrow(query, filters)
                or len(local) >= min(limit, tool.settings.local_hit_threshold)
                or tool.is_resting()):
            return local
        output = tool.context(query)
        if output is None:
            return local
        return merged(local, (
            (found, why) for found, why in memories(output, times.now())
            if filters.category in (None, found.category)), limit)

    def close(self) -> None:
        super().close()
        if self._tool is not None:
            self._tool.close()


def _is_narrow(query: str, filters: Filters) -> bool:
    """Whether the tool can't answer: it knows nothing of sessions and
    times, and has no newest."""
    return query.strip() in ("", "*") or any(
        bound is not None for bound in (
            filters.session_id, filters.since, filters.until, filters.as_of))
