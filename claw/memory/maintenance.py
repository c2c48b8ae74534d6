"""What hygiene does in a store, as small protocols.

Hygiene asks a memory for its maintenance, and that for these; a backend may
offer any of them, itself or by such an object.
"""

from typing import Protocol, runtime_checkable


@runtime_checkable
class ExpiresMemories(Protocol):
    """Removes by age."""

    def expire(self, category: str, older_than: str, *,
               kept_at: str | None, dry: bool = False) -> int:
        """Remove the memories of a category that were last changed, and
        came here, before a time (RFC 3339); how many. Those that have a
        `kept_by` stay. With `kept_at` they are one purge of that moment,
        for undo, where the store keeps any; without, they go for good.
        `dry` only counts."""


@runtime_checkable
class NotesArrivals(Protocol):
    """May hold memories that another program put there."""

    def note_arrivals(self, at: str) -> int:
        """Let what was not seen before have come at this moment (RFC
        3339); how many."""


@runtime_checkable
class PrunesVersions(Protocol):
    """Removes what memories were before."""

    def prune_versions(self, forgotten_before: str, ended_before: str, *,
                       dry: bool = False) -> int:
        """Remove the states that were forgotten before a time, with all
        that their keys said earlier, and other states that ended before
        another time; how many. `dry` only counts."""


@runtime_checkable
class ThinsVersions(Protocol):
    """Keeps so many states of a memory."""

    def thin_versions(self, most: int, *, dry: bool = False) -> int:
        """Remove the overwritten states that a key has beyond so many (1
        or more), as `store` does; how many. `dry` only counts."""


@runtime_checkable
class LimitsSize(Protocol):
    """Knows how large it is, and can be smaller."""

    def is_larger(self, limit_bytes: int) -> bool:
        """Whether it needs more than this; free space inside its file is
        left out."""

    def shed(self, limit_bytes: int, *, talk: int | None = None,
             dry: bool = False) -> dict[str, int]:
        """Where it is larger: remove kept vectors, which can be made
        again, then states of before as far as they take more than half,
        the oldest conversation without a `kept_by` (at most `talk`
        memories), and then all other states of before, until it is a tenth
        below. How many of each: "conversation", "versions", "cache". `dry`
        estimates."""

    def give_back(self, *, above: int | None = None) -> int:
        """Hand free space back to the disk, in bytes. A file larger than
        `above` may be written anew for it, where that is worth it and
        does not keep others from writing for long."""


@runtime_checkable
class HasMaintenance(Protocol):
    """Leaves its maintenance to another object."""

    def maintenance(self) -> object:
        """What has the methods of the protocols above."""
