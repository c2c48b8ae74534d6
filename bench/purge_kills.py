"""kill -9 during imports, hygiene, undo and forgetting with proof, and what
is left afterwards.

    python bench/purge_kills.py [--kills 1000] [--seed 1]

In every round six processes work on one brain.db and are killed at a random
moment: one imports, one stores conversation, two run hygiene beside each
other, one brings purges back, and one stores a secret and forgets it with
proof; a second counts as four days, so that memories grow old, are announced
and removed meanwhile. Retention changes with every round, so that each
begins with an announcement. Then, of all that was acknowledged:

- what was imported is there, and an import is there whole or not at all
- what was said is there, or kept as purged
- nothing was removed younger than its retention
- nothing was removed within a day of the beginning of the round
- a secret that was forgotten is in no byte of the workspace; one that was
  being forgotten is there, or is so after the same is asked again
- every finding of `check` and FTS5's own integrity check agree.

Every 20 rounds begin with a new file. Exits 1 when anything was lost.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_kills import Report as Findings
from memory_kills import check_workspace

from claw.core.errors import ClawError, UnavailableError
from claw.core.memory import MemoryEntry
from claw.memory import times
from claw.memory.forgetting.order import read_order
from claw.memory.forgetting.prove import Proof, make_order, make_plan, prove
from claw.memory.hygiene.run import run as tidy
from claw.memory.hygiene.state import Uptime
from claw.memory.importers import Origin, Tally
from claw.memory.importers.migration import bring, keep
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory

NEW_FILE_EVERY = 20
SPEED = 4 * 86_400
IMPORTED = 120  # memories of one import
_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Place:
    """A workspace, its clock, and what its processes acknowledged."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.acknowledged = workspace.with_name(f"{workspace.name}.done")
        self._begun = time.time()

    def now(self) -> datetime:
        return _LONG_AGO + timedelta(
            seconds=SPEED * (time.time() - self._begun))

    @contextlib.contextmanager
    def open(self) -> Iterator[SqliteMemory]:
        """The memory, by this clock."""
        with contextlib.closing(SqliteMemory.open(
                self.workspace, MemorySettings())) as memory:
            memory._clock = lambda: times.canonical(self.now())
            yield memory

    def acknowledge(self, line: str) -> None:
        """Kept by the kernel though the process is killed then."""
        number = os.open(self.acknowledged,
                         os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(number, f"{line}\n".encode())
        os.close(number)

    def read(self, kind: str) -> list[str]:
        """What was acknowledged of a kind."""
        if not self.acknowledged.exists():
            return []
        return [name for line in self.acknowledged.read_text().splitlines()
                for word, _, name in [line.partition(" ")] if word == kind]


def bring_more(place: Place, number: int) -> None:
    """Import after import."""
    with place.open() as memory:
        for count in range(10**6):
            name = f"import-{number}-{count}"
            old = times.canonical(_LONG_AGO)
            entries = [MemoryEntry("", f"{name}-{n}", f"tea {name} {n}",
                                   "conversation", old, old)
                       for n in range(IMPORTED)]
            bring(memory, [Origin("ndjson", "claw", name, _give(entries))],
                  Counter(), keep)
            place.acknowledge(f"import {name}")


def _give(entries: list[MemoryEntry]
          ) -> Callable[[Tally], Iterator[MemoryEntry]]:
    return lambda _: iter(entries)


def say_more(place: Place, number: int) -> None:
    """What is said, one after the other; some of it is pinned."""
    with place.open() as memory:
        for count in range(10**6):
            key = f"say-{number}-{count}"
            memory.store(key, f"tea {key}", "conversation")
            place.acknowledge(f"say {key}")
            if count % 10 == 0 and memory.pin([key], None, on=True):
                place.acknowledge(f"pin {key}")
            time.sleep(0.002)


def tidy_on(place: Place, number: int) -> None:
    """Hygiene whenever it is due."""
    settings = MemorySettings(conversation_retention_days=_days(number))
    while True:
        with place.open() as memory:
            report = tidy(memory, place.workspace, settings,
                          now=place.now(), uptime=Uptime())
        if report.failures:
            raise SystemExit(report.failures[0].message)
        removed = report.counts["pruned_conversation_rows"]
        if removed:
            place.acknowledge(f"purge {removed}")
        if report.announced is not None:
            place.acknowledge(f"announce {report.announced.rows}")
        time.sleep(0.01)


def _days(number: int) -> int:
    """Other days than in the rounds before: one that was killed too soon
    leaves the announcement of the round before it."""
    return 2 + number % 6


def bring_back(place: Place, number: int) -> None:
    """Undo of a purge now and then."""
    rng = random.Random(number)
    with place.open() as memory:
        while True:
            time.sleep(rng.uniform(0, 0.3))
            purges = memory.purges()
            if purges and rng.random() < 0.5:
                back = memory.undo_purge(rng.choice(purges).at)
                place.acknowledge(f"undo {back}")


def forget_more(place: Place, number: int) -> None:
    """A secret, forgotten with proof, and the next one."""
    for count in range(10**6):
        key = f"secret-{number}-{count}"
        with place.open() as memory:
            memory.store(key, f"the word is {make_word(key)}, keep it")
        place.acknowledge(f"secret {key}")
        if count % 2:
            forget(place, [key])
            place.acknowledge(f"forgot {key}")


def make_word(key: str) -> str:
    """What must not be found of a secret any more."""
    return f"canary{key.replace('-', 'x')}zq7731"


def forget(place: Place, keys: list[str]) -> Proof:
    """Forget keys, and what an earlier one left to be done."""
    home = place.workspace.with_name(f"{place.workspace.name}.home")
    order = make_order(place.open, place.workspace, home, keys, None)
    return prove(place.open, place.workspace, home,
                 make_plan(place.workspace, home, order))


WORK = (bring_more, say_more, tidy_on, tidy_on, bring_back, forget_more)
# Hygiene and who forgets wait for each other: without it more is forgotten.
WITHOUT_HYGIENE = (bring_more, say_more, bring_back, forget_more)


def work(what: Callable[[Place, int], None], place: Place,
         number: int) -> None:
    """A process that is killed."""
    try:
        what(place, number)
    except UnavailableError:  # another held the lock for too long
        pass
    except ClawError as error:
        place.acknowledge(f"fault {error.message}")


def strike(place: Place, number: int, rng: random.Random) -> int:
    """Let them work, and kill them all; how many."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=work, args=(what, place, number))
                 for what in (WITHOUT_HYGIENE if number % 3 else WORK)]
    for process in processes:
        process.start()
    time.sleep(rng.uniform(0.05, 0.3) if rng.random() < 0.2
               else rng.uniform(0.8, 2.0))
    rng.shuffle(processes)
    killed = 0
    for process in processes:
        killed += process.is_alive()
        process.kill()
        time.sleep(rng.uniform(0, 0.02))
    for process in processes:
        process.join()
    return killed


def look(place: Place, begun: datetime, number: int, seen: set[str],
         rng: random.Random) -> Iterator[str]:
    """What is not as it must be; `seen` are purges of earlier rounds."""
    findings = Findings()
    there = check_workspace(place.workspace, rng, findings, False)
    # The words of all are alike: what stands above them is not at fault.
    yield from (fault for fault in findings.faults
                if "by its own words" not in fault)
    for name in place.read("import"):
        missing = [n for n in range(IMPORTED) if f"{name}-{n}" not in there]
        if missing:
            yield f"{name}: {len(missing)} imported memories are gone"
    yield from look_for_secrets(place, set(there))
    parts = Counter(key.rpartition("-")[0] for key in there
                    if key.startswith("import-"))
    yield from (f"{name}: {count} of {IMPORTED} came"
                for name, count in parts.items() if count != IMPORTED)
    yield from (f"{key} was pinned and is gone"
                for key in place.read("pin") if key not in there)
    with place.open() as memory:
        purged = memory._connection.execute(
            "SELECT key, content, updated_at, kept_at FROM memory_versions"
            " WHERE ended_by = 'purged'").fetchall()
    kept = {key: content for key, content, _, _ in purged}
    for key in place.read("say"):
        if there.get(key, (kept.get(key),))[0] != f"tea {key}":
            yield f"{key} is lost"
    for key, _, updated, at in purged:
        age = datetime.fromisoformat(at) - datetime.fromisoformat(updated)
        if age < timedelta(days=_days(number)) and at not in seen:
            yield f"{key} was removed at an age of {age}"
    for at in {at for *_, at in purged} - seen:
        if datetime.fromisoformat(at) < begun + timedelta(days=1):
            yield f"a purge of {at}, in a round that began at {begun}"
        seen.add(at)


def look_for_secrets(place: Place, there: set[str]) -> Iterator[str]:
    """What was stored and not forgotten is there; what was half forgotten
    is gone when it is asked again, and all that was forgotten is."""
    stored, forgot = place.read("secret"), set(place.read("forgot"))
    last = stored[-1:]
    ordered = set(read_order(
        place.workspace.with_name(f"{place.workspace.name}.home"),
        place.workspace).keys)
    yield from (f"{key} is lost" for key in stored
                if key not in there | forgot | ordered and int(
                    key.rpartition("-")[2]) % 2 == 0)
    for key in set(last) & ordered:
        if not forget(place, [key]).is_done:
            yield f"{key} was named again, and is not forgotten"
        forgot.add(key)
    words = {make_word(key).encode() for key in forgot}
    for path in place.workspace.rglob("*"):
        if path.is_file():
            data = path.read_bytes().lower()
            yield from (f"{word!r} is in {path.name}" for word in words
                        if word.lower() in data)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    begun = time.monotonic()
    counts: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        place, seen = Place(Path(folder, "0")), set[str]()
        number = -1
        while counts["processes killed"] < options.kills:
            number += 1
            if number and number % NEW_FILE_EVERY == 0:
                _count(place, counts)
                place, seen = Place(Path(folder, str(number))), set()
            start = place.now()
            counts["processes killed"] += strike(place, number, rng)
            faults += look(place, start, number, seen, rng)
            faults += place.read("fault")
        _count(place, counts)
    counts["rounds"] = number + 1
    for name in ("rounds", "processes killed", "imports acknowledged",
                 "said", "pinned", "announced", "purges finished",
                 "memories removed", "undone", "memories brought back",
                 "secrets stored", "secrets forgotten"):
        print(f"{name:26}{counts[name]:9,}")
    print(f"{'faults':26}{len(faults):9,}")
    print(f"{'seconds':26}{time.monotonic() - begun:9.0f}")
    for fault in faults[:20]:
        print(f"- {fault}")
    return 1 if faults else 0


def _count(place: Place, counts: Counter[str]) -> None:
    """Add what was acknowledged at a place."""
    counts["imports acknowledged"] += len(place.read("import"))
    counts["said"] += len(place.read("say"))
    counts["pinned"] += len(place.read("pin"))
    counts["announced"] += len(place.read("announce"))
    counts["secrets stored"] += len(place.read("secret"))
    counts["secrets forgotten"] += len(place.read("forgot"))
    for kind, times_, rows in (
            ("purge", "purges finished", "memories removed"),
            ("undo", "undone", "memories brought back")):
        found = list(map(int, place.read(kind)))
        counts[times_] += len(found)
        counts[rows] += sum(found)


if __name__ == "__main__":
    sys.exit(main())
