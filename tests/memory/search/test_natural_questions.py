"""What people ask finds what they noted, above the agent's threshold; what
has nothing to do with any memory stays below it."""

from pathlib import Path

import pytest

from claw.memory.settings import MemorySettings
from claw.memory.sqlite.ephemeral import EphemeralMemory

from .questions import ALL

THRESHOLD = MemorySettings().min_relevance_score
MIXED = {f"{language} {key}": value for language, (pool, _) in ALL.items()
         for key, value in list(pool.items())[:8] if key != "report_file"}
ELSEWHERE = [question for _, others in ALL.values() for question in others]
POOLS = {**ALL, "mixed": (MIXED, ELSEWHERE)}
CASES = [(name, size) for name, (pool, _) in POOLS.items()
         for size in (1, 3, 10, 30) if size <= len(pool)]


def stores(name, size):
    """For each memory of a pool: a store that holds it and others."""
    pool, _ = POOLS[name]
    keys = list(pool)
    for start, key in enumerate(keys):
        memory = EphemeralMemory.open(Path(), MemorySettings())
        for step in range(size):
            number = (start + 7 * step) % len(keys)
            # Keys of their own would give answers away.
            memory.store(f"m{number}", pool[keys[number]][0])
        assert memory.count() == size
        yield memory, f"m{start}", pool[key][1]
        memory.close()


@pytest.mark.parametrize(("name", "size"), CASES)
def test_a_natural_question_finds_its_memory_first(name, size):
    missed = []
    for memory, key, questions in stores(name, size):
        for question in questions:
            best = next(iter(memory.recall(question)), None)
            if best is None or best.key != key or best.score < THRESHOLD:
                missed.append((question, best and (best.content, best.score)))

    assert missed == []


@pytest.mark.parametrize(("name", "size"), CASES)
def test_an_unrelated_question_stays_below_the_threshold(name, size):
    found = [(question, best.content, best.score)
             for memory, _, _ in stores(name, size)
             for question in POOLS[name][1]
             for best in memory.recall(question, 1)
             if best.score >= THRESHOLD]

    assert found == []
