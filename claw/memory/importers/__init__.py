"""Memories of other places, brought into this one.

`guess` says what a path holds, `database` and `markdown` read it,
`openclaw` and `reference` know the workspaces of those agents, `migration`
decides what becomes of each memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

from claw.core.memory import MemoryEntry
from claw.core.value import Value

# What became of the memories read: "read", "written", "renamed",
# "unchanged", "duplicates", "blank", "odd_times", "replaced".
Tally: TypeAlias = Counter[str]


class Origin(Value):
    """One thing to import.

    `kind` is ndjson, snapshot, database or markdown; `agent` is whose it
    is (claw, zeroclaw, openclaw), `name` what a person calls it. `total`
    is how many memories it holds where that is known; `share` how much of
    it is read, 0 to 1, where it can be told. With `aside` none of its
    memories is written over another.
    """

    kind: str
    agent: str
    name: str
    read: Callable[[Tally], Iterator[MemoryEntry]]
    total: int | None = None
    share: Callable[[], float] | None = None
    aside: bool = False

    @property
    def is_foreign(self) -> bool:
        """Whether another agent wrote it."""
        return self.agent != "claw"

    @property
    def steps_aside(self) -> bool:
        """Whether its memories take another key where theirs is taken by
        another text; the others are written over, by key."""
        return self.aside or self.agent == "openclaw"
