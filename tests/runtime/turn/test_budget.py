"""The time of a turn, which stands while somebody is asked."""

import asyncio

import pytest

from claw.runtime.turn.budget import Budget


async def test_a_block_ends_when_its_time_is_over():
    budget = Budget(0.02)
    with pytest.raises(TimeoutError):
        async with budget.running():
            await asyncio.sleep(5)


async def test_the_time_of_a_pause_does_not_count():
    budget = Budget(0.05)
    async with budget.running():
        with budget.paused():
            await asyncio.sleep(0.1)


async def test_pauses_may_overlap():
    budget = Budget(0.05)

    async def ask(seconds):
        with budget.paused():
            await asyncio.sleep(seconds)
    async with budget.running():
        await asyncio.gather(ask(0.02), ask(0.12))


async def test_what_is_left_after_a_pause_still_counts():
    budget = Budget(0.05)

    async def turn():
        async with budget.running():
            with budget.paused():
                await asyncio.sleep(0.01)
            await asyncio.sleep(5)
    with pytest.raises(TimeoutError):
        await turn()


async def test_a_pause_outside_of_a_turn_does_nothing():
    with Budget(1).paused():
        pass
