"""A model that hands over to another one."""

import asyncio
import json

from claw.agent.turn import Agent
from claw.core.provider import ChatResponse, ToolCall
from claw.testing.scripted import ScriptedProvider
from claw.tools.offer.assemble import all_tools


def call(**args):
    return ChatResponse(tool_calls=(
        ToolCall("1", "model_switch", json.dumps(args)),))


def run(room, *steps):
    provider = ScriptedProvider([*steps, "done"])
    agent = Agent(provider, all_tools(room.deps(), ["model_switch"]),
                  model="small", hints=["large", "fast"])
    result = asyncio.run(agent.turn("a hard one"))
    return [asked.model for asked in provider.requests], [
        record.output for record in result.tool_calls]


def test_the_next_step_is_for_the_other_model(room):
    models, outputs = run(room, call(action="get"),
                          call(action="set", model="large"),
                          call(action="list_models"))

    assert models == ["small", "small", "hint:large", "hint:large"]
    assert outputs == ["small", "The next step is for large", "large\nfast"]


def test_only_what_the_owner_set_up_can_be_chosen(room):
    models, outputs = run(room, call(action="set", model="huge"),
                          call(action="set"))

    assert models == ["small"] * 3
    assert outputs == ["Error: no such model: huge; there are: large, fast",
                       "Error: set needs model"]
