"""What turns left for the memory: no kill loses it, and what waits goes
together."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from claw.core.channel import ChannelMessage
from claw.core.errors import UnavailableError
from claw.runtime.consolidation import Consolidator, build_notes
from claw.storage.queue.model import Arrival, Completion
from claw.storage.queue.sqlite import SqliteQueue

NOW = datetime(2026, 3, 22, tzinfo=UTC)


class Model:
    """Hears each call; the first `failing` calls fail."""

    def __init__(self, failing=0, gate=None):
        self.calls = []
        self.failing = failing
        self.gate = gate

    async def __call__(self, exchanges):
        if self.gate is not None:
            await self.gate.wait()
        self.calls.append([one.user_text for one in exchanges])
        if len(self.calls) <= self.failing:
            raise UnavailableError("the model can't be reached")


@pytest.fixture
def opened(tmp_path):
    @asynccontextmanager
    async def opened():
        queue = SqliteQueue(tmp_path / "queue.db")
        try:
            yield queue
        finally:
            await queue.aclose()
    return opened


async def answer(queue, *texts, sender="ann"):
    """Commit a turn for each text."""
    lease = await queue.lease("listen", 30)
    for text in texts:
        message = ChannelMessage(f"{sender}-{text}", sender, "1", text, "x", 1)
        await queue.accept(lease, [Arrival(message, f"x_1_{sender}")])
        claim = await queue.claim(lease, f"x_1_{sender}")
        await queue.complete(lease, claim, Completion(
            "answered", notes=build_notes(
                claim.turn_id, message, text, "Well.", NOW)))


def make(queue, model, least=1, said=None):
    return Consolidator(queue, model, lambda: least, lambda event, **fields:
                        (said if said is not None else []).append(event))


def test_a_turn_that_was_committed_is_consolidated_by_the_next_process(
        opened):
    model = Model()

    async def go():
        async with opened() as queue:
            await answer(queue, "one")  # killed here
        async with opened() as queue:
            await make(queue, model).flush()
            await make(queue, model).flush()
            return await queue.read_notes()

    assert asyncio.run(go()) == []
    assert model.calls == [["one"]]


def test_what_comes_while_a_call_runs_goes_together_into_the_next(opened):
    async def go():
        model = Model(gate=asyncio.Event())
        async with opened() as queue:
            notes = make(queue, model)
            await answer(queue, "first")
            running = [asyncio.ensure_future(notes.run())]
            await asyncio.sleep(0.05)
            for text in ("second", "third", "fourth"):
                await answer(queue, text)
                running.append(asyncio.ensure_future(notes.run()))
            model.gate.set()
            await asyncio.gather(*running)
        return model.calls

    assert asyncio.run(go()) == [["first"], ["second", "third", "fourth"]]


def test_a_call_that_failed_leaves_the_turns_waiting(opened):
    model, said = Model(failing=1), []

    async def go():
        async with opened() as queue:
            await answer(queue, "one")
            await make(queue, model, said=said).run()
            await answer(queue, "two")
            await make(queue, model, said=said).run()
            return await queue.read_notes()

    assert asyncio.run(go()) == []
    assert model.calls == [["one"], ["one", "two"]]
    assert said == ["consolidation.error"]


def test_people_are_not_mixed_and_enough_of_a_chat_has_to_wait(opened):
    model = Model()

    async def go():
        async with opened() as queue:
            notes = make(queue, model, least=3)
            await answer(queue, "a", "b")
            await answer(queue, "c", sender="kim")
            await notes.run()
            assert model.calls == []
            await answer(queue, "d")
            await notes.run()
            assert model.calls == [["a", "b", "d"]]
            await notes.flush()

    asyncio.run(go())
    assert model.calls[1:] == [["c"]]


def test_a_call_is_given_only_so_much(opened):
    model = Model()
    texts = [f"{number} " + "x" * 5_000 for number in range(9)]

    async def go():
        async with opened() as queue:
            await answer(queue, *texts)
            await make(queue, model).run()

    asyncio.run(go())
    assert [len(call) for call in model.calls] == [4, 4, 1]
