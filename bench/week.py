"""Whether `claw listen` levels off: a replayed week with memory on.

    python bench/week.py [--days 42] [--messages 150] [--chats 20]
        [--keep 3] [--trace] [--directory DIR]

A real `claw listen` between a fake Telegram and an instant model; its wall
clock jumps on by STEP_H hours after each share of a day's messages, and what
it does every ten minutes or every hour it does every second instead, so that
retention, hygiene and rotation have their turn on each replayed day. Of ten
messages one stores a memory, one recalls, one writes a file, one runs a
command, one brings a document; the rest are talk. What claw keeps for a week,
a month or a year it keeps for --keep days, and of a session the newest 20
messages, so that the run sees the end of it (0: as shipped). Facts are kept
for good: each chat has three, which it tells anew. An idle `claw
listen` whose clock jumps alike stands beside it: the flat line to compare
with.

A row for each replayed day: resident memory of both (MB), and of the busy one
what is its own (anonymous) and what are pages of files (programs, brain.db),
which the system can take back; of Python's objects alone with --trace (then
all is slower and larger), descriptors, threads, tasks, files (MB, number).
Then the growth over the first and over the last third of the days (the median
of the slopes between all pairs of its days), and whether it has levelled off:
at most 1 % (memory, files) or 3 (numbers) in the last third. Each kind of file
too; with --trace what grew. Ends with 1 where something has not.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from runtime_bots import Running, footprint
from runtime_peers import Model, Telegram, Wire

from claw.testing.fake_telegram import FakeTelegram

STEP_H = 4
LEVEL = 0.01  # of a size that may come in the last third
LEVEL_COUNT = 3
TENDING_S = 2.2
LOOKS = 9  # at a day's end; the lowest counts, what it takes at rest
WORDS = ("harbour", "kettle", "violin", "glacier", "saffron", "bicycle",
         "lantern", "meadow", "compass", "orchard", "velvet", "thunder",
         "pebble", "walnut", "canyon", "feather", "mirror", "tunnel")


class Note(NamedTuple):
    """A message of a person: its number says what the model does."""

    number: int
    chat: int
    at: float = 0.0

    @property
    def text(self) -> str:
        rng = random.Random(self.number)
        words = " ".join(rng.choices(WORDS, k=30))
        return f"bench-{self.number} tell me of {words} {self.number % 977}"

    def put(self, fake: FakeTelegram) -> None:
        if self.number % 10 != 4:
            fake.post(self.text, chat_id=self.chat)
            return
        data = random.Random(self.number).randbytes(20_000)
        file_id = fake.add_file(data, f"documents/f{self.number}.bin")
        fake.post(None, chat_id=self.chat, caption=self.text, document={
            "file_id": file_id, "file_unique_id": f"u{self.number}",
            "file_name": f"f{self.number}.bin", "file_size": len(data)})


class Assistant(Wire):
    """A model that uses tools."""

    def answer(self, body: bytes, now: float) -> None:
        asked = json.loads(body or b"{}")
        messages = asked.get("messages") or []
        last = messages[-1] if messages else {}
        number = self.find_number(messages)
        if last.get("role") == "user" and number is not None \
                and asked.get("tools") and (call := _choose(number)):
            self.call_tool(*call, stream=bool(asked.get("stream")))
        elif last.get("role") == "tool":
            self.write(f"The answer to bench-{number} is: done.",
                       stream=bool(asked.get("stream")))
        else:
            super().answer(body, now)


def _choose(number: int) -> tuple[str, dict[str, Any]] | None:
    words = " ".join(random.Random(-number).choices(WORDS, k=12))
    return {
        0: ("memory_store", {"key": f"fact {number % 30}",
                             "content": f"{words} {number}"}),
        1: ("memory_recall", {"query": words}),
        2: ("file_write", {"path": f"notes/{number % 50}.md",
                           "content": f"{words}\n" * 20}),
        3: ("shell", {"command": "ls notes"}),
    }.get(number % 10)


# -- the process


class Listen(NamedTuple):
    """A `claw listen` in a home of its own, whose clock is `clock`."""

    running: Running
    clock: Path
    workspace: Path

    def jump(self, seconds: float) -> None:
        new = self.clock.with_suffix(".new")
        new.write_text(str(float(self.clock.read_text()) + seconds))
        new.replace(self.clock)

    @property
    def traced(self) -> str:
        file = self.running.home / "traced"
        return file.read_text() if file.exists() else ""


@contextlib.contextmanager
def listen(home: Path, telegram: str, model: str, *, keep: int,
           trace: bool = False) -> Iterator[Listen]:
    home.mkdir(parents=True)
    config = home / "config.toml"
    kept = _KEPT.format(keep=keep, purge=keep - 1) if keep else ""
    config.write_text(f"""\
default_provider = "custom:{model}"
default_model = "m"
memory.backend = "sqlite"
{kept}[autonomy]
level = "full"
max_actions_per_hour = 1000000
max_cost_per_day_cents = 100000000
[channels_config.telegram]
bot_token = "{Telegram.token}"
allowed_users = {list(range(5000, 5200))}
api_base_url = "{telegram}"
""")
    config.chmod(0o600)
    clock = home / "clock"
    clock.write_text("0")
    log = (home / "log.txt").open("wb")
    with Running(subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(int(trace)), str(keep),
             "--config-dir", str(home), "listen", "-q"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=home, env={
                "PATH": os.environ["PATH"], "HOME": str(home),
                "XDG_RUNTIME_DIR": str(home), **({
                    "MALLOC_ARENA_MAX": os.environ["MALLOC_ARENA_MAX"]}
                    if "MALLOC_ARENA_MAX" in os.environ else {})}),
            home) as running:
        yield Listen(running, clock, home / "workspace")


_KEPT = """\
memory.archive_after_days = 1
memory.purge_after_days = {purge}
memory.conversation_retention_days = {keep}
memory.undo_retention_days = {keep}
memory.history_retention_days = {keep}
memory.policy.retention_days_by_category.daily = {keep}
log.keep_days = {keep}
channels_config.files_keep_days = {keep}
"""

# claw as it is with another clock (that of hygiene's uptime too), often
# tending, and a thread that notes the number of tasks and, traced, the
# memory of Python's objects.
_CHILD = """
import asyncio, datetime, gc, os, pathlib, sys, threading, time
trace, keep = sys.argv.pop(1) == "1", int(sys.argv.pop(1))
if trace:
    import tracemalloc
    tracemalloc.start(3)
true, seen, error = time.time, [0.0], [0.0]
home = os.getcwd()
clock = pathlib.Path(home, "clock")
def read_clock():
    tick = time.monotonic()
    if tick - seen[0] > 0.05:
        seen[0] = tick
        error[0] = float(clock.read_text() or 0)
    return true() + error[0]
class Meta(type):
    def __instancecheck__(cls, value):
        return isinstance(value, real)
real = datetime.datetime
class Moved(real, metaclass=Meta):
    @classmethod
    def now(cls, tz=None):
        return real.fromtimestamp(read_clock(), tz)
    @classmethod
    def utcnow(cls):
        return real.utcfromtimestamp(read_clock())
time.time = read_clock
time.time_ns = lambda: int(read_clock() * 1e9)
datetime.datetime = Moved
class Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self):
        loop = super().new_event_loop()
        threading.Thread(target=watch, args=(loop,), daemon=True).start()
        return loop
def watch(loop):
    first = None
    while True:
        time.sleep(1)
        try:
            pathlib.Path(home, "tasks").write_text(
                str(len(asyncio.all_tasks(loop))))
        except RuntimeError:
            pass
        if trace:
            pathlib.Path(home, "traced").write_text(
                str(tracemalloc.get_traced_memory()[0]))
            wanted = pathlib.Path(home, "snapshot")
            if wanted.exists():
                gc.collect()
                shot = tracemalloc.take_snapshot().filter_traces((
                    tracemalloc.Filter(False, tracemalloc.__file__),
                    tracemalloc.Filter(False, "<frozen*")))
                if first is not None:
                    with open(os.path.join(home, "grew"), "w") as file:
                        for one in shot.compare_to(first, "lineno")[:25]:
                            print(one, file=file)
                        for one in shot.compare_to(first, "traceback")[:8]:
                            print(one, *one.traceback.format(),
                                  sep="\\n  ", file=file)
                else:
                    first = shot
                del shot
                wanted.unlink()
asyncio.set_event_loop_policy(Policy())
import claw.runtime.maintenance as maintenance
maintenance.TEND_S, maintenance.MEMORY_S = 1.0, 2.0
import claw.memory.hygiene.announce as announce
from claw.memory.hygiene.state import Uptime
announce.read_uptime = lambda: Uptime("bench", read_clock())
if keep:
    import claw.runtime.turn.histories as histories
    import claw.storage.ledger as ledger
    import claw.storage.queue.maintenance as kept
    import claw.storage.sessions as sessions
    ledger.KEPT_DAYS, sessions.SPARED = keep, 20
    histories.KEPT_TURNS = 20
    kept.PAYLOADS_S = kept.IDS_S = keep * 86400.0
from claw.__main__ import main
sys.argv[0] = "claw"
sys.exit(main())
"""


# -- what it takes


class Mark(NamedTuple):
    """One replayed day."""

    rss_mb: float
    own_mb: float
    mapped_mb: float
    idle_mb: float
    objects_mb: float
    fds: int
    threads: int
    tasks: int
    files_mb: float
    files: int


def measure(busy: Listen, idle: Listen) -> tuple[Mark, dict[str, float]]:
    sizes: dict[str, float] = defaultdict(float)
    count = 0
    for path in busy.running.home.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and path.name not in (
                    "tasks", "traced", "clock", "grew"):
                count += 1
                sizes[_kind(path.relative_to(busy.running.home))] += (
                    path.stat().st_size / 2**20)
    looks = []  # hygiene, which opens brain.db once more, may be at work
    for _ in range(LOOKS):
        print_ = footprint(busy.running)
        looks.append((*split_rss(busy.running.pid), print_.fds,
                      print_.threads, print_.tasks))
        time.sleep(0.5)
    rss, own, fds, threads, tasks = map(min, zip(*looks, strict=True))
    return Mark(rss, own, rss - own, split_rss(idle.running.pid)[0],
                float(busy.traced or 0) / 2**20, int(fds), int(threads),
                int(tasks), sum(sizes.values()), count), dict(sizes)


def split_rss(pid: int) -> tuple[float, float]:
    """Resident memory (MB), and what of it is no page of a file."""
    found = {line.split()[0]: int(line.split()[1]) / 1024 for line in Path(
        f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]}
    return found["Rss:"], found["Anonymous:"]


def _kind(path: Path) -> str:
    """A database, the log, or the folder of many files."""
    if path.name.partition(".db")[1]:
        return path.name.partition(".db")[0] + ".db" + (
            "-wal" if path.name.endswith("-wal") else "")
    parts = path.parts[1:] if path.parts[0] == "workspace" else path.parts
    return "/".join(parts[:2][:-1]) or parts[0]


def replay(busy: Listen, idle: Listen, telegram: Telegram, model: Model,
           options: argparse.Namespace
           ) -> Iterator[tuple[Mark, dict[str, float]]]:
    rng, number = random.Random(7), 0
    steps = 24 // STEP_H
    for day in range(options.days):
        for step in range(steps):
            share = (options.messages * (step + 1) // steps
                     - options.messages * step // steps)
            telegram.post([Note(number + n, 5000 + int(
                rng.paretovariate(0.8)) % options.chats)
                for n in range(share)])
            telegram.wait(share, 240.0)
            number += share
            telegram.take()
            model.take()
            for one in (busy, idle):
                one.jump(STEP_H * 3600)
            time.sleep(TENDING_S)
        busy.running.check()
        if options.trace and day in (options.days // 2, options.days - 1):
            (busy.running.home / "snapshot").touch()
            while (busy.running.home / "snapshot").exists():
                time.sleep(0.2)
        yield measure(busy, idle)


class Growth(NamedTuple):
    """How much came in the first and in the last third of the days."""

    name: str
    first: float
    last: float
    now: float
    limit: float

    @property
    def is_level(self) -> bool:
        return self.last <= self.limit


def compare_thirds(name: str, values: list[float], limit: float) -> Growth:
    third = len(values) // 3
    return Growth(name, _grow(values[:third]), _grow(values[-third:]),
                  values[-1], limit)


def _grow(values: list[float]) -> float:
    """Over as many days as there are values; one that stands out (measured
    while hygiene ran) does not count (Theil, 1950; Sen, 1968)."""
    return len(values) * statistics.median(
        (late - early) / (days - day)
        for day, early in enumerate(values)
        for days, late in enumerate(values) if days > day)


def report(found: list[tuple[Mark, dict[str, float]]],
           messages: int) -> bool:
    """Whether all that counts has levelled off."""
    third = len(found) // 3
    if third < 2:
        print("\ntoo few days to tell whether it levels off")
        return True
    marks = [compare_thirds(name, values, max(
        LEVEL * max(values), 0.0 if name.endswith("mb") else LEVEL_COUNT))
        for name in Mark._fields
        for values in [[float(getattr(mark, name)) for mark, _ in found]]]
    files = [compare_thirds(name, values, LEVEL * max(values))
             for name in sorted({name for _, sizes in found for name in sizes})
             for values in [[sizes.get(name, 0.0) for _, sizes in found]]]
    print(f"\n{'':20} {f'first {third} days':>14} {f'last {third} days':>14}"
          f" {'kB a message':>13} {'now':>9}")
    for one in (*marks, *files):
        each = (f"{one.last * 1024 / messages / third:.3f}"
                if one in files or one.name.endswith("mb") else "")
        print(f"{one.name:20} {one.first:+14.2f} {one.last:+14.2f} {each:>13}"
              f" {one.now:9.2f}{'' if one.is_level else '  not level'}")
    grows = [one.name for one in marks if not one.is_level]
    print("\n" + (f"NOT levelled off: {', '.join(grows)}" if grows
                  else "levelled off"))
    return not grows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=42)
    parser.add_argument("--messages", type=int, default=150,
                        help="of a day (150)")
    parser.add_argument("--chats", type=int, default=20)
    parser.add_argument("--keep", type=int, default=3, metavar="DAYS",
                        help="how long claw keeps what it keeps for a time "
                        "(3; 2 or more; 0: as shipped)")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--directory", help="where homes are made")
    options = parser.parse_args()
    with Telegram() as telegram, Telegram() as silent, \
            Model(Assistant) as model, \
            tempfile.TemporaryDirectory(dir=options.directory) as folder, \
            listen(Path(folder, "busy"), telegram.url, model.url,
                   keep=options.keep, trace=options.trace) as busy, \
            listen(Path(folder, "idle"), silent.url, model.url,
                   keep=options.keep) as idle:
        print(f"{options.days} days of {options.messages} messages, "
              f"{options.chats} chats, kept "
              + (f"{options.keep} days" if options.keep else "as shipped"))
        print(f"{'day':>4} " + " ".join(
            f"{name:>10}" for name in Mark._fields))
        found = []
        for day, (mark, sizes) in enumerate(
                replay(busy, idle, telegram, model, options), 1):
            print(f"{day:4} " + " ".join(
                f"{value:10.2f}" for value in mark), flush=True)
            found.append((mark, sizes))
        is_level = report(found, options.messages)
        if options.trace:
            print((Path(folder, "busy", "grew")).read_text())
        if not is_level:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
