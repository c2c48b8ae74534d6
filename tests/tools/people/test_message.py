"""message: one row of the outbox for each call of a turn."""

import json

import pytest

from claw.agent.rounds.journal import ResumedRound
from claw.agent.rounds.outcome import TurnOptions
from claw.agent.turn import Agent
from claw.core.provider import AssistantToolCalls, ChatResponse, ToolCall
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.testing.scripted import ScriptedProvider
from claw.tools.agents.delegate import Delegate
from claw.tools.people.message import Message
from claw.tools.people.sending import MOST_SENT


class Outbox:
    """Keeps what it is given, once for each source."""

    channels = ("chat",)

    def __init__(self):
        self.rows = {}

    async def send_text(self, source, target, text):
        self.rows.setdefault(source, (target, text))
        return "Sent"


@pytest.fixture
def outbox():
    return Outbox()


@pytest.fixture
def tool(room, outbox):
    return Message(replace(room.deps(sandbox=False), send=outbox))


def ask(**args):
    return ToolCall("call_1", "message", json.dumps(args))


HELLO = ask(to="chat:7", text="hello")


def run(agent, **more):
    import asyncio
    return asyncio.run(agent.turn(
        "go", context=TurnContext("channel", turn_id="t"), **more))


def test_a_turn_that_is_repeated_sends_no_message_twice(tool, outbox):
    agent = Agent(ScriptedProvider([
        ChatResponse(tool_calls=(HELLO,)), "done"]), [tool])
    run(agent)
    # Killed after the call had begun; nobody knows whether it went out.
    again = Agent(ScriptedProvider(["done"]), [tool])
    result = run(again, options=TurnOptions(resumed=[ResumedRound(
        AssistantToolCalls("", (HELLO,)), frozenset({"call_1"}))]))

    assert result.tool_calls[0].success
    assert outbox.rows == {"tool:t:call_1": ("chat:7", "hello")}


def test_the_same_call_of_two_inner_turns_is_two_messages(room, tool, outbox):
    class Inner:
        max_depth = 3

        async def run_turn(self, message, context):
            agent = Agent(ScriptedProvider([
                ChatResponse(tool_calls=(HELLO,)), "done"]), [tool])
            return await agent.run_turn(message, context)
    delegate = Delegate(replace(room.deps(sandbox=False),
                                agents={"x": Inner()}))
    task = {"agent": "x", "task": "greet"}
    run(Agent(ScriptedProvider([ChatResponse(tool_calls=(ToolCall(
        "call_1", "delegate", json.dumps({**task, "parallel": [task]})),)),
        "done"]), [delegate]))

    assert sorted(outbox.rows) == ["tool:t:call_1.0/call_1",
                                   "tool:t:call_1.1/call_1"]


def test_without_a_channel_it_says_so_at_once(room):
    result = room.call(Message(room.deps(sandbox=False)), to="x:1", text="y")

    assert result.error == "no channel is set up here to send through"


def test_nothing_is_sent_in_read_only_mode(room, outbox):
    tool = Message(replace(room.deps(sandbox=False, level="readonly"),
                           send=outbox))

    assert "read-only mode" in room.call(tool, to="chat:1", text="x").error
    assert not outbox.rows


def test_a_turn_could_send_as_many_messages_as_it_liked(room, tool, outbox):
    turn = TurnContext("agent")
    sent = [room.call(tool, turn, to="chat:1", text=str(number))
            for number in range(MOST_SENT + 2)]
    inner = room.call(tool, turn.hand_over(), to="chat:1", text="more")

    assert [result.success for result in sent].count(True) == MOST_SENT
    assert "this turn has sent 10 messages" in sent[-1].error
    assert not inner.success
    assert len(outbox.rows) == MOST_SENT
    assert room.call(tool, TurnContext("agent"), to="chat:1",
                     text="x").success
