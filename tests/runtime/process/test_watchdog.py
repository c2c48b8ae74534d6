"""The watch over the loop: a stuck one ends the process, a paused not."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from claw.runtime.process.watchdog import Judge, LoopWatch


def verdicts(*looks, limit_s=8.0, every_s=1.0):
    """What a judge says to (beat, now) in turn."""
    judge = Judge(limit_s, every_s, 0.0)
    return [judge.is_stuck(beat, now) for beat, now in looks]


def steady(beat, until, since=0):
    return [(beat, float(now)) for now in range(since + 1, until + 1)]


def test_a_loop_that_beats_is_well():
    assert not any(verdicts(*[(now - 0.5, now) for now in
                              map(float, range(1, 100))]))


def test_a_loop_that_stops_beating_is_stuck_after_the_limit():
    said = verdicts(*steady(2.0, 12))

    assert said == [False] * 10 + [True] * 2


def test_a_pause_of_the_whole_process_gives_a_fresh_limit():
    looks = [*steady(4.0, 5), (4.0, 1000.0), *steady(4.0, 1010, since=1000)]
    said = verdicts(*looks)

    assert said == [False] * (6 + 8) + [True] * 2


def test_looks_that_are_a_little_late_are_no_pause():
    said = verdicts(*[(0.0, now) for now in (2.5, 5.0, 7.5, 10.0)])

    assert said == [False, False, False, True]


def test_a_blocked_loop_is_reported_once_with_its_stacks(tmp_path):
    async def go(stderr):
        stuck = threading.Event()
        calls = []

        def on_stuck():
            calls.append(threading.current_thread().name)
            stuck.set()
        watch = LoopWatch(0.25, on_stuck, stderr=stderr)
        watch.start()
        await asyncio.sleep(0.1)
        assert calls == []
        assert stuck.wait(5)  # blocks the loop
        time.sleep(0.1)  # noqa: ASYNC251
        watch.stop()
        return calls
    with open(tmp_path / "stderr", "w+") as stderr:
        calls = asyncio.run(go(stderr))
        stderr.seek(0)
        text = stderr.read()

    assert calls == ["loop-watch"]
    assert "has not moved for 0.25 s" in text
    assert "in go" in text


def test_a_loop_that_gets_stuck_again_is_reported_again():
    async def go():
        again = threading.Semaphore(0)
        watch = LoopWatch(0.05, again.release, stderr=io.StringIO())
        watch.start()
        for _ in range(2):
            assert again.acquire(timeout=5)
            await asyncio.sleep(0.02)
        watch.stop()
    asyncio.run(go())


def test_nothing_is_left_when_it_stops():
    async def go():
        watch = LoopWatch(5.0)
        watch.start()
        watch.stop()
        watch.stop()
        return threading.active_count()
    before = threading.active_count()

    assert asyncio.run(go()) == before


PROGRAM = """
import asyncio, sys, time
from claw.runtime.process.watchdog import LoopWatch

async def go():
    LoopWatch(0.4).start()
    print("up", flush=True)
    await asyncio.sleep(0.5)
    {then}
    print("end", flush=True)
asyncio.run(go())
"""


def run(then):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(then=then)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("then", ["time.sleep(30)",
                                  "while True: pass"])
def test_a_stuck_process_ends_with_the_code_of_a_fault(then):
    with run(then) as process:
        out, err = process.communicate(timeout=10)

    assert process.returncode == 70
    assert out == "up\n"
    assert "in go" in err


def test_a_stopped_process_goes_on_where_it_was():
    with run("await asyncio.sleep(0.2)") as process:
        assert process.stdout.readline() == "up\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.9)  # twice the limit
        os.kill(process.pid, signal.SIGCONT)
        out, err = process.communicate(timeout=10)

    assert (process.returncode, out, err) == (0, "end\n", "")
