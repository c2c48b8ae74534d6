"""How long a search for contradictions may take in a hostile store."""

import time

from claw.agent.memory.conflicts.pairs import find_pairs
from claw.core.memory import MemoryEntry


def memory(key, text):
    at = "2026-01-01T00:00:00.000000Z"
    return MemoryEntry(f"id-{key}", key, text, "core", at, at, None)


def test_the_same_words_in_thousands_of_rows_do_not_take_their_square():
    def take_s(rows):
        found = [memory(f"never{n}", "I have never solved triangle "
                                     "equations") for n in range(rows)]
        found += [memory(f"done{n}", "I solved triangle equations")
                  for n in range(rows)]
        start = time.process_time()
        pairs = find_pairs(found)
        assert len(pairs) >= rows
        return time.process_time() - start

    # other work on the machine only adds, a square is 16 each time
    assert any(take_s(4_000) < 6 * take_s(1_000) for _ in range(3))
