"""Work beside the event loop that nobody has to wait for."""

import asyncio
import threading
import time

import pytest

from claw.agent.background import (
    BackgroundTasks,
    cancel_all,
    run_in_background,
    wait_within,
)


def test_it_is_waited_for():
    done = []
    asyncio.run(run_in_background(
        lambda: done.append(threading.current_thread())))

    assert len(done) == 1
    assert done[0] is not threading.main_thread()
    assert done[0].daemon


def test_what_it_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_in_background(lambda: 1 / 0))


def test_the_end_of_a_program_does_not_wait_for_it():
    gate = threading.Event()

    async def cancelled_soon():
        work = asyncio.ensure_future(run_in_background(lambda: gate.wait(20)))
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
        task = asyncio.ensure_future(run_in_background(work, patience_s=5))
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
        task = asyncio.ensure_future(run_in_background(work))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gate.set()
        await asyncio.sleep(0.05)
    asyncio.run(cancelled())

    assert heard == []


def test_a_background_task_that_fails_is_logged_and_forgotten():
    async def go():
        said = []
        tasks = BackgroundTasks(lambda event, **f: said.append((event, f)))

        async def fail():
            raise ValueError("it broke")

        async def wait():
            await asyncio.sleep(20)
        tasks.start(fail())
        tasks.start(wait())
        tasks.start(asyncio.sleep(0))
        await asyncio.sleep(0.01)
        assert len(tasks.running) == 1
        await cancel_all(tasks.running)
        await asyncio.sleep(0)

        assert said == [("beside.error", {"error": "ValueError: it broke"})]
        assert tasks.running == set()
    asyncio.run(go())


def test_cancelling_waits_for_the_end_of_each():
    async def go():
        ended = []

        async def work(name):
            try:
                await asyncio.sleep(20)
            finally:
                await asyncio.sleep(0.01)
                ended.append(name)
        tasks = [asyncio.ensure_future(work(name)) for name in "ab"]
        await asyncio.sleep(0)
        await cancel_all(iter(tasks))

        assert sorted(ended) == ["a", "b"]
        await cancel_all([])
    asyncio.run(go())


def test_an_event_is_waited_for_so_long():
    async def go():
        event = asyncio.Event()
        assert not await wait_within(event, 0.01)
        asyncio.get_running_loop().call_later(0.01, event.set)
        assert await wait_within(event, 20)
    asyncio.run(go())
