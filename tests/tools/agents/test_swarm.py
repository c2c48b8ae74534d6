"""swarm: one task for several agents, as the owner put them together."""

import asyncio

import pytest

from claw.core.errors import UnavailableError
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.tools.agents.swarm import Swarm
from claw.tools.settings import SwarmSettings


class Helper:
    """Answers with its name and what it was asked."""

    def __init__(self, name, max_depth=3, fails=False, waits=False):
        self.name, self.max_depth = name, max_depth
        self.fails, self.waits = fails, waits
        self.asked = []

    async def run_turn(self, message, context):
        self.asked.append((message, context))
        if self.waits:
            await asyncio.Event().wait()
        if self.fails:
            raise UnavailableError("the server is down")
        return f"{self.name} says"


class Chooser:
    def __init__(self, choice):
        self.choice, self.asked = choice, []

    def list_models(self):
        return []

    async def run_task(self, message, context, task):
        self.asked.append((message, context, task))
        return f'{{"agent": "{self.choice}"}}'


def build(room, *agents, tasks=None, **settings):
    """The swarm "all" of these agents."""
    deps = replace(room.deps(sandbox=False), tasks=tasks,
                   agents={agent.name: agent for agent in agents})
    return Swarm(deps, {"all": SwarmSettings(
        agents=tuple(agent.name for agent in agents), **settings)})


def test_in_turn_each_gets_the_answer_of_the_one_before(room):
    draft, review = Helper("draft"), Helper("review")

    result = room.call(build(room, draft, review), swarm="all",
                       prompt="a poem", context="of tea")

    assert result.output == "review says"
    assert draft.asked[0][0] == "[Context]\nof tea\n\n[Task]\na poem"
    assert review.asked[0][0] == (
        "[Context]\nof tea\n\n[Answer of draft]\ndraft says\n\n"
        "[Task]\na poem")


def test_in_turn_a_failure_ends_it(room):
    last = Helper("last")

    result = room.call(build(room, Helper("bad", fails=True), last),
                       swarm="all", prompt="x")

    assert result.error == "bad failed: the server is down"
    assert not last.asked


def test_in_parallel_all_are_asked_the_same(room):
    one, two = Helper("one"), Helper("two", fails=True)

    result = room.call(build(room, one, two, strategy="parallel"),
                       swarm="all", prompt="x")

    assert result.output == ("[1. one]\none says\n\n[2. two]\n"
                             "Error: the server is down")
    assert [asked for asked, _ in one.asked + two.asked] == ["x", "x"]


def test_a_router_asks_the_agent_that_a_model_names(room):
    one, two, chooser = Helper("one"), Helper("two"), Chooser("two")

    result = room.call(build(room, one, two, tasks=chooser,
                             strategy="router", router_prompt="Who?"),
                       swarm="all", prompt="x")
    (asked, _, task), = chooser.asked

    assert result.output == "two says"
    assert not one.asked
    assert asked == "Who?\n\nAgents: one, two\n\n[Task]\nx"
    assert task.schema["properties"]["agent"]["enum"] == ["one", "two"]
    assert task.tools == ()


def test_its_turns_belong_to_the_turn_that_asks(room):
    one = Helper("one")
    turn = TurnContext("channel", turn_id="t", max_cost_usd=0.5,
                       labels={"web"}, depth=1)

    room.call(build(room, one), turn, swarm="all", prompt="x")
    context = one.asked[0][1]

    assert (context.turn_id, context.max_cost_usd, context.labels,
            context.depth) == ("t", 0.5, {"web"}, 2)
    assert "Max delegation depth" in room.call(
        build(room, Helper("one", max_depth=1)), turn, swarm="all",
        prompt="x").error


def test_all_together_have_one_time(room):
    result = room.call(
        build(room, Helper("slow", waits=True), timeout_secs=1),
        swarm="all", prompt="x")

    assert result.error == "the swarm all did not answer within 1 s"


@pytest.mark.parametrize(("name", "said"), [
    ("other", "Unknown swarm 'other'; available: all"), ("", "empty")])
def test_an_unknown_swarm_is_named_with_those_there_are(room, name, said):
    assert said in room.call(build(room, Helper("one")), swarm=name,
                             prompt="x").error
