"""Work beside the event loop that nobody has to wait for."""

import asyncio
import threading
import time

import pytest

from claw.agent.aside import aside


def test_it_is_waited_for():
    done = []
    asyncio.run(aside(lambda: done.append(threading.current_thread())))

    assert len(done) == 1
    assert done[0] is not threading.main_thread()
    assert done[0].daemon


def test_what_it_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        asyncio.run(aside(lambda: 1 / 0))


def test_the_end_of_a_program_does_not_wait_for_it():
    gate = threading.Event()

    async def cancelled_soon():
        work = asyncio.ensure_future(aside(lambda: gate.wait(20)))
        await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    started = time.monotonic()
    asyncio.run(cancelled_soon())

    assert time.monotonic() - started < 5
    gate.set()


def test_who_is_cancelled_may_wait_a_moment_for_it():
    gate, done = threading.Event(), []

    def work():
        gate.wait(5)
        done.append(True)

    async def cancelled():
        task = asyncio.ensure_future(aside(work, patience_s=5))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done == [True]
    asyncio.run(cancelled())


def test_an_error_after_the_wait_disturbs_nobody():
    gate, heard = threading.Event(), []

    def work():
        gate.wait(5)
        raise ValueError("too late")

    async def cancelled():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: heard.append(what))
        task = asyncio.ensure_future(aside(work))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gate.set()
        await asyncio.sleep(0.05)
    asyncio.run(cancelled())

    assert heard == []
