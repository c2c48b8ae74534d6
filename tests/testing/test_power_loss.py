"""What a power cut leaves of a file, and a service that trusts the disk too
much."""

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import claw
from claw.core.channel import ChannelMessage
from claw.storage.queue.model import Arrival
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing import net_namespace
from claw.testing.prove import Bench, Proof, power, prove
from claw.testing.prove.disk import LOSSES, Disk, Step
from claw.testing.prove.far import far_network
from claw.testing.prove.power import check_queue, write_files
from claw.testing.prove.scene import Scene
from claw.testing.prove.verdict import Said
from claw.testing.syscall_watch import Watch, explain_absence

needs_watch = pytest.mark.skipif(bool(explain_absence()),
                                 reason=explain_absence() or "-")


def write(data, at=0, name="f"):
    return Step("write", name, at, data)


SYNC, FOLDER = Step("sync", "f"), Step("sync", "")


@pytest.mark.parametrize(("steps", "all_lost", "torn"), [
    # nothing was synced: not even its name is there
    ([write(b"abcd")], {}, {"f": b"ab"}),
    ([write(b"abcd"), SYNC], {}, {"f": b"abcd"}),
    ([write(b"abcd"), FOLDER], {"f": b""}, {"f": b"ab"}),
    ([write(b"abcd"), SYNC, FOLDER], {"f": b"abcd"}, {"f": b"abcd"}),
    ([write(b"abcd"), SYNC, FOLDER, write(b"XY", 1)],
     {"f": b"abcd"}, {"f": b"aXcd"}),
    ([write(b"abcd"), SYNC, FOLDER, write(b"X"), write(b"YZ", 2)],
     {"f": b"abcd"}, {"f": b"XbYd"}),
    ([write(b"abcd"), SYNC, FOLDER, Step("cut", "f", 2)],
     {"f": b"abcd"}, {"f": b"abcd"}),
    # removed, but the folder was not synced
    ([write(b"abcd"), SYNC, FOLDER, Step("remove", "f")],
     {"f": b"abcd"}, {}),
    ([write(b"abcd"), SYNC, FOLDER, Step("remove", "f"), FOLDER], {}, {}),
    # what stands behind a gap
    ([write(b"ab", 3), SYNC, FOLDER], {"f": b"\0\0\0ab"},
     {"f": b"\0\0\0ab"}),
])
def test_what_a_cut_leaves(steps, all_lost, torn):
    disk = Disk({})
    for step in steps:
        disk.take(step)

    assert disk.lose_power("all", random.Random(1)) == all_lost
    assert disk.lose_power("torn", random.Random(1)) == torn
    assert disk.lose_power("none", random.Random(1)) == disk.files()


def test_any_part_of_what_was_not_synced_may_be_there():
    disk = Disk({"f": b"-" * 2048})
    disk.take(write(b"x" * 2048))

    found = {disk.lose_power("some", random.Random(n))["f"]
             for n in range(200)}

    assert {b"-" * 2048, b"x" * 2048} < found
    assert len(found) > 8
    assert all(set(file[at:at + 512]) in ({45}, {120}) for file in found
               for at in range(0, 2048, 512))


def test_what_was_synced_is_there_whatever_is_lost():
    disk = Disk({})
    for step in (write(b"kept"), SYNC, FOLDER, write(b"loose", 512)):
        disk.take(step)

    for loss in LOSSES:
        for seed in range(50):
            left = disk.lose_power(loss, random.Random(seed))
            assert left["f"].startswith(b"kept")


# -- the queue's own files

async def fill(file):
    queue = SqliteQueue(file)
    lease = await queue.lease("listen", 15.0)
    await queue.accept(lease, [Arrival(ChannelMessage(
        "t1", "7", "7", "hello", "telegram", 1), "c")])
    await queue.aclose()


def test_a_queue_is_checked_for_what_the_platform_was_told(tmp_path):
    asyncio.run(fill(tmp_path / "queue.db"))

    assert check_queue(tmp_path / "queue.db", [Said("7", "hello")]) == ""
    assert "1 messages are lost" in check_queue(
        tmp_path / "queue.db", [Said("7", "hello"), Said("7", "there")])


def test_a_torn_queue_is_no_queue(tmp_path):
    write_files(tmp_path, {"queue.db": b"torn" * 4096})

    assert "is not a database" in check_queue(tmp_path / "queue.db", [])


# -- system calls

@needs_watch
def test_writes_are_seen_and_a_sync_is_answered_in_the_kernels_place(
        tmp_path):
    seen = []

    def see(call):
        if call.name == "pwrite64":
            seen.append((Path(call.path(call.args[0])).name, call.read(
                call.args[1], call.args[2]), call.args[3]))
            return None
        return 7 if call.name == "fsync" else None

    with Watch(see) as watch:
        done = subprocess.run([*watch.before, sys.executable, "-c", (
            "import ctypes, os, sys\n"
            "file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)\n"
            "print(os.pwrite(file, b'hello', 3))\n"
            "print(ctypes.CDLL(None).fsync(file))"), str(tmp_path / "f")],
            capture_output=True, text=True, check=False)

    assert done.stdout.split() == ["5", "7"], done.stderr
    assert seen == [("f", b"hello", 3)]
    assert (tmp_path / "f").read_bytes() == b"\0\0\0hello"


@needs_watch
def test_a_fault_of_the_watcher_stops_nothing(tmp_path):
    def see(call):
        raise ValueError("a fault")

    with Watch(see) as watch:
        done = subprocess.run([*watch.before, sys.executable, "-c", (
            "import os\nos.fsync(os.open('.', 0))")], cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(
                Path(claw.__file__).parents[1])}, check=False)

    assert done.returncode == 0
    assert watch.errors == ["ValueError: a fault"]


# -- the proof

_CARELESS = """
import claw.storage.queue.threads as threads

def careless(connection, *_):
    connection.execute("PRAGMA synchronous=OFF")

threads._synchronous = careless
"""


@needs_watch
def test_a_service_that_syncs_nothing_is_found_out(tmp_path, monkeypatch):
    patch = tmp_path / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(_CARELESS)
    start = Scene.start

    def careless(scene, **named):
        return start(scene, {"PYTHONPATH": os.pathsep.join(
            [str(patch), str(Path(claw.__file__).parents[1])])}, **named)

    monkeypatch.setattr(Scene, "start", careless)
    monkeypatch.setattr(power, "finish", _finish_soon)
    proof = prove("power", Bench(tmp_path, short=True))

    assert any("messages are lost" in what for what in proof.broken)


def _finish_soon(proof, scene, bench, *, kills):
    proof.take(scene, kills=kills)


@needs_watch
def test_the_proof_of_power_loss_loses_nothing(tmp_path):
    proof = prove("power", Bench(tmp_path, short=True, seed=3))

    assert proof.broken == []
    assert proof.kills == 5
    assert proof.more["replayed"] == 120


@needs_watch
def test_a_call_that_could_not_be_seen_breaks_the_proof(tmp_path,
                                                        monkeypatch):
    def fail(recorder, call):
        raise OSError("not readable")

    monkeypatch.setattr(power.Recorder, "see", fail)
    monkeypatch.setattr(power, "finish", _finish_soon)
    monkeypatch.setattr(Bench, "pick", lambda bench, long, short: 1)
    proof = prove("power", Bench(tmp_path))

    assert any("calls could not be seen: OSError: not readable" in what
               for what in proof.broken)


def test_a_machine_that_shows_no_calls_skips_with_its_reason(
        tmp_path, monkeypatch):
    monkeypatch.setattr(power, "explain_absence", lambda: "no such kernel")

    proof = prove("power", Bench(tmp_path))

    assert (proof.ok, proof.skipped) == (True, "no such kernel")


# -- another address than the loopback's

def test_a_proof_runs_on_an_address_that_is_no_loopback(tmp_path):
    proof = far_network(Bench(tmp_path, short=True), "telegram")

    if proof.skipped:
        pytest.skip(proof.skipped)
    assert not net_namespace.ADDRESS.startswith("127.")
    assert proof.tally.lost == proof.tally.duplicated == 0
    assert proof.tally.messages == 13


def test_a_machine_without_namespaces_skips_with_its_reason(tmp_path):
    """No more namespaces for this process: what `enter` meets where users
    may make none."""
    code = ("import sys\n"
            "from claw.testing.prove import far\n"
            "def enter():\n    raise PermissionError(1, 'not permitted')\n"
            "far.enter = enter\n"
            "raise SystemExit(far.main('telegram', '{\"root\": \".\"}'))")
    done = subprocess.run([sys.executable, "-c", code], text=True,
                          capture_output=True, check=False)

    assert done.returncode == 77
    assert done.stderr == ("no network of its own: [Errno 1] not permitted")
    assert Proof("far-telegram", "telegram", skipped=done.stderr).ok
