"""What a dead or slow platform does to another one's answers.

    python bench/slow_platform.py [--on telegram] [--other webhook]...
        [--messages 200] [--every 60] [--rounds 3]

Two channels of one `claw listen`; people write on one of them every 60 ms,
from ten chats, and now and then on the other, whose platform is well, resets
each connection, swallows what it is told without an answer, or is five
seconds late in each direction. Measured: from the post to the answer on the
first one, and CPU of claw for each of its answers. "well" is run twice a
round: what differs between the two is noise. All runs of a round stand in
another order. Exits 1 where an answer is missing, or a p99 is worse than
both of "well", noise and a tenth added.

Without --other each channel beside the first one takes its turn.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from platforms import Listening, describe_machine

from claw.testing.prove.stages import STAGES

MODES = ("well", "well again", "refuses", "swallows", "slow")
LATE_S = 5.0
CHATS = 10
OTHER_EVERY = 20  # one message on the other for so many
LOOK_S = 0.002


class Run(NamedTuple):
    """Waits in seconds, CPU seconds for an answer."""

    waits: list[float]
    missing: int
    cpu_s: float


def measure(on: str, other: str, mode: str, messages: int, every_s: float
            ) -> Run:
    with Listening([on, other], relayed=[other], delay_s=LATE_S) as listening:
        listening.warm_up(on)
        listening.warm_up(other)
        for relay in listening.relays[other]:
            relay.change(mode.partition(" ")[0])
        time.sleep(1)
        before = listening.cost().cpu_s
        posted: dict[str, float] = {}
        waits: dict[str, float] = {}
        next_at = time.monotonic()
        end = next_at + messages * every_s + 20
        while (len(posted) < messages or len(waits) < len(posted)) \
                and time.monotonic() < end:
            if len(posted) < messages and time.monotonic() >= next_at:
                mark = listening.post(on, 1001 + len(posted) % CHATS)
                posted[mark] = time.monotonic()
                next_at += every_s
                if len(posted) % OTHER_EVERY == 0:
                    listening.post(other, 1001)
            now = time.monotonic()
            for mark in listening.answers(on) & posted.keys() - waits.keys():
                waits[mark] = now - posted[mark]
            time.sleep(LOOK_S)
        cpu_s = (listening.cost().cpu_s - before) / messages
    return Run(list(waits.values()), len(posted) - len(waits), cpu_s)


def find_p99(waits: Sequence[float]) -> float:
    return sorted(waits)[max(0, round(len(waits) * 0.99) - 1)]


def compare(on: str, other: str, given: argparse.Namespace) -> bool:
    """Print the table of a pair; whether the bars are kept."""
    runs: dict[str, list[Run]] = {mode: [] for mode in MODES}
    for number in range(given.rounds):
        for mode in random.Random(number).sample(MODES, len(MODES)):
            runs[mode].append(measure(on, other, mode, given.messages,
                                      given.every / 1000))
    print(f"\n{on}, beside {other}: {given.rounds} rounds of "
          f"{given.messages} messages")
    print(f"{'other is':<12} {'p50':>9} {'p99':>9} {'p99 each round':>26} "
          f"{'CPU/answer':>11} {'ratio':>6} missing")
    base = statistics.median(run.cpu_s for run in runs["well"])
    p99 = {mode: [find_p99(run.waits) * 1000 for run in found]
           for mode, found in runs.items()}
    for mode, found in runs.items():
        cpu_s = statistics.median(run.cpu_s for run in found)
        each = " ".join(f"{wait:.0f}" for wait in p99[mode])
        p50 = statistics.median(w for run in found for w in run.waits)
        print(f"{mode:<12} {p50 * 1000:>6.1f} ms "
              f"{statistics.median(p99[mode]):>6.1f} ms {each:>26} "
              f"{cpu_s * 1000:>8.2f} ms {cpu_s / base:>6.2f} "
              f"{sum(run.missing for run in found):>7}", flush=True)
    limit = 1.1 * max(max(p99["well"]), max(p99["well again"]))
    bad = [mode for mode in MODES[2:] if statistics.median(
        p99[mode]) > limit or any(run.missing for run in runs[mode])]
    print(f"worst p99 of the equal runs {limit / 1.1:.0f} ms: "
          + (f"NOT KEPT by {', '.join(bad)}" if bad else "kept by all"))
    return not bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--on", default=STAGES.names()[0])
    parser.add_argument("--other", action="append", metavar="NAME")
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--every", type=float, default=60, metavar="MS")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(describe_machine())
    others = given.other or [n for n in STAGES.names() if n != given.on]
    kept = [compare(given.on, other, given) for other in others]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
