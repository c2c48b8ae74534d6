"""An answer between who makes it and who reads it."""

import asyncio
from contextlib import aclosing

import pytest

from claw.core.errors import UnavailableError
from claw.core.provider import ChatResponse
from claw.gateway.openai.stream import run

ANSWER = ChatResponse("done")


def test_pieces_that_wait_are_given_as_one():
    async def work(pipe):
        for piece in "abc":
            pipe.put(piece)
        return ANSWER

    async def go():
        return [piece async for piece in run(work)]
    assert asyncio.run(go()) == ["abc", ANSWER]


def test_silence_is_told():
    async def work(pipe):
        await asyncio.sleep(0.05)
        return ANSWER

    async def go():
        return [piece async for piece in run(work, 0.01, 0.01)]
    found = asyncio.run(go())

    assert found[-1] == ANSWER
    assert set(found[:-1]) == {""}


def test_who_makes_it_waits_for_a_slow_reader():
    made = []

    async def work(pipe):
        for number in range(100):
            pipe.put("x" * 10_000)
            made.append(number)
            await pipe.wait_for_room()
        return ANSWER

    async def go():
        async with aclosing(run(work)) as pieces:
            await anext(pieces)
            await asyncio.sleep(0.01)
            before = len(made)
            rest = [piece async for piece in pieces]
        return before, rest
    before, rest = asyncio.run(go())

    assert before < 20
    assert rest[-1] == ANSWER
    assert len(made) == 100


def test_who_leaves_ends_the_work():
    ended = []

    async def work(pipe):
        pipe.put("a")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def go():
        async with aclosing(run(work)) as pieces:
            return await anext(pieces)
    assert asyncio.run(go()) == "a"
    assert ended == [True]


def test_an_error_comes_behind_what_was_said():
    async def work(pipe):
        pipe.put("a")
        raise UnavailableError("gone")

    async def go():
        found = []
        with pytest.raises(UnavailableError):
            found.extend([piece async for piece in run(work)])
        async with aclosing(run(work)) as pieces:
            return await anext(pieces)
    assert asyncio.run(go()) == "a"
