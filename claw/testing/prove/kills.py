"""Random SIGKILLs under load: people write all the time, the process is
killed some moments after it works, or before that, and started again at
once. And the same with SIGTERM, which has to leave no trace at all."""

import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from claw.testing.prove.answers import ask_for
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.child import Child
from claw.testing.prove.scene import Scene

CHATS = 8
EARLIEST_S, LATEST_S = 0.05, 0.6
EARLY = 0.1  # the share of kills that come while it starts
MOST_WAITING = 40
PATIENCE_S = 60.0
RESTART_SHARE = 5  # one orderly restart for so many kills
EARLY_TERM = -signal.SIGTERM  # before it could hear signals
_EVERY_S = 0.02
_SHARED_FROM = 20


def random_kills(bench: Bench, channel: str) -> Proof:
    """`bench.kills` kills; nothing lost, nothing repeated without a
    note."""
    return _strike(bench, Proof(f"kills-{channel}", channel), bench.kills)


def restarts(bench: Bench, channel: str) -> Proof:
    """Orderly ends: nothing repeated, not even with a note."""
    return _strike(bench, Proof(f"restarts-{channel}", channel,
                                orderly=True),
                   max(2, bench.kills // RESTART_SHARE))


def _strike(bench: Bench, proof: Proof, kills: int) -> Proof:
    lanes = bench.lanes if kills >= _SHARED_FROM else 1
    shares = [kills // lanes + (n < kills % lanes) for n in range(lanes)]
    lock, over = threading.Lock(), threading.Event()
    with ThreadPoolExecutor(lanes) as pool:
        try:
            for _ in pool.map(lambda n: _Lane(
                    bench, proof, lock, over, n, shares[n]).run(),
                    range(lanes)):
                pass
        finally:
            over.set()  # Ctrl-C, or a fault in one lane: all go
    return proof.judge()


class _Lane:
    """One home, killed again and again."""

    def __init__(self, bench: Bench, proof: Proof, lock: threading.Lock,
                 over: threading.Event, number: int, kills: int) -> None:
        self._bench = bench
        self._proof = proof
        self._lock = lock
        self._over = over
        self._kills = kills
        self._random = random.Random(f"{bench.seed}/{proof.id}/{number}")
        self._written = 0
        self._ready_ms: list[float] = []

    def run(self) -> None:
        stage = self._bench.stage(self._proof.channel)
        with Scene(self._bench.root, stage) as scene:
            for number in range(self._kills):
                if self._over.is_set():
                    return
                self._live(scene)
                if (number + 1) % 50 == 0:
                    self._bench.say(f"{self._proof.id}: {number + 1} of "
                                    f"{self._kills} kills")
            last = scene.start()
            ready = last.wait_ready(60)
            quiet = scene.wait_quiet(
                PATIENCE_S, until=lambda: last.code is not None)
            last.stop()
            with self._lock:
                if ready is None or not quiet:
                    self._proof.breaks("not all was answered at the end; "
                                       + last.last_words(), scene)
                self._proof.take(scene, kills=self._kills)
                self._proof.check_history(scene)
                self._proof.recovery_ms += self._ready_ms
                scene.keep = scene.keep or self._bench.keep

    def _live(self, scene: Scene) -> None:
        """One life of the process, and its end."""
        child = scene.start()
        if self._random.random() < EARLY:
            self._write_for(scene, child, self._random.uniform(0.02, 0.5))
        else:
            self._write(scene)
            ready = child.wait_ready(60)
            if ready is not None:
                self._ready_ms.append(ready * 1000)
            self._write_for(scene, child, self._random.uniform(
                EARLIEST_S, LATEST_S))
        if child.code is not None:
            with self._lock:
                self._proof.breaks(f"ended by itself with code {child.code};"
                                   f" {child.last_words()}", scene)
        if not self._proof.orderly:
            child.kill()
        elif (code := child.stop()) not in (0, EARLY_TERM):
            with self._lock:
                self._proof.breaks(f"SIGTERM ended it with code {code}; "
                                   f"{child.last_words()}", scene)

    def _write_for(self, scene: Scene, child: Child,
                   seconds: float) -> None:
        until = time.monotonic() + seconds
        room = MOST_WAITING - scene.unanswered()
        while (left := until - time.monotonic()) > 0:
            if room > 0 and child.code is None:
                self._write(scene)
                room -= 1
            time.sleep(min(left, _EVERY_S))

    def _write(self, scene: Scene) -> None:
        self._written += 1
        scene.post(1001 + self._random.randrange(CHATS), ask_for(
            self._written, f"m{self._written}",
            files=scene.stage.takes_files))
