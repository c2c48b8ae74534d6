"""kill -9 during `claw map`, and what it printed and paid for afterwards.

    python bench/map.py [--kills 200] [--lines 2000] [--seed 1] [--jobs 4]

The same command is run again and again over the same lines, and killed at a
random moment until it was killed so often; then it may end. The fake
provider counts requests and what they cost. A line is asked about once, and
once more for each kill at which its request was under way: at most --jobs
of them a kill. --max-cost begins low and is raised when it is spent; what
the provider counts never passes it. What each killed run printed is the
beginning of the answers, and what the last one prints is all of them, in
order.

Exits 1 when any of that does not hold.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from claw.testing.fake_openai import FakeOpenAI, last_user_text, usage
from claw.testing.model_server import Recorded

INPUT_USD = 100.0  # for a million tokens
OUTPUT_USD = 400.0
MAX_TOKENS = 50
MOST_S = 30.0  # one run without a new request


class Counting(FakeOpenAI):
    """Echoes, and counts what it is asked and what that costs."""

    def begin(self) -> None:
        self.lines: Counter[str] = Counter()
        self.cost = 0.0
        self.news = threading.Event()

    def _choose(self, request: Recorded) -> object:
        reply = super()._choose(request)
        if request.method == "POST":
            line = last_user_text(request.body).split("\n")[-1]
            counted = usage(reply, request.body)
            self.lines[line] += 1
            self.cost += (counted["prompt_tokens"] * INPUT_USD
                          + counted["completion_tokens"] * OUTPUT_USD) / 1e6
            self.news.set()
        return reply


def start(home: Path, lines: Path, url: str, jobs: int, most: float,
          out: Path) -> subprocess.Popen[bytes]:
    with lines.open("rb") as given, out.open("wb") as printed:
        return subprocess.Popen(
            [sys.executable, "-m", "claw", "map", "-p", f"custom:{url}",
             "-m", "fake-model", "-j", str(jobs), "--max-cost", f"{most}",
             "--max-tokens", str(MAX_TOKENS), "say:"],
            stdin=given, stdout=printed, stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "HOME": str(home),
                 "CLAW_HOME": str(home / ".claw"), "CLAW_NO_PROBE": "1",
                 "CLAW_API_KEY": "k"})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), options)


def run(home: Path, options: argparse.Namespace) -> int:
    rng = random.Random(options.seed)
    begun = time.monotonic()
    names = [f"line-{number}" for number in range(options.lines)]
    lines, out = home / "lines.txt", home / "out.txt"
    lines.write_text("".join(f"{name}\n" for name in names))
    expected = "".join(f"say: {name}\n" for name in names)
    (home / ".claw").mkdir(mode=0o700)
    config = home / ".claw" / "config.toml"
    config.write_text(f'[cost.prices."fake-model"]\ninput = {INPUT_USD}\n'
                      f"output = {OUTPUT_USD}\n[cost]\nenabled = false\n")
    config.chmod(0o600)
    faults: list[str] = []
    kills = early = ended = raises = most_lost = 0
    most = 0.2
    per_kill = max(1, options.lines // options.kills)
    with build_fake() as fake:
        while True:
            before = fake.lines.total()
            repeated = sum(n - 1 for n in fake.lines.values())
            fake.news.clear()
            process = start(home, lines, fake.url, options.jobs, most, out)
            kill = kills < options.kills
            if kill and rng.random() < 0.1:
                time.sleep(rng.uniform(0, 0.4))
            elif kill:
                wanted = before + rng.randrange(1, max(2, 2 * per_kill - 4))
                until = time.monotonic() + MOST_S
                while fake.lines.total() < wanted \
                        and process.poll() is None \
                        and time.monotonic() < until:
                    fake.news.wait(0.05)
                    fake.news.clear()
                time.sleep(rng.uniform(0, 0.02))
            if kill and process.poll() is None:
                process.send_signal(signal.SIGKILL)
            _, err = process.communicate()
            printed = out.read_text()
            if fake.cost > most + 1e-9:
                faults.append(f"${fake.cost:.4f} of ${most} was spent")
            if not expected.startswith(printed):
                faults.append(f"run {kills}: what it printed is out of order")
            lost = sum(n - 1 for n in fake.lines.values()) - repeated
            most_lost = max(most_lost, lost)
            if lost > options.jobs:
                faults.append(f"{lost} lines were asked again at once")
            if process.returncode == -signal.SIGKILL:
                kills += 1
                early += fake.lines.total() == before
            elif process.returncode == 8:  # the money is spent
                raises += 1
                most = round(most * 1.25 + 0.05, 4)
            elif process.returncode == 0:
                ended += 1
                if printed != expected:
                    faults.append("it ended, and not all was printed")
                if kills >= options.kills or ended > options.kills:
                    break
            else:
                faults.append(f"exit {process.returncode}: {err.decode()}")
                break
        requests = fake.lines.total()
        repeats = sum(n - 1 for n in fake.lines.values())
        missing = [name for name in names if not fake.lines[name]]
    if repeats > kills * options.jobs:
        faults.append("more was asked again than was under way")
    if missing:
        faults.append(f"{len(missing)} lines were never asked")
    rows = [("lines", options.lines), ("kills", kills),
            ("  before the first request", early),
            ("requests", requests),
            ("  under way at a kill, again", repeats),
            ("  most of them at one kill", most_lost),
            ("times the budget was spent", raises),
            ("last budget, USD", most),
            ("counted by the provider, USD", round(fake.cost, 4)),
            ("faults", len(faults)),
            ("seconds", round(time.monotonic() - begun))]
    for name, value in rows:
        print(f"{name:30}{value:>12,}")
    for fault in faults[:20]:
        print(f"- {fault}")
    return 1 if faults else 0


def build_fake() -> Counting:
    fake = Counting(replies=[lambda body: last_user_text(body).replace(
        "\n\n", " ")])
    fake.begin()
    return fake


if __name__ == "__main__":
    sys.exit(main())
