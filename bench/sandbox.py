"""What a confined command costs above a bare `sh -c`, in processor time.

    python bench/sandbox.py [--blocks 15] [--commands 10]

Blocks of commands, alternately bare, confined by a launch server (as from
the second command of a process on) and confined by a launcher of their own
(the first command). The median block counts. "in claw" is what claw's own
process spends beside it. Goal: at most 8 ms above bare for a served one.
"""

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from claw.security.sandbox.children import run
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import (
    ALLOWED_COMMANDS,
    ResourceSettings,
    SandboxSettings,
)

GOAL_MS = 8.0
COMMAND = ["sh", "-c", "true"]
_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--commands", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workspace = Path(folder)
        boxes = [build(workspace), build(workspace)]
        served, own = boxes
        served.shelter()
        print(f"strategy {own.shelter().strategy}; {options.blocks} blocks "
              f"of {options.commands} commands, median, ms of CPU a command")
        for _ in range(2):
            confined(served)
        kinds: dict[str, Callable[[], float]] = {
            "sh -c, bare": bare,
            "confined, served": lambda: confined(served),
            "confined, its own launcher": lambda: confined(own, alone=True)}
        seen = measure(kinds, options.blocks, options.commands)
    report(seen)


def build(workspace: Path) -> Sandbox:
    return Sandbox(workspace, SandboxSettings(), ResourceSettings(),
                   dict(os.environ), own=["memory", "state", "sessions"],
                   commands=ALLOWED_COMMANDS)


def bare() -> float:
    subprocess.run(COMMAND, check=True)
    return used_by_children()


def confined(box: Sandbox, *, alone: bool = False) -> float:
    if alone:
        box._launches = 0
    launch = box.prepare(COMMAND)
    done = asyncio.run(run(launch, 60))
    assert done.code == 0, done
    return used_by_children() + (
        0 if launch.server is None else used_by_server(launch.server.pid))


def used_by_children() -> float:
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (use.ru_utime + use.ru_stime) * 1000


def used_by_server(pid: int) -> float:
    """With the launchers and commands that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) * _TICK_MS


def measure(kinds: dict[str, Callable[[], float]], blocks: int, commands: int
            ) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds a command of each block: of its processes, in claw."""
    seen: dict[str, list[tuple[float, float]]] = {k: [] for k in kinds}
    for _ in range(blocks):
        for kind, act in kinds.items():
            before, own = act(), own_ms()
            for _ in range(commands):
                after = act()
            seen[kind].append(((after - before) / commands,
                               (own_ms() - own) / commands))
    return seen


def own_ms() -> float:
    use = resource.getrusage(resource.RUSAGE_SELF)
    return (use.ru_utime + use.ru_stime) * 1000


def report(seen: dict[str, list[tuple[float, float]]]) -> None:
    base = statistics.median(ms for ms, _ in seen["sh -c, bare"])
    print(f"{'':28}{'ms':>8}{'above':>8}{'ratio':>8}{'in claw':>9}")
    for kind, blocks in seen.items():
        ms = statistics.median(ms for ms, _ in blocks)
        inside = statistics.median(own for _, own in blocks)
        print(f"{kind:28}{ms:8.2f}{ms - base:8.2f}{ms / base:8.1f}"
              f"{inside:9.2f}")
    print(f"goal: {GOAL_MS:g} ms above bare")


if __name__ == "__main__":
    main()
