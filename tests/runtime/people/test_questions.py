"""Questions of the agent over a channel: who may answer, and how."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from claw.agent.turn import Agent
from claw.core.provider import ChatResponse, ToolCall
from claw.core.tool import Tool, ToolResult, closed_object, string
from claw.core.turn import ApprovalRequest
from claw.runtime.people.approvals import NOT_OPEN
from claw.runtime.people.questions import NO_WORDS
from claw.testing.memory_channel import MemoryChannel
from claw.testing.scripted import ScriptedProvider
from claw.tools.agents.delegate import Delegate

ASK = ChatResponse(tool_calls=(ToolCall(
    "c1", "ask_user", json.dumps({"question": "Which [IMAGE:/x]?"})),))


class Ask(Tool):
    """ask_user of this stage's approver."""

    name = "ask_user"
    description = "Ask."
    labels_itself = True
    repeatable = True

    def __init__(self, stage, timeout_s=20.0):
        self.stage = stage
        self.timeout_s = timeout_s

    def parameters_schema(self):
        return closed_object(question=string("what"))

    async def execute(self, args):
        return ToolResult(await self.stage().approver.ask_user(
            args["question"], ["red", "blue"], self.timeout_s))


def make(stage, script=(ASK, "done"), timeout_s=20.0, **more):
    held = []
    tool = Ask(lambda: held[0], timeout_s)
    held.append(stage(ScriptedProvider(script), tools=[tool], **more))
    return held[0]


async def find_question(s):
    found = await s.until(lambda: next(
        (m for m in s.channel.sent if m.text.startswith("Which")), None))
    return found, found.message.buttons[0].action.split(":")[1]


async def read_result(s):
    await s.until(lambda: "done" in s.channel.texts())
    return s.provider.requests[-1].last.content


async def test_a_pressed_button_is_the_answer(stage):
    async with make(stage) as s:
        s.channel.say("go", reply_target="room")
        asked, question = await find_question(s)
        s.channel.say(f"answer:{question}:1", kind="action",
                      reply_target="room")

        assert "blue" in await read_result(s)
        assert asked.recipient == "room"
        assert [b.label for b in asked.message.buttons] == ["red", "blue"]
        assert "[IMAGE" not in asked.text
        assert NOT_OPEN not in s.channel.texts()


@pytest.mark.parametrize(("text", "answer"), [
    ("/reply {} neither of them", "neither of them"),
    ("/reply {} 2", "blue"), ("/reply {} 9", "9"),
    ("/reply {} 1000", "1000"), ("/reply {} 0", "0"),
    ("/reply {} ☕ \ud800", "☕"), ("{} neither of them", "neither of them"),
    ("claw, {}: 2", "blue")])
async def test_what_is_typed_is_the_answer(stage, text, answer):
    async with make(stage) as s:
        s.channel.say("go")
        _, question = await find_question(s)
        s.channel.say(text.format(question))

        assert answer in await read_result(s)


@pytest.mark.parametrize("said", [
    {"text": "answer:{}:0", "kind": "action", "sender": "mallory"},
    {"text": "/reply {} red", "sender": "mallory"},
    {"text": "{} red", "sender": "mallory"},
    {"text": "approve:{}:yes", "kind": "action"}, {"text": "/approve {}"},
    {"text": "answer:q0000000:0", "kind": "action"},
    {"text": "/reply"}, {"text": "/reply x"}])
async def test_nothing_else_answers_it(stage, said):
    async with make(stage) as s:
        s.channel.say("go")
        _, question = await find_question(s)
        text = said["text"].format(question)
        s.channel.say(text, **{k: v for k, v in said.items() if k != "text"})
        await s.until(lambda: NOT_OPEN in s.channel.texts())

        s.channel.say(f"answer:{question}:0", kind="action")
        assert "red" in await read_result(s)


async def test_a_reply_without_words_leaves_the_question_open(stage):
    async with make(stage) as s:
        s.channel.say("go")
        _, question = await find_question(s)
        s.channel.say(question)
        await s.until(lambda: NO_WORDS in s.channel.texts())

        s.channel.say(f"/reply {question} 1")
        assert "red" in await read_result(s)


async def test_no_answer_in_time_is_told_and_the_turn_goes_on(stage):
    async with make(stage, timeout_s=0.05) as s:
        s.channel.say("go")

        assert "no answer within 0.05 s" in await read_result(s)


@pytest.mark.parametrize("dead", [False, True])
async def test_a_question_outlives_a_kill_and_is_asked_once(stage, dead):
    """Answered after the restart, or while claw was dead."""
    channel = MemoryChannel()
    async with make(stage, channels=[channel]) as s:
        channel.say("go")
        _, question = await find_question(s)
        await s.idle_outbox()
        if dead:
            s.dispatcher._control = lambda *_: asyncio.sleep(0)
            channel.say(f"answer:{question}:1", kind="action")
            await s.until(lambda: not channel.waiting)
    async with make(stage, ["done"], channels=[channel]) as s:
        if not dead:
            await s.until(lambda: s.said("turn.resumed"))
            channel.say(f"answer:{question}:1", kind="action")

        assert "blue" in await read_result(s)
        assert sum("Which" in text for text in channel.texts()) == 1


async def test_the_answer_to_a_question_is_no_yes_to_a_call(stage, probe):
    """/reply ID with the id of an approval allows nothing."""
    tool = probe()

    def gate(stage):
        async def asks(tool, args, context):
            decision = await stage.approver.approve(ApprovalRequest(
                tool.name, "run", "key", "supervised mode"))
            return None if decision != "no" else "Denied by user."
        return asks
    script = [ChatResponse(tool_calls=(ToolCall("c1", "probe", "{}"),)),
              "done"]
    async with stage(ScriptedProvider(script), gate=gate,
                     tools=[tool]) as s:
        s.channel.say("go")
        asked = await s.until(lambda: next(
            (m for m in s.channel.sent if m.text.startswith("Approve")),
            None))
        approval = asked.message.buttons[0].action.split(":")[1]
        s.channel.say(f"/reply {approval} yes")
        s.channel.say(f"answer:{approval}:0", kind="action")
        await s.until(lambda: s.channel.texts().count(NOT_OPEN) == 2)
        await asyncio.sleep(0.05)

        assert not tool.runs
        s.channel.say(f"/deny {approval}")
        await s.until(lambda: "done" in s.channel.texts())
        assert not tool.runs


async def test_an_agent_within_the_turn_asks_the_same_person(stage, probe):
    """The calls of a delegated task are the owner's to allow."""
    tool = probe()

    def gate(stage):
        async def asks(tool, args, context):
            if tool.name != "probe":
                return None
            decision = await stage.approver.approve(ApprovalRequest(
                tool.name, "run", "key", "supervised mode"))
            return None if decision != "no" else "Denied by user."
        return asks
    inner = ScriptedProvider([ChatResponse(tool_calls=(
        ToolCall("c1", "probe", '{"x": 1}'),)), "did it"])
    held = []

    class Scout:
        max_depth = 3

        async def run_turn(self, message, context):
            return await Agent(inner, [tool], gate=gate(held[0])).run_turn(
                message, context)
    deps = SimpleNamespace(agents={"scout": Scout()}, policy=SimpleNamespace(
        enforce=lambda operation: None))
    held.append(stage(ScriptedProvider([ChatResponse(tool_calls=(ToolCall(
        "c1", "delegate", '{"agent": "scout", "task": "go"}'),)), "done"]),
        tools=[Delegate(deps)]))
    async with held[0] as s:
        s.channel.say("go", reply_target="room")
        asked = await s.until(lambda: next(
            (m for m in s.channel.sent if m.text.startswith("Approve")),
            None))
        assert asked.recipient == "room"
        assert not tool.runs
        s.channel.say(asked.message.buttons[0].action, kind="action",
                      reply_target="room")

        assert "did it" in await read_result(s)
        assert tool.runs == [{"x": 1}]
