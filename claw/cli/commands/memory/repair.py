"""What `claw memory check --repair` does where the file itself is damaged:
a new brain.db takes over all that can be read of the old one, which is
kept aside.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from claw.cli.commands.memory.common import open_memory
from claw.cli.invocation import Invocation
from claw.core.errors import StorageError, UsageError
from claw.core.memory import Memory, MemoryEntry
from claw.memory.importers import Tally
from claw.memory.importers.guess import origins
from claw.memory.importers.migration import bring
from claw.memory.sqlite.backend import FILE
from claw.memory.sqlite.recovery import Brain, keep_damaged_aside
from claw.text.plural import memories
from claw.wiring.checks.memory import kept_aside
from claw.wiring.memory import backend_name

_OF_FILES = ("sqlite", "lucid")


def find_new_aside(run: Invocation, before: Iterable[Path]) -> Path | None:
    """The damaged file that was kept aside since."""
    new = set(kept_aside(run.places.workspace)) - set(before)
    return max(new, default=None)


def put_aside(run: Invocation, before: Iterable[Path]) -> Path | None:
    """Where a damaged brain.db is now; None where it is not the file that
    ails. Raises StorageError."""
    if backend_name(run.settings) not in _OF_FILES:
        return None
    return find_new_aside(run, before) or keep_damaged_aside(Brain(
        run.places.workspace / FILE, None, None, run.out.note))


def take_over(run: Invocation, aside: Path) -> list[str]:
    """Take over what can be read of a damaged file; a sentence about each
    thing done. Raises StorageError where the new file can't be written."""
    done = [f"the damaged file is kept as {aside}"]
    tally: Tally = Counter()
    with open_memory(run, readonly=False) as memory, \
            run.out.waiting("taking over the memories"):
        try:
            found = origins([str(aside)], "auto", run.places.workspace / FILE)
            written = bring(memory, found, tally,
                            partial(_skip_older, memory))
        except (StorageError, UsageError) as error:
            if str(aside) not in error.message:  # it is the new one
                raise
            run.out.warn(f"nothing could be taken over: {error.message}"
                         + (f" ({error.hint})" if error.hint else ""))
            return done
    return [*done, f"{memories(written)} taken over from it"]


def _skip_older(memory: Memory, entries: Iterable[MemoryEntry]
               ) -> Iterator[MemoryEntry]:
    """Without what the snapshot knew better: a later text, or another one
    of the same time, which damage may have changed."""
    for entry in entries:
        held = memory.get(entry.key)
        if held is None or held.updated_at < entry.updated_at or (
                held.updated_at == entry.updated_at
                and held.content == entry.content):
            yield entry
