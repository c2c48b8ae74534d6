"""Tools that are found when they are wanted."""

import asyncio
import json

import pytest

from claw.agent.prompt import PromptContext, build_prompt
from claw.agent.turn import Agent
from claw.core.provider import (
    ChatResponse,
    ToolCall,
    estimate_tokens,
    prompt_guide,
)
from claw.core.tool import Tool, ToolResult, closed_object
from claw.core.turn import TurnContext
from claw.testing.scripted import ScriptedProvider
from claw.tools.offer.assemble import all_tools


def find(room, query, **args):
    *_, search = all_tools(room.deps())
    turn = TurnContext("agent")
    result = room.call(search, turn, query=query, **args)
    return [tool.name for tool in turn.tools], result, turn


@pytest.mark.parametrize(("query", "first"), [
    ("select:calculator", "calculator"),
    ("git commit", "git_operations"),
    ("PDF", "pdf_read"),
    ("calculate a square root", "calculator"),
    ("regular expressions", "content_search"),
    ("committing to git repositories", "git_operations"),
    ("size of an image", "image_info"),
])
def test_a_tool_is_found_by_words_or_name(room, query, first):
    found, result, turn = find(room, query)

    assert found[0] == first
    assert f'{{"name": "{first}", "description": ' in result.output
    assert turn.labels == set()


def test_several_are_selected_and_strangers_left_out(room):
    found, _, _ = find(room, "select:glob_search, nothing,image_info")

    assert found == ["glob_search", "image_info"]


def test_no_more_than_were_asked_for(room):
    assert len(find(room, "file", max_results=2)[0]) == 2


def test_what_is_not_there_is_answered_with_what_is(room):
    found, result, _ = find(room, "xyzzy")

    assert found == []
    assert "calculator" in result.output


class Foreign(Tool):
    name = "far__away"
    description = "Of a server."

    def parameters_schema(self):
        return closed_object()

    async def execute(self, args):
        return ToolResult(output="")


def test_words_of_a_server_label_the_turn(room):
    *_, search = all_tools(room.deps())
    search.add([Foreign()])
    assert "far__away" in search.spec().description
    turn = TurnContext("agent")

    room.call(search, turn, query="select:far__away")

    assert turn.labels == {"tool"}


def call(name, *, native, **args):
    if native:
        return ChatResponse(tool_calls=(
            ToolCall("1", name, json.dumps(args)),))
    return "<tool_call>{}</tool_call>".format(
        json.dumps({"name": name, "arguments": args}))


@pytest.mark.parametrize("native", [True, False])
def test_a_model_finds_a_tool_and_calls_it(room, native):
    """In one turn, and in a later one without looking again."""
    provider = ScriptedProvider([
        call("tool_search", native=native, query="calculate"),
        call("calculator", native=native, function="add", values=[0.1, 0.2]),
        "0.3",
        call("calculator", native=native, function="add", values=[1, 2]),
        "3"], native_tools=native)
    agent = Agent(provider, all_tools(room.deps()))

    first = asyncio.run(agent.turn("0.1 + 0.2?"))
    second = asyncio.run(agent.turn("1 + 2?"))

    assert [(one.name, one.success) for one in first.tool_calls] == [
        ("tool_search", True), ("calculator", True)]
    assert first.tool_calls[1].output == "0.3"
    assert [one.output for one in second.tool_calls] == ["3"]
    if native:
        offered = [{tool.name for tool in asked.request.tools}
                   for asked in provider.requests]
        assert ["calculator" in names for names in offered] == [
            False, True, True, False, True]


def test_the_prompt_with_the_usual_tools_is_short(room):
    """Counted as claw counts: system prompt and schemas together."""
    deps = room.deps(memory=object())
    specs = [tool.spec() for tool in all_tools(deps)]
    prompt = build_prompt(PromptContext(
        tools=specs, policy=deps.policy.prompt_summary(),
        workspace="/home/mina/.claw/workspace", model="some-model-1",
        host="laptop", system="Linux"))
    schemas = json.dumps([{"type": "function", "function": {
        "name": spec.name, "description": spec.description,
        "parameters": spec.parameters}} for spec in specs])

    assert estimate_tokens(prompt + schemas) < 1_500
    assert estimate_tokens(prompt + prompt_guide(specs)) < 1_500
