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
from claw.core.value import replace
from claw.memory import times
from claw.memory.lucid.command import LucidTool, settings_from
from claw.memory.lucid.output import choose_type, memories, merge_foreign
from claw.memory.search.ranking import is_blank
from claw.memory.sqlite.backend import SqliteMemory

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
            self._tool.store(f"{key}: {content}", choose_type(category))

    def explain(self, query: str, limit: int, filters: Filters
                ) -> list[tuple[MemoryEntry, Explanation]]:
        local = super().explain(query, limit, filters)
        tool = self._tool
        # It knows nothing of sessions and times, and has no newest.
        is_narrow = is_blank(query) or replace(
            filters, category=None) != Filters()
        if (tool is None or limit <= 0 or is_narrow
                or len(local) >= min(limit, tool.settings.local_hit_threshold)
                or tool.is_resting()):
            return local
        output = tool.context(query)
        if output is None:
            return local
        return merge_foreign(local, (
            (found, why) for found, why in memories(output, times.now())
            if filters.category in (None, found.category)), limit)

    def close(self) -> None:
        super().close()
        if self._tool is not None:
            self._tool.close()
