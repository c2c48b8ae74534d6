"""The log: search in a large one, and what kills lose.

    python bench/log.py [--entries 100000] [--kills 500] [--rounds 9]

Search is a cold command in user+system CPU, beside `python -c pass` in the
same run. For the kills `claw ask` is ended by SIGKILL at a random moment; an
answer that was printed with its final newline must stand in the log, and
one whose question reached the server must be listed.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from claw.storage.log.entry import End, Start
from claw.storage.log.reader import Filters, open_reader
from claw.storage.log.settings import LogSettings
from claw.storage.log.writer import LogWriter
from claw.testing.fake_openai import FakeOpenAI

TEXT = """
tea green harbour ticket budget deploy server error file python list
function Bonn Oslo rent contract answer question table memory window
train night Wasser Programm Haus Arbeit
"""
WORDS = TEXT.split()
QUERIES = ("harbour ticket", "deployed servers", "rareword4711", "the tea")


def cpu_ms(command: list[str], env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, stdin=subprocess.DEVNULL, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime
            - before.ru_utime - before.ru_stime) * 1000


def fill(path: Path, entries: int) -> None:
    rng = random.Random(7)
    shares = [1 / (rank + 3) for rank in range(len(WORDS))]
    writer = LogWriter(path, LogSettings(keep_days=0, max_mb=0))
    for number in range(entries):
        turn = f"{rng.getrandbits(128):032x}"
        rare = " rareword4711" if number % 25_000 == 7 else ""
        writer.begin(Start(turn, "ask", " ".join(
            rng.choices(WORDS, shares, k=12)) + rare, model="m"))
        writer.end(turn, End("answered", " ".join(
            rng.choices(WORDS, shares, k=60))))
    writer.close()


def measure_search(env: dict[str, str], rounds: int) -> None:
    cases = {"python -c pass": [sys.executable, "-c", "pass"]}
    for query in QUERIES:
        cases[f"claw log search {query!r}"] = [
            sys.executable, "-m", "claw", "log", "search", query]
    cases["claw log list"] = [sys.executable, "-m", "claw", "log", "list"]
    seen: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, command in cases.items():
            seen[name].append(cpu_ms(command, env))
    bare = statistics.median(seen["python -c pass"])
    for name, values in seen.items():
        middle = statistics.median(values)
        print(f"{name:36} {middle:8.1f} ms {middle / bare:6.1f}x")


def measure_kills(env: dict[str, str], path: Path, kills: int) -> None:
    rng = random.Random(11)
    answered: set[str] = set()
    asked: set[str] = set()
    with FakeOpenAI(["the whole answer"]) as server:
        command = [sys.executable, "-m", "claw", "ask", "-p",
                   f"custom:{server.url}", "-m", "m"]
        subprocess.run([*command, "warm"], env=env, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        started = time.monotonic()
        subprocess.run([*command, "warm"], env=env, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        longest = time.monotonic() - started
        for number in range(kills):
            prompt = f"question number {number}"
            before = len(server.chats)
            process = subprocess.Popen(
                [*command, prompt], env=env, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.3, 1.8) * longest)
            process.kill()
            said, _ = process.communicate()
            if said == b"the whole answer\n":
                answered.add(prompt)
            if len(server.chats) > before:
                asked.add(prompt)
    with open_reader(path) as reader:
        kept = {entry.prompt: entry for entry in
                reader.page(Filters(), 10 * kills)}
        reader.check()
    lost = [p for p in answered if p not in kept
            or kept[p].answer != "the whole answer"]
    unlisted = [p for p in asked if p not in kept]
    print(f"{kills} kills: {len(asked)} asked, {len(answered)} answered, "
          f"{len(lost)} lost, {len(unlisted)} not listed")
    if lost or unlisted:
        raise SystemExit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        env = {"PATH": os.environ["PATH"], "HOME": directory,
               "CLAW_HOME": str(Path(directory) / "claw"),
               "CLAW_NO_PROBE": "1"}
        path = Path(directory) / "claw/workspace/state/log.db"
        if options.entries:
            fill(path, options.entries)
            size = path.stat().st_size / (1 << 20)
            print(f"{options.entries:,} entries, {size:,.0f} MiB")
            measure_search(env, options.rounds)
        if options.kills:
            measure_kills(env, path, options.kills)


if __name__ == "__main__":
    main()
