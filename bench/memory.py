"""Speed and size of the memory beside the reference's way, in one run.

    python bench/memory.py DIRECTORY [--large] [--parts a,b] [--set WORD]
        [--questions 40] [--rounds 15] [--claw PYTHON] [--keep DIR] [--json]

DIRECTORY holds data sets as bench/recall.py reads them; memories are mixes
of real sentences from them (of the sets whose file name holds --set), the
questions are theirs. Baseline and claw take turns; every figure is a median
of CPU time unless it says otherwise. The parts:

    recall    recall(question, 5) over 10,000 and 100,000 memories (and
              1,000,000 with --large) against the reference's SQL alone:
              every word quoted, OR, joined, by bm25, LIMIT 10, with its
              8 MB of mmap and 2 MB of cache
    cold      a process `claw memory recall` over 10,000 memories against
              `python -c pass`; fails when numpy was imported
    hydrate   a snapshot of 100,000 after brain.db was lost, and its word
              index made anew, against all rows in one transaction with the
              reference's triggers
    bulk      restore and hydrate of 20,000 against row by row with the
              reference's triggers, in one transaction and each in its own
    stores    single stores a second, each a transaction of its own
    resident  memory of a process that goes on recalling, by size of store
    transfer  peak memory of `claw memory export` and `import`

Bars stand behind the figures that have one. The cold part and transfer use
an installation that is not editable: a virtual environment made for it, or
--claw, the Python of one. --keep keeps the stores for another run.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import claw
from claw.core.memory import (
    CORE,
    ChecksMemory,
    Memory,
    MemoryEntry,
    RestoresMemories,
)
from claw.core.value import replace
from claw.memory.snapshot.file import export_snapshot, hydrate

SIZES = (10_000, 100_000)
LARGE = 1_000_000
BULK = 20_000
HYDRATED = 100_000
SINGLE = 2_000
PER_SESSION = 30
_SENTENCE = re.compile(r"(?<=[.!?。!?])\s*")


class Texts(NamedTuple):
    """Sentences to mix, and what is asked of them."""

    sentences: list[str]
    questions: list[str]


class Figure(NamedTuple):
    """One line of the table; `ratio` is baseline / claw."""

    what: str
    baseline: str
    claw: str
    ratio: float | None = None
    bar: str = ""


# --- data ----------------------------------------------------------------

def read(directory: Path, word: str) -> Texts:
    """The sentences of all sets whose name holds a word."""
    sentences: list[str] = []
    questions: list[str] = []
    for path in sorted(directory.glob(f"*{word}*.json")):
        for group in json.loads(path.read_text("utf-8"))["groups"]:
            for doc in group["docs"]:
                sentences += [part for part in _SENTENCE.split(doc["text"])
                              if len(part) > 15]
            questions += [query["q"] for query in group["queries"]]
    if not sentences or not questions:
        raise SystemExit(f"no set in {directory} is named *{word}*.json")
    random.Random(1).shuffle(questions)
    return Texts(sentences, questions)


def mixes(texts: Texts, count: int) -> Iterator[str]:
    """So many texts, each of parts of two or three sentences."""
    rng = random.Random(7)
    for _ in range(count):
        yield " ".join(_part(rng, rng.choice(texts.sentences))
                       for _ in range(rng.randrange(2, 4)))


def _part(rng: random.Random, sentence: str) -> str:
    words = sentence.split()
    if len(words) < 8:
        return sentence
    start = rng.randrange(len(words) // 2)
    return " ".join(words[start:start + rng.randrange(5, 13)])


def entries(texts: Texts, count: int) -> Iterator[MemoryEntry]:
    """As memories of conversations, each turn a second after the last."""
    rng = random.Random(9)
    for number, text in enumerate(mixes(texts, count)):
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(
            1_700_000_000 + number))
        yield MemoryEntry(
            str(uuid.UUID(int=rng.getrandbits(128))),
            f"user_msg_{uuid.UUID(int=rng.getrandbits(128))}", text,
            "conversation", moment, moment, f"s{number // PER_SESSION}")


# --- stores --------------------------------------------------------------

@contextlib.contextmanager
def opened(place: Path) -> Iterator[Memory]:
    """claw's memory in a folder, as a program opens it."""
    with claw.open_memory(str(place / "workspace"), str(place)) as memory:
        yield memory


def fill(memory: Memory, rows: Iterator[MemoryEntry]) -> None:
    assert isinstance(memory, RestoresMemories)
    memory.restore(rows, overwrite=False)


def filled(keep: Path, texts: Texts, count: int) -> Path:
    """A folder with claw's store and the reference's of so many rows."""
    place = keep / f"{count}-{len(texts.sentences)}"
    if not (place / "done").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        say(f"making two stores of {count:,} memories")
        with opened(place) as memory:
            fill(memory, entries(texts, count))
        with contextlib.closing(reference(place / "reference.db")) as db:
            db.execute("BEGIN")
            db.execute("DROP TRIGGER memories_ai")
            db.executemany(_INSERT, map(_row, entries(texts, count)))
            db.execute("INSERT INTO memories_fts(memories_fts)"
                       " VALUES ('rebuild')")
            db.execute("COMMIT")
        (place / "done").touch()
    return place


_INSERT = ("INSERT INTO memories VALUES (?, ?, ?, ?, NULL, ?, ?, ?)"
           " ON CONFLICT(key) DO UPDATE SET content = excluded.content,"
           " category = excluded.category, updated_at = excluded.updated_at,"
           " session_id = excluded.session_id")


def reference(path: Path) -> sqlite3.Connection:
    """The reference's tables, triggers and PRAGMAs."""
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript("""
        PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
        PRAGMA mmap_size=8388608; PRAGMA cache_size=-2000;
        PRAGMA temp_store=MEMORY;
        CREATE TABLE IF NOT EXISTS memories (
            id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE,
            content TEXT NOT NULL, category TEXT NOT NULL DEFAULT 'core',
            embedding BLOB, created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL, session_id TEXT);
        CREATE INDEX IF NOT EXISTS by_category ON memories(category);
        CREATE INDEX IF NOT EXISTS by_key ON memories(key);
        CREATE INDEX IF NOT EXISTS by_session ON memories(session_id);
        CREATE VIRTUAL TABLE IF NOT EXISTS memories_fts USING fts5(
            key, content, content='memories', content_rowid='rowid');
        CREATE TRIGGER IF NOT EXISTS memories_ai AFTER INSERT ON memories
        BEGIN INSERT INTO memories_fts(rowid, key, content)
            VALUES (new.rowid, new.key, new.content); END;
        CREATE TRIGGER IF NOT EXISTS memories_au AFTER UPDATE ON memories
        BEGIN INSERT INTO memories_fts(memories_fts, rowid, key, content)
            VALUES ('delete', old.rowid, old.key, old.content);
            INSERT INTO memories_fts(rowid, key, content)
            VALUES (new.rowid, new.key, new.content); END;
    """)
    return db


def _row(entry: MemoryEntry) -> tuple[Any, ...]:
    return (entry.id, entry.key, entry.content, entry.category,
            entry.created_at, entry.updated_at, entry.session_id)


# --- the parts -----------------------------------------------------------

def cpu(work: Callable[[], object]) -> float:
    """CPU milliseconds of a call."""
    begun = time.process_time()
    work()
    return 1000 * (time.process_time() - begun)


def asked(db: sqlite3.Connection, question: str) -> list[Any]:
    """The reference's SQL for a question and limit 5."""
    match = " OR ".join(f'"{word}"' for word in
                        question.replace('"', "").split())
    return db.execute(
        "SELECT m.id, bm25(memories_fts) FROM memories_fts f"
        " JOIN memories m ON m.rowid = f.rowid WHERE memories_fts MATCH ?"
        " ORDER BY bm25(memories_fts) LIMIT 10", (match,)).fetchall()


def recall(bench: "Bench") -> Iterator[Figure]:
    for count in bench.sizes:
        place = filled(bench.keep, bench.texts, count)
        questions = bench.texts.questions[:bench.questions]
        theirs, ours = [], []
        with opened(place) as memory, contextlib.closing(
                reference(place / "reference.db")) as db:
            for question in questions[:2]:
                asked(db, question)
                memory.recall(question, 5)
            for question in questions:
                theirs.append(cpu(lambda q=question: asked(db, q)))
                ours.append(cpu(lambda q=question: memory.recall(q, 5)))
        yield compared(f"recall, {count:,}", theirs, ours,
                       ">= 10x" if count >= 100_000 else "")
        yield Figure(f"recall, {count:,}, slowest of {len(questions)}",
                     ms(max(theirs)), ms(max(ours)), max(theirs) / max(ours))


def cold(bench: "Bench") -> Iterator[Figure]:
    place = filled(bench.keep, bench.texts, SIZES[0])
    env = bench.environment(place)
    question = bench.texts.questions[0]
    commands = {
        "bare": [bench.python, "-c", "pass"],
        "recall": [bench.claw, "memory", "recall", question],
        "get": [bench.claw, "memory", "count"]}
    names = subprocess.run(
        [bench.python, "-c", "import sys; from claw.cli.app import run;"
         " run(sys.argv[1:]); print(*sorted(sys.modules), file=sys.stderr)",
         *commands["recall"][1:]], env=env, check=True, text=True,
        capture_output=True).stderr.split()
    if "numpy" in names:
        raise SystemExit("claw memory recall imports numpy")
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(bench.rounds + 1):
        for name, command in commands.items():
            took = process(command, env)[0]
            if number:  # the first warms the caches
                spent[name].append(took)
    bare, ours, least = (statistics.median(spent[name]) for name in commands)
    yield Figure("cold recall, 10,000 (claw / bare Python)", ms(bare),
                 ms(ours), ours / bare, "<= 8x")
    yield Figure("cold count, 10,000 (claw / bare Python)", ms(bare),
                 ms(least), least / bare)
    yield Figure("modules after a cold recall", "", f"{len(names)}")


def bulk(bench: "Bench") -> Iterator[Figure]:
    rows = list(entries(bench.texts, BULK))
    core = [MemoryEntry(one.id, one.key, one.content, CORE, one.created_at,
                        one.updated_at) for one in rows]
    spent: dict[str, list[float]] = {}

    def measured(name: str, work: Callable[[], object]) -> None:
        spent.setdefault(name, []).append(cpu(work))

    for _ in range(3):
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            with contextlib.closing(reference(place / "one.db")) as db:
                def in_one(db: sqlite3.Connection = db) -> None:
                    db.execute("BEGIN")
                    for row in rows:
                        db.execute(_INSERT, _row(row))
                    db.execute("COMMIT")
                measured("one", in_one)
            with contextlib.closing(reference(place / "each.db")) as db:
                def each(db: sqlite3.Connection = db) -> None:
                    for row in rows:
                        db.execute(_INSERT, _row(row))
                measured("each", each)
            with opened(place / "d") as memory:
                measured("store", lambda m=memory: [m.store(
                    row.key, row.content, row.category, row.session_id)
                    for row in rows])
            with opened(place / "a") as memory:
                measured("restore", lambda m=memory: fill(m, iter(rows)))
            with opened(place / "b") as memory:
                fill(memory, iter(core))
                export_snapshot(memory, place / "snapshot.md")
            with opened(place / "c") as memory:
                measured("hydrate", lambda m=memory, p=place: hydrate(
                    m, p / "snapshot.md"))
    for way in ("restore", "hydrate"):
        for base, said, bar in (
                ("each", "triggers, each a transaction", ">= 3x"),
                ("one", "triggers, one transaction", ""),
                ("store", "claw's own store", ">= 3x")):
            yield compared(f"{way} {BULK:,} / {said}", spent[base],
                           spent[way], bar)


def hydration(bench: "Bench") -> Iterator[Figure]:
    rows = list(entries(bench.texts, HYDRATED))
    spent: dict[str, list[float]] = {"one": [], "hydrate": [], "reindex": []}
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "source")
        with opened(source) as memory:
            fill(memory, (replace(row, category=CORE) for row in rows))
            export_snapshot(memory, source / "snapshot.md")
        for number in range(3):
            place = Path(directory, str(number))
            place.mkdir()
            with contextlib.closing(reference(place / "one.db")) as db:
                def in_one(db: sqlite3.Connection = db) -> None:
                    db.execute("BEGIN")
                    for row in rows:
                        db.execute(_INSERT, _row(row))
                    db.execute("COMMIT")
                spent["one"].append(cpu(in_one))
            with opened(place) as memory:
                assert isinstance(memory, ChecksMemory)
                spent["hydrate"].append(cpu(lambda m=memory: hydrate(
                    m, source / "snapshot.md")))
                spent["reindex"].append(cpu(memory.reindex))
    for name, bar in (("hydrate", ">= 3x"), ("reindex", "")):
        yield compared(f"{name} {HYDRATED:,} / triggers, one transaction",
                       spent["one"], spent[name], bar)


def stores(bench: "Bench") -> Iterator[Figure]:
    rows = list(entries(bench.texts, 3 * SINGLE))
    walls: dict[str, list[float]] = {"theirs": [], "ours": []}
    cpus: dict[str, list[float]] = {"theirs": [], "ours": []}

    def measured(name: str, work: Callable[[], object]) -> None:
        begun = time.perf_counter()
        cpus[name].append(cpu(work))
        walls[name].append(1000 * (time.perf_counter() - begun))

    with tempfile.TemporaryDirectory() as directory, contextlib.closing(
            reference(Path(directory, "reference.db"))) as db, opened(
            Path(directory)) as memory:
        for start in range(0, len(rows), SINGLE):
            some = rows[start:start + SINGLE]
            measured("theirs", lambda some=some: [
                db.execute(_INSERT, _row(row)) for row in some])
            measured("ours", lambda some=some: [
                memory.store(row.key, row.content, row.category,
                             row.session_id) for row in some])
    for kind, spent, bar in (("CPU", cpus, ""), ("wall", walls, ">= 4000/s")):
        theirs, ours = (1000 * SINGLE / statistics.median(spent[name])
                        for name in ("theirs", "ours"))
        yield Figure(f"single stores a second ({kind})", f"{theirs:,.0f}",
                     f"{ours:,.0f}", ours / theirs, bar)


RESIDENT = """
import sys, json
import claw
def rss(what):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status
                    if line.startswith(what))
questions = json.load(sys.stdin)
with claw.open_memory(sys.argv[1] + "/workspace", sys.argv[1]) as memory:
    for question in questions[:1]:
        memory.recall(question, 5)
    first = rss("VmRSS")
    for number in range(200):
        memory.recall(questions[number % len(questions)], 5)
    half = rss("VmRSS")
    for number in range(200):
        memory.recall(questions[number % len(questions)], 5)
    print(first, half, rss("VmRSS"), rss("RssAnon"))
"""


def resident(bench: "Bench") -> Iterator[Figure]:
    smallest = 0.0
    for count in bench.sizes:
        place = filled(bench.keep, bench.texts, count)
        done = subprocess.run(
            [sys.executable, "-c", RESIDENT, str(place)], text=True,
            check=True, capture_output=True,
            input=json.dumps(bench.texts.questions[:bench.questions]),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        first, half, last, own = (int(word) / 1024
                                  for word in done.stdout.split())
        smallest = smallest or last
        yield Figure(
            f"resident MB after 1 / 200 / 400 recalls, {count:,}",
            f"{smallest:.1f}", f"{first:.1f} / {half:.1f} / {last:.1f}"
            f" (own {own:.1f})", last / smallest,
            "<= 1.5x" if count > bench.sizes[0] else "")


def transfer(bench: "Bench") -> Iterator[Figure]:
    for count in bench.sizes:
        place = filled(bench.keep, bench.texts, count)
        file = place / "export.ndjson"
        spent, peak = process([bench.claw, "memory", "export", str(file)],
                              bench.environment(place))
        yield Figure(f"export {count:,}: CPU ms, peak MB", "",
                     f"{spent:.0f}, {peak / 1024:.1f}")
        with tempfile.TemporaryDirectory() as other:
            spent, peak = process([bench.claw, "memory", "import", str(file)],
                                  bench.environment(Path(other)))
        yield Figure(f"import {count:,}: CPU ms, peak MB", "",
                     f"{spent:.0f}, {peak / 1024:.1f}")
        file.unlink()


PARTS: dict[str, Callable[["Bench"], Iterator[Figure]]] = {
    "recall": recall, "cold": cold, "hydrate": hydration, "bulk": bulk,
    "stores": stores, "resident": resident, "transfer": transfer}


# --- running -------------------------------------------------------------

class Bench(NamedTuple):
    """What the parts share."""

    texts: Texts
    sizes: Sequence[int]
    keep: Path
    python: str
    questions: int
    rounds: int

    @property
    def claw(self) -> str:
        """The command beside its Python."""
        return str(Path(self.python).with_name("claw"))

    @staticmethod
    def environment(place: Path) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(place),
                "CLAW_HOME": str(place)}


def installed(directory: Path) -> str:
    """The Python of a new environment that holds claw as pip would lay it
    there, and finds what it needs where this Python does."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip",
                    str(directory)], check=True)
    python = directory / "bin" / "python"
    site = Path(subprocess.run(
        [python, "-c", "import sysconfig; print("
         "sysconfig.get_paths()['purelib'])"], check=True, text=True,
        capture_output=True).stdout.strip())
    shutil.copytree(Path(claw.__file__).parent, site / "claw",
                    ignore=shutil.ignore_patterns("__pycache__"))
    (site / "needs.pth").write_text("".join(
        f"{path}\n" for path in sys.path if path.endswith("-packages")))
    command = directory / "bin" / "claw"
    command.write_text(f"#!{python}\nimport sys\n"
                       "from claw.__main__ import main\nsys.exit(main())\n")
    command.chmod(0o755)
    subprocess.run([python, "-m", "compileall", "-q", str(site / "claw")],
                   check=True)
    return str(python)


# The peak of a process is at least that of the one it was forked from:
# a small one stands between.
_BETWEEN = """
import os, resource, sys
code = os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(3, b"%d %f %d" % (code, used.ru_utime + used.ru_stime,
                           used.ru_maxrss))
"""


def process(command: list[str], env: dict[str, str]) -> tuple[float, int]:
    """CPU milliseconds and peak memory in kB of one process."""
    read_end, write_end = os.pipe()
    run = ["/bin/sh", "-c", f'exec "$@" 3>&{write_end}', "sh",
           sys.executable, "-I", "-S", "-c", _BETWEEN, *command]
    done = subprocess.run(run, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, pass_fds=[write_end],
                          check=False)
    os.close(write_end)
    with open(read_end, "rb") as stream:
        code, seconds, peak = stream.read().split()
    if int(code):
        raise SystemExit(f"{command} ended with {int(code)}: "
                         f"{done.stderr.decode()}")
    return 1000 * float(seconds), int(peak)


def compared(what: str, theirs: Sequence[float], ours: Sequence[float],
             bar: str = "") -> Figure:
    """Medians of two series in milliseconds."""
    base, own = statistics.median(theirs), statistics.median(ours)
    return Figure(what, ms(base), ms(own), base / own, bar)


def ms(value: float) -> str:
    return f"{value:,.2f} ms" if value < 100 else f"{value:,.0f} ms"


def holds(figure: Figure) -> str:
    """"ok", "MISSED" or nothing where there is no bar."""
    found = re.match(r"([<>])= ([\d.]+)(.*)", figure.bar)
    if not found or figure.ratio is None:
        return ""
    value = figure.ratio if found[3] == "x" else float(
        figure.claw.replace(",", ""))
    bar = float(found[2])
    return "ok" if (value >= bar if found[1] == ">" else value <= bar) \
        else "MISSED"


def shown(figure: Figure) -> str:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}x"
    return (f"{figure.what:50} {figure.baseline:>12} {figure.claw:>12} "
            f"{ratio:>8}  {figure.bar:9} {holds(figure)}").rstrip()


def say(text: str) -> None:
    print(text, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--set", default="conversations")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--claw", metavar="PYTHON")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(
            read(options.directory, options.set),
            (*SIZES, LARGE) if options.large else SIZES,
            options.keep or Path(directory, "stores"),
            options.claw or installed(Path(directory, "venv")),
            options.questions, options.rounds)
        if not options.json:
            print(f"{'':50} {'baseline':>12} {'claw':>12} {'ratio':>8}")
        for part in options.parts.split(","):
            for figure in PARTS[part](bench):
                print(json.dumps({**figure._asdict(),
                                  "verdict": holds(figure)})
                      if options.json else shown(figure), flush=True)


if __name__ == "__main__":
    main()
