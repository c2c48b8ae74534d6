"""What an idle `claw listen` costs with all channels at once.

    python bench/idle_channels.py [--only NAME]... [--seconds 60] [--each]

Every channel that has a fake in claw.testing.prove.stages is set up; each
answers one message, so that what loads late is there, and then nobody writes
for a minute. RSS counts pages that are shared with other programs, PSS its
part of them. A wake-up is a thread that goes to sleep once more. With
--each every channel is measured alone, too. Exits 1 past a bar:
130 MB RSS, 1 % of a core.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from platforms import Listening, describe_machine

from claw.testing.prove.stages import STAGES

RSS_MB, CPU_PERCENT = 130.0, 1.0


class Idle(NamedTuple):
    names: Sequence[str]
    started_mb: float
    rss_mb: float
    pss_mb: float
    cpu_percent: float
    wakes: float
    threads: int


def measure(names: Sequence[str], seconds: float) -> Idle:
    with Listening(names, own_polls=True) as listening:
        time.sleep(2)
        started = listening.cost()
        for name in names:
            listening.warm_up(name)
        time.sleep(5)  # to come to rest
        before, began = listening.cost(), time.monotonic()
        time.sleep(seconds)
        after, took = listening.cost(), time.monotonic() - began
    return Idle(names, started.rss_mb, after.rss_mb, after.pss_mb,
                100 * (after.cpu_s - before.cpu_s) / took,
                (after.sleeps - before.sleeps) / took, after.threads)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--each", action="store_true")
    given = parser.parse_args()
    names = given.only or STAGES.names()
    print(describe_machine())
    print(f"{'channels':<24} {'started':>8} {'RSS':>8} {'PSS':>8} "
          f"{'CPU':>8} {'wakes/s':>8} threads")
    runs = [*([[name] for name in names] if given.each and len(names) > 1
              else []), names]
    for run in runs:
        row = measure(run, given.seconds)
        title = run[0] if len(run) == 1 else f"all {len(run)}"
        print(f"{title:<24} {row.started_mb:>5.0f} MB {row.rss_mb:>5.0f} MB "
              f"{row.pss_mb:>5.0f} MB {row.cpu_percent:>6.2f} % "
              f"{row.wakes:>8.2f} {row.threads:>7}", flush=True)
    within = row.rss_mb < RSS_MB and row.cpu_percent < CPU_PERCENT
    print(f"bars: {RSS_MB:g} MB, {CPU_PERCENT:g} % of a core: "
          + ("kept" if within else "NOT KEPT"))
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
