"""What goes wrong with the machine: no room on the disk, a process that is
stopped, two that poll with one token."""

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.child import Child
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.telegram import TelegramStage
from claw.testing.prove.trouble import finish

LEASE_S = 15.0
TAKE_OVER_S = 3.0
_Fill = Callable[[], Callable[[], object]]
ROUNDS = 3
_FULL_S = 1.5
_DISK = "8m"
_MOUNT = f'mount -t tmpfs -o size={_DISK},mode=700 tmpfs "$0" && exec "$@"'


def full_disk(bench: Bench, channel: str) -> Proof:
    """No room for a while: on a file system of its own where this user may
    mount one, and by a limit on the size of files."""
    proof = Proof("disk-full", channel, may_fail=True)
    with Scene(bench.root, bench.stage(channel)) as scene:
        mount = _mounting(scene.workspace)
        child = scene.start(before=mount)
        child.wait_ready()
        fills: dict[str, _Fill] = {}
        if mount:
            disk = Path(f"/proc/{child.pid}/root{scene.workspace}")
            fills["a full file system"] = partial(_no_room, disk)
        if hasattr(resource, "prlimit"):  # Linux
            fills["files that can't grow"] = partial(_no_growth, child)
        rounds = bench.pick(ROUNDS, 1)
        for number, fill in enumerate([*fills.values()] * rounds):
            scene.post(1001, f"before{number}")
            _all_answered(scene, 10)
            if child.code is not None:
                break
            make_room = fill()
            scene.post_each(4, f"full{number}.", chats=2)
            time.sleep(_FULL_S)
            make_room()
            began = time.monotonic()
            if not _all_answered(scene, 45):
                proof.breaks("not all was answered once there was room "
                             f"again; {child.last_words()}", scene)
            proof.recovery_ms.append((time.monotonic() - began) * 1000)
        proof.more.update(tried=" and ".join(fills) or "nothing here")
        proof.take(scene, kills=len(fills) * rounds)
        _end(proof, scene, child)
        scene.keep = scene.keep or bench.keep
    return proof.judge()


def _mounting(folder: Path) -> tuple[str, ...]:
    """What starts a command with a small disk at the folder; () where
    this user may not mount."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    mount = (unshare, "-rm", "sh", "-c", _MOUNT, str(folder))
    tried = subprocess.run([*mount, "true"], capture_output=True,
                           check=False)
    return mount if tried.returncode == 0 else ()


def _no_room(disk: Path) -> Callable[[], object]:
    """Fill a disk; what makes room again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue
    return filler.unlink


def _no_growth(child: Child) -> Callable[[], object]:
    """Let no file of the process grow; what ends that."""
    before = resource.prlimit(child.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (1, before[1]))
    return lambda: resource.prlimit(child.pid, resource.RLIMIT_FSIZE,
                                    before)


def _all_answered(scene: Scene, patience_s: float) -> bool:
    """Seen from the people: the queue lies where we can't look."""
    deadline = time.monotonic() + patience_s
    while scene.unanswered():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    time.sleep(0.3)
    return True


def stopped(bench: Bench, channel: str) -> Proof:
    """SIGSTOP for longer than the lease while another process stands by:
    it takes over, and the one that wakes up does no harm."""
    proof = Proof("pause", channel)
    with Scene(bench.root, bench.stage(channel)) as scene:
        first = scene.start()
        first.wait_ready()
        second = scene.start()
        if not second.wait_for("standby"):
            proof.breaks("two worked in one place", scene)
        scene.post_each(6, "before")
        time.sleep(0.05)
        first.pause()
        began = time.monotonic()
        scene.post_each(6, "stopped")
        _watch_pause(bench, proof, scene, second, began)
        first.go_on()
        scene.post_each(6, "woken")
        finish(proof, scene, bench, kills=1)
        scene.post(1001, "last")
        if not first.wait_for("started", 5) or not scene.wait_quiet(20):
            proof.breaks("the first one did not take over again; "
                         + first.last_words(), scene)
        _end(proof, scene, first)
    return proof.judge()


def _watch_pause(bench: Bench, proof: Proof, scene: Scene, second: Child,
                 began: float) -> None:
    """Until the pause is over: when the other one took over, and when
    the last message was answered."""
    taken = answered = None
    while time.monotonic() - began < bench.pause_s:
        now = time.monotonic() - began
        if taken is None and second.events("started"):
            taken = now
        if answered is None and not scene.unanswered():
            answered = now
        time.sleep(0.05)
    proof.more.update(pause_s=bench.pause_s)
    if second.events("standby.error") and taken is None:
        # Stopped in the midst of a commit: it holds SQLite's lock, and
        # nobody can write until it goes on.
        proof.more.update(stopped_in="a commit")
        return
    if taken is not None:
        proof.more.update(taken_over_after_s=round(taken, 1))
        proof.recovery_ms.append(max(0.0, taken - LEASE_S) * 1000)
    elif bench.pause_s > LEASE_S + TAKE_OVER_S:
        proof.breaks("nobody took over; " + second.last_words(), scene)
    if answered is not None:
        proof.more.update(answered_after_s=round(answered, 1))
    elif bench.pause_s > LEASE_S + 2 * TAKE_OVER_S:
        proof.breaks("messages waited for the one that was stopped; "
                     + second.last_words(), scene)


def two_pollers(bench: Bench, channel: str) -> Proof:
    """Two processes in one place, a third one elsewhere with the same
    token: one polls, and when it is killed another one does."""
    proof = Proof("two-pollers", channel)
    stage = TelegramStage()
    with Scene(bench.root, stage) as scene, \
            Scene(bench.root, stage, runtime=scene.home / "run") as other:
        first = scene.start()
        first.wait_ready()
        second, third = scene.start(), other.start()
        second.wait_for("standby")
        third.wait_for("poller.other")
        scene.post_each(12, "m")
        scene.wait_quiet()
        time.sleep(0.5)  # until the platform knows what was received
        first.kill()
        scene.post_each(12, "then")
        if not _all_answered(scene, 30):
            proof.breaks("not all was answered after the kill; "
                         + second.last_words(), scene)
        proof.take(scene, kills=1)
        clashes = sum(len(child.events("conflict")) for child in
                      (first, second, third))
        if clashes:
            proof.breaks(f"{clashes} times two polled at once", scene)
        _end(proof, scene, second)
        _end(proof, other, third)
    return proof.judge()


def _end(proof: Proof, scene: Scene, child: Child) -> None:
    code = child.stop()
    if code != os.EX_OK:
        proof.breaks(f"ended with code {code}; {child.last_words()}", scene)
