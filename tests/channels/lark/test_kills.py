"""SIGKILLs from outside while texts, files and long answers go out to
several chats at once: what people see in the end. And a key whose hour is
over."""

import asyncio

from claw.core.channel import SendMessage
from claw.testing.prove.bench import Bench
from claw.testing.prove.kills import random_kills


def test_kills_lose_double_and_swap_nothing(tmp_path):
    proof = random_kills(Bench(tmp_path, kills=3), "lark")

    assert proof.broken == []
    assert proof.tally.messages > 8
    assert proof.tally.marked == 0


def test_a_key_holds_as_long_as_claw_thinks_and_no_longer(app, platform):
    """Inside the window the platform shows one; behind it the outbox looks
    before it sends, since then it would show two."""
    now = platform.world.clock

    async def work():
        channel = app.make()
        message = SendMessage("done", "oc_1001")
        (part,) = channel.parts(message)
        try:
            await channel.send_part(message, part)
            shown = []
            for later in (channel.capabilities.key_holds_s, 3601.0):
                platform.world.clock = lambda s=later: now() + s
                await channel.send_part(message, part)
                shown.append(len(platform.messages()))
            return shown
        finally:
            await channel.aclose()

    assert asyncio.run(work()) == [1, 2]
