"""SIGKILLs from outside while texts, files and long answers go out to
several chats at once: what people see in the end. And a key that is old."""

import asyncio

from claw.core.abilities import Doubt
from claw.core.channel import SendMessage
from claw.testing.prove.bench import Bench
from claw.testing.prove.kills import random_kills


def test_kills_lose_double_and_swap_nothing(tmp_path):
    proof = random_kills(Bench(tmp_path, kills=3), "slack")

    assert proof.broken == []
    assert proof.tally.messages > 8
    assert proof.tally.marked <= 1


def test_a_key_is_found_after_a_day_and_hundreds_of_messages(bot, platform):
    """Slack forgets no metadata: there is no window to outlast."""
    day = 86_400.0
    now = platform.world.clock

    async def work():
        channel = bot.make()
        try:
            message = SendMessage("done", "D1001")
            (part,) = channel.parts(message)
            ts = await channel.send_part(message, part)
            platform.world.clock = lambda: now() + day
            for n in range(700):
                platform.say(f"m{n}")
            return ts, await channel.find_sent(Doubt(message, part))
        finally:
            await channel.aclose()

    ts, found = asyncio.run(work())

    assert found == (ts,)
