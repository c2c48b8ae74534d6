"""kill -9 during writes to the memory, and what is left afterwards.

    python bench/memory_kills.py [--rounds 1000] [--writers 2] [--seed 1]
        [--vectors]

In every round processes write to one brain.db - store, overwrite, forget,
restore in bulk, make the index anew - and are killed at a random moment,
some while they open it. Each operation is acknowledged by one byte after it
returned. Then the store must hold, for each process, exactly what its
acknowledged operations left, or that and the one that was under way; every
finding of `check`, FTS5's own integrity check and recall must agree.
Every 40 rounds begin with a new file, so that kills strike its making too.
With --vectors every memory has one, made by a hash in place of a model.

Exits 1 when anything was lost or damaged.
"""

import argparse
import contextlib
import hashlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claw.core.embedding import EmbeddingProvider
from claw.core.errors import ClawError
from claw.core.memory import NO_DEPS, EmbedsMemories, MemoryDeps, MemoryEntry
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory

NEW_FILE_EVERY = 40
KEYS = 60
_WORDS = ("tea", "harbour", "green", "Oslo", "budget", "ticket", "초록색",
          "차", "港口", "绿茶", "緑茶", "切符", "ключ", "чай", "über", "café")
# key -> (content, category, session)
State = dict[str, tuple[str, str, str | None]]
Operation = tuple[str, Any]


class Hashes(EmbeddingProvider):
    """A vector for every text, at no cost."""

    name = "hashes"
    dimensions = 32
    model = "hashes/32"
    is_multilingual = True

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[byte - 127.5 for byte in
                 hashlib.sha256(text.encode()).digest()] for text in texts]


def opened(workspace: Path, vectors: bool,
           notes: list[str] | None = None) -> SqliteMemory:
    """The memory of a folder."""
    return SqliteMemory.open(
        workspace, MemorySettings(),
        notify=([] if notes is None else notes).append,
        deps=MemoryDeps(Hashes(), {}) if vectors else NO_DEPS)


@dataclass
class Report:
    """What was seen; `faults` says what was wrong, a sentence each."""

    rounds: int = 0
    kills: int = 0
    before_first: int = 0
    acknowledged: int = 0
    under_way: int = 0
    faults: list[str] = field(default_factory=list)


def operations(seed: str) -> Iterator[Operation]:
    """What a writer does, the same for the same seed, without end."""
    rng = random.Random(seed)
    name = seed.split(":")[0]

    def key() -> str:
        return f"{name}-{rng.randrange(KEYS)}"

    def row() -> tuple[str, str, str, str | None]:
        text = " ".join(rng.choices(_WORDS, k=rng.randrange(1, 40)))
        return (key(), text, rng.choice(("core", "daily", "conversation")),
                rng.choice((None, "s1", "s2")))

    while True:
        dice = rng.random()
        if dice < 0.7:
            yield "store", row()
        elif dice < 0.82:
            yield "forget", key()
        elif dice < 0.97:
            yield "restore", [row() for _ in range(rng.randrange(1, 30))]
        else:
            yield "reindex", None


def perform(memory: SqliteMemory, operation: Operation) -> None:
    """Do it to a memory."""
    name, value = operation
    if name == "store":
        memory.store(*value)
    elif name == "forget":
        memory.forget(value)
    elif name == "restore":
        memory.restore([MemoryEntry("", key, text, category, "", "", session)
                        for key, text, category, session in value],
                       overwrite=True)
    else:
        memory.reindex()


def expect(state: State, operation: Operation) -> State:
    """What it leaves."""
    name, value = operation
    state = dict(state)
    if name == "store":
        state[value[0]] = value[1:]
    elif name == "forget":
        state.pop(value, None)
    elif name == "restore":
        state.update((row[0], row[1:]) for row in value)
    return state


def write(workspace: str, seed: str, vectors: str) -> None:
    """The process that is killed."""
    out = sys.stdout.buffer
    memory = opened(Path(workspace), bool(vectors))
    for operation in operations(seed):
        perform(memory, operation)
        out.write(b".")
        out.flush()


def killed(workspace: Path, seeds: list[str], rng: random.Random,
           report: Report, vectors: bool) -> list[int]:
    """Start a writer for each seed, kill them all; acknowledged
    operations of each."""
    writers = [subprocess.Popen(
        [sys.executable, __file__, "--write", str(workspace), seed,
         "vectors" * vectors],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        bufsize=0) for seed in seeds]  # communicate() reads past a buffer
    early = rng.random() < 0.1
    counts = []
    try:
        if early:
            time.sleep(rng.uniform(0.02, 0.4))
        else:
            for writer in writers:
                assert writer.stdout is not None
                counts.append(len(writer.stdout.read(1)))
            time.sleep(rng.uniform(0, 0.08))
    finally:
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
    acknowledged = []
    for number, (writer, seed) in enumerate(zip(writers, seeds, strict=True)):
        out, err = writer.communicate()
        if writer.returncode != -signal.SIGKILL or err:
            report.faults.append(f"{seed}: the writer ended by itself "
                                 f"({writer.returncode}): {err.decode()}")
        seen = len(out) + (counts[number] if counts else 0)
        report.kills += 1
        report.before_first += seen == 0
        acknowledged.append(seen)
    return acknowledged


def look(workspace: Path, seed: str, before: State, acknowledged: int,
         rows: State, report: Report) -> State:
    """Compare what is there of one writer with what must be; gives what
    is there."""
    name = seed.split(":")[0]
    mine = {key: row for key, row in rows.items()
            if key.startswith(f"{name}-")}
    steps = operations(seed)
    state = before
    for _ in range(acknowledged):
        state = expect(state, next(steps))
    if mine != state:
        report.under_way += 1
        if mine != expect(state, next(steps)):
            lost = [key for key in state if mine.get(key) != state[key]]
            report.faults.append(
                f"{seed}: after {acknowledged} operations {len(lost)} "
                f"memories are not as acknowledged: {lost[:5]}")
    return mine


def check_workspace(workspace: Path, rng: random.Random, report: Report,
            vectors: bool) -> State:
    """Open what the kill left, look it over, find some of it; its rows."""
    notes: list[str] = []
    with contextlib.closing(opened(workspace, vectors, notes)) as memory:
        rows = {entry.key: (entry.content, entry.category, entry.session_id)
                for entry in memory.list()}
        report.faults += [f"said on opening: {note}" for note in notes]
        report.faults += [f"{one.id}: {one.detail}"
                          for one in memory.check() if not one.ok]
        for key in rng.sample(sorted(rows), min(3, len(rows))):
            found = memory.recall(rows[key][0], 10 * KEYS)
            if key not in {entry.key for entry in found}:
                report.faults.append(f"{key} is not found by its own words")
        if vectors and isinstance(memory, EmbedsMemories):
            memory.embed_missing(lambda _: None)
            report.faults += [f"embedded, {one.id}: {one.detail}"
                              for one in memory.check() if not one.ok]
    with contextlib.closing(sqlite3.connect(
            workspace / "memory/brain.db")) as raw:
        try:
            raw.execute("INSERT INTO memories_fts(memories_fts, rank)"
                        " VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            report.faults.append(f"FTS5: {error}")
    return rows


def run(rounds: int, place: Path, *, writers: int = 2, seed: int = 1,
        vectors: bool = False) -> Report:
    """So many rounds in a folder."""
    report = Report()
    rng = random.Random(seed)
    workspace, states = place, dict.fromkeys("abcdefgh"[:writers], State())
    for number in range(rounds):
        if number % NEW_FILE_EVERY == 0:
            workspace = place / str(number)
            states = {name: {} for name in states}
        seeds = [f"{name}:{seed}:{number}" for name in states]
        acknowledged = killed(workspace, seeds, rng, report, vectors)
        try:
            rows = check_workspace(workspace, rng, report, vectors)
        except ClawError as error:
            report.faults.append(f"round {number}: can't be opened: {error}")
            break
        for one, count in zip(seeds, acknowledged, strict=True):
            name = one.split(":")[0]
            states[name] = look(workspace, one, states[name], count, rows,
                                report)
        report.rounds += 1
        report.acknowledged += sum(acknowledged)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=2, choices=range(1, 9))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(*options.write)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        report = run(options.rounds, Path(directory),
                     writers=options.writers, seed=options.seed,
                     vectors=options.vectors)
    print(f"rounds                     {report.rounds:8}\n"
          f"processes killed           {report.kills:8}\n"
          f"  before the first answer  {report.before_first:8}\n"
          f"operations acknowledged    {report.acknowledged:8}\n"
          f"  under way, done anyway   {report.under_way:8}\n"
          f"faults                     {len(report.faults):8}\n"
          f"seconds                    {time.monotonic() - begun:8.0f}")
    for fault in report.faults[:20]:
        print(f"- {fault}")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
