"""Power loss: a kill, after which only that is on the disk of the queue
which the process had synced, or some of the rest.

Every write and every sync of the queue's files is seen before it is done
(claw.testing.syscall_watch); disk.py says what a power cut leaves of them.
No sync reaches the real disk, so that none can save what it should not. The
service then goes on with what is left. Afterwards the trace is cut at many
more places: a message that the platform was told we received must be there.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from claw.security.sandbox.system_calls import Call
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sqlite import connect
from claw.testing.prove.answers import ask_for
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.child import Child
from claw.testing.prove.disk import LOSSES, Disk, Step
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.telegram import TelegramStage
from claw.testing.prove.trouble import finish
from claw.testing.prove.verdict import Said
from claw.testing.syscall_watch import Watch, explain_absence

CHATS = 6
EARLY = 0.25  # the share of cuts that come while it starts
_NAMES = ("queue.db", "queue.db-wal", "queue.db-journal")
_DERIVED = "queue.db-shm"  # made anew from the log
_SETTLE_S = 0.05
_EVERY_S = 0.02


class _Seen(NamedTuple):
    """A step, and how many messages the platform had been told of."""

    step: Step
    told: int


class _Life(NamedTuple):
    """What was on the disk at a start, and what was done to it."""

    files: Mapping[str, bytes]
    seen: list[_Seen]


class Recorder:
    """The disk of one folder, as its process changes it. `count_told` says
    how many messages the platform was told of."""

    def __init__(self, folder: Path, count_told: Callable[[], int]) -> None:
        self.folder = folder
        self.lives: list[_Life] = []
        self._count_told = count_told
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """A life begins with what is on the disk now."""
        with self._lock:
            files = self.read()
            self._disk = Disk(files)
            self.lives.append(_Life(files, []))

    def read(self) -> dict[str, bytes]:
        return {name: (self.folder / name).read_bytes() for name in _NAMES
                if (self.folder / name).exists()}

    def see(self, call: Call) -> int | None:
        """Note a call; 0 for a sync, which is over then."""
        step = self._step(call)
        if step is None:
            return None
        with self._lock:
            self.lives[-1].seen.append(_Seen(step, self._count_told()))
            self._disk.take(step)
        return 0 if step.kind == "sync" else None

    def is_whole(self) -> bool:
        """Whether the trace tells all that is in the files."""
        with self._lock:
            return self._disk.files() == self.read()

    def lose_power(self, number: int, rng: random.Random) -> None:
        """Leave on the real disk what a cut leaves."""
        with self._lock:
            left = self._disk.lose_power(LOSSES[number % len(LOSSES)], rng)
        write_files(self.folder, left)

    def _step(self, call: Call) -> Step | None:
        if call.name.startswith("unlink"):
            path = Path(call.read_path(call.args[call.name == "unlinkat"]))
            return Step("remove", path.name) if self._is_ours(path) else None
        path = Path(call.path(call.args[0]))
        if path == self.folder and "sync" in call.name:
            return Step("sync", "")
        if not self._is_ours(path):
            return None
        match call.name:
            case "pwrite64":
                return Step("write", path.name, call.args[3], call.read(
                    call.args[1], call.args[2]))
            case "ftruncate":
                return Step("cut", path.name, call.args[1])
            case _:
                return Step("sync", path.name)

    def _is_ours(self, path: Path) -> bool:
        return path.parent == self.folder and path.name in _NAMES


def power_cuts(bench: Bench, channel: str) -> Proof:
    """Cut the power at random, and serve on with what is left."""
    proof = Proof("power", channel)
    proof.skipped = explain_absence()
    if proof.skipped:
        return proof
    rng = random.Random(f"{bench.seed}/power")
    stage = TelegramStage()
    cuts = bench.pick(40, 5)
    with Scene(bench.root, stage) as scene:
        scene.queue_file.parent.mkdir(mode=0o700)
        recorder = Recorder(
            scene.queue_file.parent.resolve(),
            lambda: len(scene.wrote) - stage.platform.pending())
        with Watch(recorder.see) as watch:
            for number in range(cuts):
                recorder.begin()
                child = scene.start(before=watch.before)
                _live(scene, child, rng)
                child.kill()
                time.sleep(_SETTLE_S)
                recorder.lose_power(number, rng)
            recorder.begin()
            child = scene.start(before=watch.before)
            child.wait_ready()
            scene.wait_quiet(60, until=lambda: child.code is not None)
            if not _within(recorder.is_whole, 2.0):
                proof.breaks("the trace does not tell all that was written "
                             "to the queue", scene)
            finish(proof, scene, bench, kills=cuts)
        if watch.errors:
            proof.breaks(f"{len(watch.errors)} calls could not be seen: "
                         f"{watch.errors[0]}", scene)
        _replay(bench, proof, scene, recorder, rng)
    return proof.judge()


def _live(scene: Scene, child: Child, rng: random.Random) -> None:
    """Write until the moment of the cut."""
    if rng.random() > EARLY:
        child.wait_ready()
    until = time.monotonic() + rng.uniform(0.05, 0.5)
    while time.monotonic() < until and child.code is None:
        number = len(scene.wrote)
        if scene.unanswered() < 4 * CHATS:
            scene.post(1001 + rng.randrange(CHATS),
                       ask_for(number, f"m{number}", files=True))
        time.sleep(_EVERY_S)


def _replay(bench: Bench, proof: Proof, scene: Scene, recorder: Recorder,
            rng: random.Random) -> None:
    """Cut the power at many places of the trace, in each way."""
    places = [(life, end) for life in recorder.lives
              for end in range(len(life.seen) + 1)]
    chosen = set(rng.sample(range(len(places)), min(
        len(places), bench.pick(400, 30))))
    folder = scene.folder / "replayed"
    images = 0
    disk = Disk({})
    for number, (life, end) in enumerate(places):
        if end == 0:
            disk = Disk(life.files)
        else:
            disk.take(life.seen[end - 1].step)
        if number not in chosen:
            continue
        told = life.seen[end].told if end < len(life.seen) else \
            life.seen[-1].told if life.seen else 0
        for loss in LOSSES:
            images += 1
            write_files(folder, disk.lose_power(loss, rng))
            wrong = check_queue(folder / _NAMES[0], scene.wrote[:told])
            if wrong:
                proof.breaks(f"power lost after write {number}, of what was "
                             f"not synced {loss} lost: {wrong}", scene)
    proof.more.update(writes=len(places), replayed=images)


def check_queue(file: Path, told: Iterable[Said]) -> str:
    """What is wrong with a queue after a power cut; "" for nothing."""
    async def read() -> set[Said]:
        queue = SqliteQueue(file)
        try:
            rows = await queue.inbox_rows(limit=1_000_000)
        finally:
            await queue.aclose()
        return {Said(r.message.reply_target, r.message.content)
                for r in rows}
    try:
        lost = set(told) - asyncio.run(read())
        connection = connect(file)
        try:
            [[found]] = connection.execute("PRAGMA integrity_check")
        finally:
            connection.close()
    except Exception as error:  # whatever it is, the queue is lost
        return f"{type(error).__name__}: {error}"
    if found != "ok":
        return f"integrity_check: {found}"
    return f"{len(lost)} messages are lost" if lost else ""


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """The queue's files are these."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in (*_NAMES, _DERIVED):
        (folder / name).unlink(missing_ok=True)
    for name, data in files.items():
        (folder / name).touch(0o600)
        (folder / name).write_bytes(data)


def _within(is_so: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
