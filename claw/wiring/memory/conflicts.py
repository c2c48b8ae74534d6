"""Memories that contradict each other: what `claw memory conflicts` and the
gateway's page share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claw.agent.memory.conflicts.pairs import Pair
from claw.agent.memory.conflicts.settled import (
    Ids,
    read_settled,
    write_settled,
)
from claw.core.memory import (
    Filters,
    Memory,
    MemoryEntry,
    PagesMemories,
    RestoresMemories,
)

_PAGE = 5_000


def read_newest(memory: Memory, rows: int, filters: Filters
                ) -> Iterator[MemoryEntry]:
    """The newest memories, a page at a time."""
    if not isinstance(memory, PagesMemories):
        yield from memory.list(filters.category, filters.session_id)[:rows]
        return
    for offset in range(0, rows, _PAGE):
        found, _ = memory.page(filters, min(_PAGE, rows - offset), offset)
        yield from found
        if len(found) < _PAGE:
            return


def pair_json(pair: Pair) -> dict[str, Any]:
    """The shape of `claw memory conflicts --json`."""
    return {"why": pair.why,
            "first": {**pair.newer.to_json(), "says": pair.newer_says},
            "second": {**pair.older.to_json(), "says": pair.older_says}}


def let_stand(workspace: Path, ids: Ids, forgotten: Ids) -> None:
    """Both of a pair hold: it is not shown again. Pairs of what is gone are
    dropped on the way."""
    write_settled(workspace, [
        *(kept for kept in read_settled(workspace)
          if kept.isdisjoint(forgotten) and kept != ids), ids])


def find_forgotten(memory: Memory, workspace: Path) -> Ids:
    """Of the memories that were let stand, those that are gone."""
    known = {one for ids in read_settled(workspace) for one in ids}
    if not known:
        return frozenset()
    entries = memory.entries() if isinstance(memory, RestoresMemories) \
        else memory.list()
    return frozenset(known.difference(entry.id for entry in entries))
