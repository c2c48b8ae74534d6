"""Where the locks of pollers lie."""

import asyncio
import contextlib

import pytest

from claw.runtime.process.instance_lock import InstanceLock
from claw.testing.memory_channel import MemoryChannel


class Polling(MemoryChannel):
    poll_time_s = 1.0
    account = "polling:1"


async def polled(folder):
    """What is logged when a channel polls once with locks in there."""
    events, polls = [], []

    async def work():
        polls.append(1)

    await InstanceLock(folder, lambda event, **fields: events.append(event)
                ).run(Polling, work)
    assert polls == [1]
    return events


async def test_locks_lie_in_a_folder_of_our_own(tmp_path):
    assert await polled(tmp_path / "claw") == []
    assert len(list((tmp_path / "claw").glob("poller-*.lock"))) == 1


async def test_a_link_that_somebody_left_in_tmp_leads_nowhere(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "claw").symlink_to(tmp_path / "target")

    assert await polled(tmp_path / "claw") == ["poller.unlocked"]
    assert list((tmp_path / "target").iterdir()) == []


@pytest.mark.parametrize(("place", "other", "waits"), [
    ("", "", True), ("/one", "", True), ("", "/one", True),
    ("/one", "/two", True), ("/one", "/one", False)])
async def test_a_second_poller_waits_unless_it_is_of_the_same_place(
        tmp_path, place, other, waits):
    holding, second = asyncio.Event(), asyncio.Event()

    async def hold():
        holding.set()
        await asyncio.Event().wait()

    async def poll():
        second.set()

    def lock(name):
        return InstanceLock(tmp_path / "claw", lambda event, **fields: None,
                            name)
    first = asyncio.ensure_future(lock(place).run(Polling, hold))
    await holding.wait()
    later = asyncio.ensure_future(lock(other).run(Polling, poll))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(second.wait(), 0.1)

    assert second.is_set() is not waits
    for task in (first, later):
        task.cancel()
    await asyncio.gather(first, later, return_exceptions=True)
