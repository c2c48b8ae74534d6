"""A wall clock that jumps by years under a running process.

The process is real; its Python takes the time of day from a clock whose
error stands in a file (a sitecustomize.py on its path: no privilege and no
foreign program is needed). The monotonic clocks go on as they are.
"""

import os
import time
from pathlib import Path

from claw.storage.queue.reader import open_reader
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.scene import Scene
from claw.testing.prove.trouble import finish

YEAR_S = 366 * 86400
JUMPS_S = (10 * YEAR_S, -10 * YEAR_S, -50 * YEAR_S, 3600, -3600)
LIMIT_S = 5.0
_CLOCK = """\
import os, time
_true, _file = time.time, os.environ["CLAW_PROVE_CLOCK"]
def _now():
    with open(_file) as file:
        return _true() + float(file.read() or 0)
time.time = _now
time.time_ns = lambda: int(_now() * 1e9)
"""


def clock_jumps(bench: Bench, channel: str) -> Proof:
    """Jump, write, be killed at another time than one was started at."""
    proof = Proof("clock", channel)
    with Scene(bench.root, bench.stage(channel)) as scene:
        error = scene.folder / "clock"
        _set(error, 0)
        more = {"CLAW_PROVE_CLOCK": str(error),
                "PYTHONPATH": _patched(scene.folder / "python")}
        child = scene.start(more)
        child.wait_ready()
        jumps = JUMPS_S[:bench.pick(len(JUMPS_S), 2)]
        for number, jump in enumerate(jumps):
            _set(error, jump)
            began = time.monotonic()
            for chat in (1001, 1002):
                scene.post(chat, f"jump{number}")
            if not scene.wait_quiet(30):
                proof.breaks(f"not all was answered after a jump of {jump} "
                             f"s; {child.last_words()}", scene)
            proof.recovery_ms.append((time.monotonic() - began) * 1000)
            scene.post(1001, f"kill{number}")
            child.kill()
            child = scene.start(more)
            child.wait_ready()
        _set(error, 0)
        scene.post(1001, "last")
        finish(proof, scene, bench, kills=len(jumps))
        if max(proof.recovery_ms) > LIMIT_S * 1000:
            proof.breaks("answers came late after a jump", scene)
        with open_reader(scene.queue_file) as queue:
            times = [row.received_at for row in queue.inbox_rows()]
        if max(times) - min(times) < YEAR_S:
            proof.breaks("the clock of the process did not jump", scene)
    return proof.judge()


def _patched(folder: Path) -> str:
    """A module path with the clock in front."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_CLOCK, "utf-8")
    rest = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(folder), *([rest] if rest else [])])


def _set(file: Path, error_s: float) -> None:
    """Whole or not at all: the process reads it at any moment."""
    new = file.with_suffix(".new")
    new.write_text(str(error_s), "utf-8")
    new.replace(file)
