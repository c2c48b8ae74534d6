"""What a service does beside its messages."""

import asyncio
import threading
import time

import pytest

from claw.core.errors import StorageError
from claw.runtime import maintenance
from claw.runtime.maintenance import maintain_memory


class House:
    """A memory that is tidied, and what is logged of it."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.asked = []
        self.events = []
        self.reached = threading.Semaphore(0)

    def tidy(self, in_use):
        self.asked.append((in_use, threading.current_thread()))
        self.reached.release()
        if self.errors and (error := self.errors.pop(0)):
            raise error

    def log(self, event, /, **fields):
        self.events.append((event, fields))

    async def times(self, count, keys=()):
        work = asyncio.ensure_future(maintain_memory(
            self.tidy, lambda: keys, self.log))
        for _ in range(count):
            await asyncio.to_thread(self.reached.acquire, timeout=5)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(maintenance, "MEMORY_FIRST_S", 0.0)
    monkeypatch.setattr(maintenance, "MEMORY_S", 0.005)


async def test_the_memory_is_tidied_again_and_again_beside_the_loop(quick):
    house = House()
    await house.times(3, {"telegram_1_ann": None})

    assert {keys for keys, _ in house.asked} == {("telegram_1_ann",)}
    assert threading.main_thread() not in {who for _, who in house.asked}
    assert house.events == []


@pytest.mark.parametrize("error", [StorageError("disk full"), OSError("io"),
                                   TypeError("a fault of ours")])
async def test_a_house_that_can_not_be_tidied_is_told_and_goes_on(quick,
                                                                  error):
    house = House(error)
    await house.times(2)

    assert [event for event, _ in house.events] == ["memory.error"]
    assert str(error.args[0]) in house.events[0][1]["error"]


async def test_the_end_waits_only_a_moment_for_it(quick, monkeypatch):
    monkeypatch.setattr(maintenance, "MEMORY_END_S", 0.05)
    gate = threading.Event()
    work = asyncio.ensure_future(maintain_memory(
        lambda _: gate.wait(20), tuple, House().log))
    await asyncio.sleep(0.02)
    started = time.monotonic()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)

    assert time.monotonic() - started < 15
    gate.set()
