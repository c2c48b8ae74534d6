"""delegate: tasks for other agents, within the turn that asks."""

import asyncio

import pytest

from claw.core.errors import UnavailableError
from claw.core.turn import TurnContext, current_call, current_turn
from claw.core.value import replace
from claw.tools.agents.delegate import MOST_TASKS, Delegate


class Helper:
    """Answers with what it was asked; keeps the contexts of its turns."""

    def __init__(self, max_depth=3, answer=None):
        self.max_depth = max_depth
        self.answer = answer
        self.contexts, self.calls = [], []
        self.most = self.now = 0

    async def run_turn(self, message, context):
        self.contexts.append(context)
        self.calls.append(current_call.get())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            return await self.answer(message, context) if self.answer \
                else f"answer to {message}"
        finally:
            self.now -= 1


def build(room, **agents):
    return Delegate(replace(room.deps(sandbox=False), agents=agents))


def test_a_task_is_answered_by_the_agent_named(room):
    coder, writer = Helper(), Helper()
    tool = build(room, coder=coder, writer=writer)

    result = room.call(tool, agent="writer", task="a line", context="of tea")

    assert result.output == "answer to [Context]\nof tea\n\n[Task]\na line"
    assert not coder.contexts
    assert tool.parameters_schema()["properties"]["agent"]["description"] \
        == "Which agent to delegate to. Available: coder, writer"


def test_prompt_is_another_word_for_task(room):
    tool = build(room, coder=Helper())

    assert room.call(tool, agent="coder", prompt="x").output == "answer to x"
    assert tool.problem({"agent": "coder", "prompt": "x"}) is None
    assert room.call(tool, agent="coder", task="x", prompt="y").error


def test_an_unknown_agent_is_named_with_those_there_are(room):
    assert room.call(build(room, coder=Helper()), agent="x", task="y").error \
        == "Unknown agent 'x'; available: coder"
    assert "[agents.NAME]" in room.call(build(room), agent="x", task="y").error


def test_the_inner_turn_is_part_of_the_outer_one(room):
    coder, cancel = Helper(), asyncio.Event()
    turn = TurnContext("channel", turn_id="t1", channel="chat", sender="42",
                       reply_target="9", cancel=cancel, max_cost_usd=0.5,
                       labels={"web"})

    room.call(build(room, coder=coder), turn, agent="coder", task="x")

    inner, = coder.contexts
    assert (inner.turn_id, inner.channel, inner.sender, inner.cancel,
            inner.max_cost_usd, inner.labels, inner.depth) == (
        "t1", "chat", "42", cancel, 0.5, {"web"}, 1)
    assert inner.labels is not turn.labels


def test_tasks_handed_on_and_on_end_at_the_depth(room):
    async def hand_on(message, context):
        token = current_turn.set(context)
        try:
            result = await tool.execute({"agent": "loop", "task": message})
        finally:
            current_turn.reset(token)
        return result.output or f"[{context.depth}] {result.error}"
    loop = Helper(answer=hand_on)
    tool = build(room, loop=loop)

    assert room.call(tool, agent="loop", task="x").output \
        == "[3] Max delegation depth reached"
    assert [context.depth for context in loop.contexts] == [1, 2, 3]
    assert room.call(build(room, no=Helper(max_depth=0)), agent="no",
                     task="x").error == "Max delegation depth reached"


def test_tasks_in_parallel_come_back_in_order_and_know_their_number(room):
    coder = Helper()

    result = room.call(
        build(room, coder=coder), agent="coder", task="a", parallel=[
            {"agent": "coder", "task": "b"},
            {"agent": "coder", "prompt": "c"}])

    assert result.output == ("[1. coder]\nanswer to a\n\n[2. coder]\n"
                             "answer to b\n\n[3. coder]\nanswer to c")
    assert coder.most == 3
    assert coder.calls == [".0", ".1", ".2"]


def test_one_task_that_fails_takes_no_other_with_it(room):
    async def fail(message, context):
        raise UnavailableError("the server is down")
    tool = build(room, coder=Helper(), broken=Helper(answer=fail))
    more = [{"agent": "broken", "task": "b"}]

    mixed = room.call(tool, agent="coder", task="a", parallel=more)
    lost = room.call(tool, agent="broken", task="a", parallel=more)

    assert mixed.success
    assert "[2. broken]\nError: the server is down" in mixed.output
    assert not lost.success
    assert room.call(tool, agent="broken", task="a").error \
        == "the server is down"


def test_a_hundred_tasks_in_one_call_are_refused(room):
    coder = Helper()

    result = room.call(build(room, coder=coder), agent="coder", task="x",
                       parallel=[{"agent": "coder", "task": "y"}] * 99)

    assert result.error == f"100 tasks in one call; at most {MOST_TASKS}"
    assert not coder.contexts


def test_a_hundred_calls_at_once_run_a_few_at_a_time(room):
    coder = Helper()
    tool = build(room, coder=coder)

    async def run():
        return await asyncio.gather(*(tool.execute(
            {"agent": "coder", "task": str(n)}) for n in range(100)))
    results = asyncio.run(run())

    assert all(result.success for result in results)
    assert coder.most == MOST_TASKS


def test_a_stopped_call_stops_its_tasks(room):
    ended = []

    async def wait(message, context):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(message)
    tool = build(room, coder=Helper(answer=wait))

    async def run():
        call = asyncio.ensure_future(tool.execute({
            "agent": "coder", "task": "a",
            "parallel": [{"agent": "coder", "task": "b"}]}))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    asyncio.run(run())

    assert sorted(ended) == ["a", "b"]


@pytest.mark.parametrize("parallel", [
    ["coder"], [None], [{"agent": "coder"}], [{"agent": "coder", "task": ""}],
    [{"agent": "nobody", "task": "x"}], [{"agent": "coder", "task": 1}]])
def test_a_broken_task_in_parallel_starts_none(room, parallel):
    coder = Helper()

    result = room.call(build(room, coder=coder), agent="coder", task="x",
                       parallel=parallel)

    assert result.error
    assert not coder.contexts


def test_nothing_is_handed_over_in_read_only_mode(room):
    tool = Delegate(replace(room.deps(sandbox=False, level="readonly"),
                            agents={"coder": Helper()}))

    assert "read-only mode" in room.call(tool, agent="coder", task="x").error
