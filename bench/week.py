"""Whether `claw listen` levels off: a replayed week with memory on.

    python bench/week.py [--days 7] [--messages 400] [--chats 20]
        [--trace] [--directory DIR]

A real `claw listen` between a fake Telegram and an instant model; its wall
clock jumps on by STEP_H hours after each share of a day's messages, and what
it does every ten minutes or every hour it does every second instead, so that
retention, hygiene and rotation have their turn on each replayed day. Of ten
messages one stores a memory, one recalls, one writes a file, one runs a
command, one brings a document; the rest are talk. An idle `claw listen` whose
clock jumps alike stands beside it: the flat line to compare with.

A row for each replayed day: resident memory of both (MB), of Python's objects
alone with --trace (then all is slower and larger), descriptors, threads,
tasks, and each kind of file (MB, number). Then the growth of the second half,
fitted, per day and per message; with --trace what grew.
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
TENDING_S = 2.2
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
        0: ("memory_store", {"key": f"fact {number}",
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
def listen(home: Path, telegram: str, model: str, *, trace: bool = False
           ) -> Iterator[Listen]:
    home.mkdir(parents=True)
    config = home / "config.toml"
    config.write_text(f"""\
default_provider = "custom:{model}"
default_model = "m"
[memory]
backend = "sqlite"
[autonomy]
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
            [sys.executable, "-c", _CHILD, str(int(trace)), "--config-dir",
             str(home), "listen", "-q"], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, cwd=home, env={
                "PATH": os.environ["PATH"], "HOME": str(home),
                "XDG_RUNTIME_DIR": str(home), **({
                    "MALLOC_ARENA_MAX": os.environ["MALLOC_ARENA_MAX"]}
                    if "MALLOC_ARENA_MAX" in os.environ else {})}),
            home) as running:
        yield Listen(running, clock, home / "workspace")


# claw as it is with another clock, often tending, and a thread that notes
# the number of tasks and, traced, the memory of Python's objects.
_CHILD = """
import asyncio, datetime, gc, os, pathlib, sys, threading, time
trace = sys.argv.pop(1) == "1"
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
from claw.__main__ import main
sys.argv[0] = "claw"
sys.exit(main())
"""


# -- what it takes


class Mark(NamedTuple):
    """One replayed day."""

    rss_mb: float
    idle_mb: float
    objects_mb: float
    fds: int
    threads: int
    tasks: int
    files_mb: float
    files: int


def measure(busy: Listen, idle: Listen) -> tuple[Mark, dict[str, float]]:
    print_ = footprint(busy.running)
    sizes: dict[str, float] = defaultdict(float)
    count = 0
    for path in busy.running.home.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and path.name not in (
                    "tasks", "traced", "clock", "grew"):
                count += 1
                sizes[_kind(path.relative_to(busy.running.home))] += (
                    path.stat().st_size / 2**20)
    return Mark(print_.rss_mb, footprint(idle.running).rss_mb,
                float(busy.traced or 0) / 2**20, print_.fds, print_.threads,
                print_.tasks, sum(sizes.values()), count), dict(sizes)


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


def report(found: list[tuple[Mark, dict[str, float]]],
           messages: int) -> None:
    half = found[len(found) // 2 - (len(found) // 2 > 2):]
    if len(half) < 3:
        return
    days = list(range(len(half)))

    def slope(values: list[float]) -> float:
        return statistics.linear_regression(days, values).slope

    print(f"\ngrowth a day, fitted to the last {len(half)} days:")
    for name in Mark._fields:
        each = slope([float(getattr(mark, name)) for mark, _ in half])
        print(f"  {name:22} {each:9.3f}   "
              + (f"{each * 1024 / messages:9.3f} kB a message"
                 if name.endswith("_mb") else ""))
    for name in sorted({name for _, sizes in half for name in sizes}):
        each = slope([sizes.get(name, 0.0) for _, sizes in half])
        print(f"  {name:22} {each:9.3f} MB, "
              f"{each * 1024 / messages:9.3f} kB a message, now "
              f"{half[-1][1].get(name, 0.0):.2f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--messages", type=int, default=400,
                        help="of a day (400)")
    parser.add_argument("--chats", type=int, default=20)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--directory", help="where homes are made")
    options = parser.parse_args()
    with Telegram() as telegram, Telegram() as silent, \
            Model(Assistant) as model, \
            tempfile.TemporaryDirectory(dir=options.directory) as folder, \
            listen(Path(folder, "busy"), telegram.url, model.url,
                   trace=options.trace) as busy, \
            listen(Path(folder, "idle"), silent.url, model.url) as idle:
        print(f"{options.days} days of {options.messages} messages, "
              f"{options.chats} chats")
        print(f"{'day':>4} " + " ".join(
            f"{name:>10}" for name in Mark._fields))
        found = []
        for day, (mark, sizes) in enumerate(
                replay(busy, idle, telegram, model, options), 1):
            print(f"{day:4} " + " ".join(
                f"{value:10.2f}" for value in mark), flush=True)
            found.append((mark, sizes))
        report(found, options.messages)
        if options.trace:
            print((Path(folder, "busy", "grew")).read_text())


if __name__ == "__main__":
    main()
