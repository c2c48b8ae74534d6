"""What `claw listen` costs and bears, between a fake Telegram and an
instant model, beside nanobot's gateway in the same run.

    python bench/runtime.py [--only latency|rate|flood|memory|soak]
        [--claw PYTHON]... [--nanobot PYTHON] [--messages N] [--rounds N]
        [--variants] [--memory sqlite] [--chats N] [--directory DIR]

PYTHON is the interpreter of an environment. One that is not editable, so
that no edit changes what is measured:

    python -m venv /tmp/a && /tmp/a/bin/pip install .
    python -m venv /tmp/n && /tmp/n/bin/pip install nanobot-ai \\
        'python-telegram-bot[socks,webhooks]>=22.6,<23'

nanobot joins what a chat writes while it works, and works slower than
these messages come: give it a chat for each message, and time.

    --only latency --every 400 --messages 100 --chats 100
    --only rate --messages 300 --chats 300

Several --claw are measured in turns: before and after a change. Every
round runs every bot once. Clocks are the machine's monotonic one; CPU is
that of the bot's process alone. DIR must be on a real disk: each message
is committed with an fsync.

latency  one message every 40 ms (--every) from 10 chats (--chats); from
         the moment Telegram's answer with the message is written to the
         moment the model has read the request; from the model's answer
         to the answer at Telegram
rate     messages of 50 (--chats) chats that wait at the start: answers
         a second from the first to the last, CPU of one
flood    100 chats, one of them writes 9 of 10 messages; how long the
         others wait for an answer, with and without the flood
memory   resident memory after 30 idle seconds and after every 1,000
         messages
soak     a day's messages at 60x: 24 minutes. Memory, fds, threads, files
"""

import argparse
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from runtime_bots import (
    Bot,
    Footprint,
    Running,
    cpu_s,
    footprint,
    rss_mb,
    settled_cpu,
)
from runtime_peers import Model, Post, Seen, Telegram

DAY_S = 86_400
SOAK_SPEED = 60
WARM_UP = 20


class Peers(NamedTuple):
    """Both ends, and a place for homes."""

    telegram: Telegram
    model: Model
    directory: str | None


@contextmanager
def running(peers: Peers, bot: Bot, waiting: list[Post] | None = None
            ) -> Iterator[Running]:
    """The bot, warmed up by WARM_UP messages; or started upon messages
    that wait, then not."""
    with tempfile.TemporaryDirectory(dir=peers.directory) as home:
        if waiting:
            peers.telegram.post(waiting)
        else:
            peers.telegram.post([Post(0, 10**6 + n, 5000 + n)
                                 for n in range(WARM_UP)])
        with bot.start(Path(home), peers.telegram.url, Telegram.token,
                       peers.model.url) as started:
            if not waiting:
                peers.telegram.wait(WARM_UP)
                settled_cpu(started.pid)
                peers.telegram.take()
                peers.model.take()
            yield started
            started.check()
        # What a killed or slow bot left unread belongs to no other one.
        peers.telegram.take()
        peers.model.take()


def percentile(values: list[float], share: float) -> float:
    """Nearest rank."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * share) - 1)]


def spread(values: list[float]) -> str:
    """p50, p90, p99 in milliseconds."""
    return " ".join(f"{percentile(values, share) * 1000:8.2f}"
                    for share in (0.5, 0.9, 0.99))


def in_order(seen: Seen) -> bool:
    """Whether each chat was answered in the order it wrote, once."""
    return all(numbers == sorted(set(numbers))
               for numbers in seen.order.values())


# -- latency


def latency(peers: Peers, bots: list[Bot], options: argparse.Namespace
            ) -> None:
    count = options.messages or 500
    print(f"\nlatency: {count} messages of {options.chats or 10} chats, one "
          f"every {options.every} ms, ms (p50 p90 p99)")
    print(f"{'bot':34} {'Telegram to model':>26} {'model to answer':>26} "
          f"{'CPU/msg':>8}")
    middles: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.rounds):
        for bot in bots:
            there, back, cpu = _latency(peers, bot, count, options)
            middles.setdefault(bot.name, []).append(
                (percentile(there, 0.5), percentile(there, 0.99)))
            print(f"{bot.name:34} {spread(there)} {spread(back)} "
                  f"{cpu * 1000:8.2f}", flush=True)
    for name, found in middles.items():
        half, most = (statistics.median(v) * 1000
                      for v in zip(*found, strict=True))
        print(f"median of {len(found)}: {name:34} p50 {half:.2f} ms, "
              f"p99 {most:.2f} ms")


def _latency(peers: Peers, bot: Bot, count: int,
             options: argparse.Namespace) -> tuple[
                 list[float], list[float], float]:
    pace_s, chats = options.every / 1000, options.chats or 10
    with running(peers, bot) as started:
        before = cpu_s(started.pid)
        peers.telegram.post([Post(n * pace_s, n, 6000 + n % chats)
                             for n in range(count)])
        peers.telegram.wait(count)
        cpu = settled_cpu(started.pid) - before
        seen = peers.telegram.take()
        read, wrote, _ = peers.model.take()
    return ([read[n] - seen.left[n] for n in seen.left],
            [seen.answered[n] - wrote[n] for n in seen.left], cpu / count)


# -- rate


def rate(peers: Peers, bots: list[Bot], options: argparse.Namespace
         ) -> None:
    count = options.messages or 2000
    print(f"\nrate: {count} messages of {options.chats or 50} chats "
          "wait")
    print("CPU in ms for a message: of the bot, of Telegram and the model")
    print(f"{'bot':34} {'msg/s':>8} {'CPU':>7} {'fakes':>6} {'order':>6} "
          "calls of Telegram / of the model for a message")
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.rounds):
        for bot in bots:
            speed, cpu, fakes, seen, asked = _rate(
                peers, bot, count, options.chats or 50)
            found.setdefault(bot.name, []).append((speed, cpu))
            order = "kept" if in_order(seen) else "LOST"
            calls = ", ".join(f"{name} {n / count:.2f}" for name, n in
                              sorted(seen.calls.items()) if n > count / 50)
            print(f"{bot.name:34} {speed:8.1f} {cpu * 1000:7.2f} "
                  f"{fakes * 1000:6.2f} {order:>6} {calls} / "
                  f"{asked / count:.2f}", flush=True)
    first = [cpu for _, cpu in found[bots[0].name]]
    for name, values in found.items():
        speed, cpu = (statistics.median(v) for v in zip(*values,
                                                        strict=True))
        ratio = statistics.median(
            mine / (its or 1)
            for (_, mine), its in zip(values, first, strict=True))
        print(f"median of {len(values)}: {name:34} {speed:.1f} msg/s, "
              f"{cpu * 1000:.2f} ms CPU, {ratio:.2f}x of the first in its "
              "round")


def _rate(peers: Peers, bot: Bot, count: int, chats: int
          ) -> tuple[float, float, float, Seen, int]:
    posts = [Post(0, n, 7000 + n % chats) for n in range(count)]
    with running(peers, bot, posts) as started:
        peers.telegram.wait(1)
        fakes = peers.telegram.pid, peers.model.pid
        done, before = peers.telegram.answered(), cpu_s(started.pid)
        others = sum(map(cpu_s, fakes))
        peers.telegram.wait(count)
        cpu = settled_cpu(started.pid) - before
        others = sum(map(cpu_s, fakes)) - others
        seen = peers.telegram.take()
        _, _, (asked, _) = peers.model.take()
    times = sorted(seen.answered.values())
    return ((len(times) - 1) / (times[-1] - times[0]), cpu / (count - done),
            others / (count - done), seen, asked)


# -- flood


def flood(peers: Peers, bots: list[Bot], options: argparse.Namespace
          ) -> None:
    count = options.messages or 10_000
    print(f"\nflood: {count // 10} messages of 99 chats, 20 a second, and "
          f"{count - count // 10} of one chat as fast as they go; "
          "how long the 99 wait for an answer, ms (p50 p90 p99)")
    for _ in range(options.rounds):
        for bot in bots:
            for flooding in (False, True):
                waits, order, took = _flood(peers, bot, count, flooding)
                print(f"{bot.name:34} "
                      f"{'flooded' if flooding else 'quiet':8} "
                      f"{spread(waits)}  order "
                      f"{'kept' if order else 'LOST'}, all after "
                      f"{took:.0f} s", flush=True)


def _flood(peers: Peers, bot: Bot, count: int, flooding: bool
           ) -> tuple[list[float], bool, float]:
    others, rng = count // 10, random.Random(7)
    posts = [Post(n / 20, n, 8001 + rng.randrange(99))
             for n in range(others)]
    if flooding:
        last = posts[-1].at
        posts += [Post(last * n / (count - others), others + n, 8000)
                  for n in range(count - others)]
        posts.sort()
    with running(peers, bot) as started:
        begun = time.monotonic()
        peers.telegram.post(posts)
        peers.telegram.wait(len(posts), 120)
        took = time.monotonic() - begun
        started.check()
        seen = peers.telegram.take()
    return ([seen.answered[n] - seen.posted[n] for n in range(others)],
            in_order(seen), took)


# -- memory


def memory(peers: Peers, bots: list[Bot], options: argparse.Namespace
           ) -> None:
    count = options.messages or 5000
    print(f"\nmemory: MB idle, then after every 1,000 of {count} messages "
          "of 100 chats")
    for bot in bots:
        with running(peers, bot) as started:
            time.sleep(30)
            print(f"{bot.name:34} idle {rss_mb(started.pid):6.1f}; ",
                  end="", flush=True)
            for start in range(0, count, 1000):
                peers.telegram.post([Post(0, start + n, 9000 + n % 100)
                                     for n in range(1000)])
                peers.telegram.wait(1000)
                settled_cpu(started.pid)
                peers.telegram.take()
                peers.model.take()
                print(f"{rss_mb(started.pid):6.1f}", end=" ", flush=True)
        print()


# -- soak


def soak(peers: Peers, bots: list[Bot], options: argparse.Namespace
         ) -> None:
    count = options.messages or 10_000
    for bot in bots:
        print(f"\nsoak: {bot.name}, {count} messages of 200 chats, a day "
              f"at {options.speed}x")
        print(f"{'hour':>5} {'answered':>9} "
              + " ".join(f"{name:>11}" for name in Footprint._fields))
        found = list(_soak(peers, bot, count, options.speed))
        late = [(hour, mark.rss_mb) for hour, mark in found if hour >= 6]
        if len(late) > 2:
            slope, _ = statistics.linear_regression(
                *zip(*late, strict=True))
            print(f"growth after the first 6 hours: {slope:.3f} MB an hour "
                  "of the day replayed")


def _soak(peers: Peers, bot: Bot, count: int, speed: float
          ) -> Iterator[tuple[float, Footprint]]:
    rng = random.Random(7)
    hour_s = 3600 / speed
    times = sorted(rng.uniform(0, 24) for _ in range(count))
    chats = [10_000 + int(rng.paretovariate(0.8)) % 200
             for _ in range(count)]
    with running(peers, bot._replace(counted=bot.kind == "claw")) as started:
        done = 0
        for hour in range(24):
            posts = [Post((at - hour) * hour_s, n, chats[n])
                     for n, at in enumerate(times) if hour <= at < hour + 1]
            begun = time.monotonic()
            peers.telegram.post(posts)
            peers.telegram.wait(len(posts))
            time.sleep(max(0.0, hour_s - (time.monotonic() - begun)))
            done += len(peers.telegram.take().answered)
            peers.model.take()
            mark = footprint(started)
            print(f"{hour + 1:5} {done:9} " + " ".join(
                f"{value:11.2f}" for value in mark), flush=True)
            yield hour + 1, mark


CASES = {"latency": latency, "rate": rate, "flood": flood,
         "memory": memory, "soak": soak}


def bots_of(options: argparse.Namespace) -> list[Bot]:
    found = []
    for python in options.claw or [sys.executable]:
        name = f"claw {python}" if len(options.claw or ()) > 1 else "claw"
        found.append(Bot(name[-34:], python, memory=options.memory))
        if options.variants:
            found += [Bot(f"{name}, reactions"[-34:], python, acks=True),
                      Bot(f"{name}, sqlite"[-34:], python,
                          memory="sqlite")]
    if options.nanobot:
        found.append(Bot("nanobot", options.nanobot, "nanobot"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--claw", metavar="PYTHON", action="append")
    parser.add_argument("--nanobot", metavar="PYTHON")
    parser.add_argument("--messages", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chats", type=int,
                        help="of the messages of latency (10), rate (50)")
    parser.add_argument("--every", type=float, default=40, metavar="MS",
                        help="how often latency posts a message (40)")
    parser.add_argument("--variants", action="store_true",
                        help="claw with reactions and with memory as well")
    parser.add_argument("--memory", default="none",
                        help="claw's memory backend (none)")
    parser.add_argument("--directory", help="where homes are made")
    parser.add_argument("--speed", type=float, default=SOAK_SPEED)
    options = parser.parse_args()
    with Telegram() as telegram, Model() as model:
        peers = Peers(telegram, model, options.directory)
        for name in options.only or ("latency", "rate", "flood", "memory"):
            CASES[name](peers, bots_of(options), options)


if __name__ == "__main__":
    main()
