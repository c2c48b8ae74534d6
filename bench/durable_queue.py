"""What the durable queue costs: commits a second, and CPU of each.

    python bench/durable_queue.py [--directory DIR] [--seconds 2]

One and 64 tasks at the same time; `accept` waits for the disk (durable),
`keep_draft` does not (light), `next_due` only reads. The baseline is the
same disk without the queue: one row, one fsynced commit. Medians of five
runs. CPU is that of the whole process. DIR must be on a real disk.
"""

import argparse
import asyncio
import itertools
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from claw.core.channel import ChannelMessage
from claw.storage.queue.model import Arrival, Claim, Lease
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sqlite import connect, write

RUNS = 5
Verb = Callable[[], Awaitable[object]]


async def rate(verb: Verb, tasks: int, seconds: float
               ) -> tuple[float, float]:
    """Calls a second, and CPU microseconds of each."""
    done = 0
    end = time.perf_counter() + seconds

    async def work() -> None:
        nonlocal done
        while time.perf_counter() < end:
            await verb()
            done += 1

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(tasks)))
    spent = time.process_time() - cpu
    return done / (time.perf_counter() - started), spent / done * 1e6


def verbs(queue: SqliteQueue, lease: Lease,
          claim: Claim) -> dict[str, Verb]:
    numbers = itertools.count(1)

    def arrival() -> Arrival:
        number = next(numbers)
        return Arrival(ChannelMessage(str(number), "bob", "42", "hello " * 20,
                                      "telegram", number), f"c{number % 50}")

    return {
        "accept, durable": lambda: queue.accept(lease, [arrival()]),
        "keep_draft, light": lambda: queue.keep_draft(lease, claim, "7"),
        "next_due, read": lambda: queue.next_due("telegram"),
    }


async def measure(directory: Path, seconds: float) -> None:
    queue = SqliteQueue(directory / "queue.db")
    lease = await queue.lease("bench", 3600)
    assert lease is not None
    await queue.accept(lease, [Arrival(ChannelMessage(
        "first", "bob", "42", "hello", "telegram", 1), "first")])
    claim = await queue.claim(lease, "first")
    assert claim is not None
    for name, verb in verbs(queue, lease, claim).items():
        for tasks in (1, 64):
            runs = [await rate(verb, tasks, seconds / RUNS)
                    for _ in range(RUNS)]
            show(name, tasks, *map(statistics.median, zip(*runs,
                                                          strict=True)))
    await queue.aclose()


def baseline(directory: Path, seconds: float) -> tuple[float, float]:
    """One row, one commit, one fsync, nothing else."""
    path = directory / "plain.db"
    connection = connect(path, synchronous="FULL")
    with write(connection, path):
        connection.execute("CREATE TABLE t (x TEXT)")
    done, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() < started + seconds:
        with write(connection, path):
            connection.execute("INSERT INTO t VALUES (?)", ("hello " * 20,))
        done += 1
    took, spent = time.perf_counter() - started, time.process_time() - cpu
    connection.close()
    return done / took, spent / done * 1e6


def show(name: str, tasks: int, each_s: float, cpu_us: float) -> None:
    print(f"{name:<22}{tasks:>6}{each_s:>12,.0f}{cpu_us:>12,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", default=".")
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    print(f"SQLite {sqlite3.sqlite_version}")
    print(f"{'verb':<22}{'tasks':>6}{'calls/s':>12}{'CPU us':>12}")
    with tempfile.TemporaryDirectory(dir=given.directory) as made:
        show("plain SQLite, durable", 1, *baseline(Path(made),
                                                   given.seconds))
        asyncio.run(measure(Path(made), given.seconds))


if __name__ == "__main__":
    main()
