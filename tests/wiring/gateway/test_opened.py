"""What the calls stand on, while settings change under them."""

import asyncio

from claw.core.log import silent
from claw.wiring.gateway.opened import Opened, Opener


def test_settings_that_change_twice_at_once_close_nothing_that_is_used(
        monkeypatch):
    closed = []

    async def close_slowly(self):
        closed.append(self.tree)
        await asyncio.sleep(0.01)
    monkeypatch.setattr(Opened, "aclose", close_slowly)
    trees = ["first", "second", "third"]
    opener = Opener(lambda: trees[0], silent)

    async def call():
        async with opener.use() as opened:
            await asyncio.sleep(0.05)
            assert opened.tree not in closed

    async def go():
        async with opener.use():
            pass
        calls = []
        for _ in range(2):
            trees.pop(0)
            calls.append(asyncio.ensure_future(call()))
            await asyncio.sleep(0)
        await asyncio.gather(*calls)
        await opener.aclose()
    asyncio.run(go())

    assert closed == ["first", "second", "third"]
