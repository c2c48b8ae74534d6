"""Signs: typing for answers that take a moment, reactions in order."""

import asyncio

from claw.core.channel import ChannelMessage
from claw.runtime.signs import Signs
from claw.testing.memory_channel import MemoryChannel

MESSAGE = ChannelMessage("m1", "bob", "room", "hi", "memory", 1)


class Watched(MemoryChannel):
    """Notes what was shown."""

    def __init__(self):
        super().__init__()
        self.shown = []

    async def start_typing(self, recipient):
        self.shown.append("typing")

    async def stop_typing(self, recipient):
        self.shown.append("stopped")

    async def add_reaction(self, channel_id, message_id, emoji):
        self.shown.append(f"+{emoji}")

    async def remove_reaction(self, channel_id, message_id, emoji):
        self.shown.append(f"-{emoji}")


def shown_by(seconds, *, acks=False, every_s=4.0, after_s=0.03):
    """What a turn of so many seconds shows."""
    async def turn():
        channel = Watched()
        signs = Signs(channel, MESSAGE, lambda *a, **k: None, acks=acks,
                      every_s=every_s, after_s=after_s)
        signs.start()
        await asyncio.sleep(seconds)
        signs.finish(well=True)
        for _ in range(5):
            await asyncio.sleep(0)
            await signs.settled()
        return channel.shown
    return asyncio.run(turn())


def test_a_quick_answer_shows_no_typing_and_ends_none():
    assert shown_by(0.0) == []


def test_an_answer_that_takes_a_moment_shows_typing_until_it_is_there():
    assert shown_by(0.06) == ["typing", "stopped"]


def test_typing_is_shown_again_while_the_answer_takes_longer():
    shown = shown_by(0.1, every_s=0.01)

    assert shown.count("typing") > 1
    assert shown[-1] == "stopped"


def test_a_quick_answer_is_acknowledged_and_marked_as_done():
    assert shown_by(0.0, acks=True) == ["+👀", "-👀", "+✅"]
