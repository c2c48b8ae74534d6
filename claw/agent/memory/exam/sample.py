"""Which memories are asked for, and how rare their words are.

The sample is drawn by a hash of seed and key: the same memories come again
when the store has grown, so that two exams can be compared.
"""

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from claw.agent.memory.recall import keep_relevant
from claw.core.memory import MemoryEntry
from claw.core.value import replace
from claw.text.segment import stem_text

# Memories whose words are counted, beside those that are asked for.
_COUNTED = 1_000
# What is held and asked for of a long one.
CHARS = 4_000


class Sample(NamedTuple):
    """The memories of an exam: how many there are in all, how many of them
    no chat is ever shown (what programs wrote for themselves), and the
    sample with `rarity` of its stems, 0 to 1."""

    total: int
    hidden: int
    entries: list[MemoryEntry]
    rarity: dict[str, float]


def draw_sample(entries: Iterable[MemoryEntry], size: int, seed: int,
                passes: Callable[[MemoryEntry], bool]) -> Sample:
    """At most `size` of those that hold and pass; memory is bounded by the
    sample."""
    total = hidden = 0

    def candidates() -> Iterable[tuple[bytes, str, MemoryEntry]]:
        nonlocal total, hidden
        for entry in entries:
            if entry.superseded_by is not None or not passes(entry):
                continue
            total += 1
            if keep_relevant([entry], 0.0):
                yield _place(seed, entry.key), entry.key, (
                    entry if len(entry.content) <= CHARS
                    else replace(entry, content=entry.content[:CHARS]))
            else:
                hidden += 1

    # Keys are unique: entries are never compared.
    found = [entry for *_, entry in heapq.nsmallest(
        max(size, _COUNTED), candidates())]
    return Sample(total, hidden, found[:size], _count_words(found))


def _place(seed: int, key: str) -> bytes:
    return hashlib.blake2b(f"{seed}:{key}".encode("utf-8", "replace"),
                           digest_size=8).digest()


def _count_words(entries: list[MemoryEntry]) -> dict[str, float]:
    holders = Counter(stem for entry in entries for stem in set(
        stem_text(entry.content).split(" ")))
    whole = math.log(len(entries) + 2)
    return {stem: 1 - math.log(number + 1) / whole
            for stem, number in holders.items()}
