"""Where the locks of pollers lie."""

from claw.runtime.alone import Alone
from claw.testing.memory_channel import MemoryChannel


class Polling(MemoryChannel):
    poll_time_s = 1.0
    account = "polling:1"


async def polled(folder):
    """What is logged when a channel polls once with locks in there."""
    events, polls = [], []

    async def work():
        polls.append(1)

    await Alone(folder, lambda event, **fields: events.append(event)
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
