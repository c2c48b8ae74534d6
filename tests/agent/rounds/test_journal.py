"""A turn that is killed at any step and taken up again."""

import asyncio
import json
from contextlib import suppress

import pytest
from agent_parts import NOW, Echo

from claw.agent.conversation import Conversation
from claw.agent.history import encode, repair
from claw.agent.rounds.events import ToolStarted
from claw.agent.rounds.execute import allow
from claw.agent.rounds.journal import (
    UNKNOWN_OUTCOME,
    EntryJournal,
    ResumedRound,
    read_rounds,
)
from claw.agent.rounds.outcome import TurnOptions
from claw.agent.settings import AgentSettings, PacingSettings
from claw.agent.turn import Agent
from claw.core.errors import BudgetError, StorageError
from claw.core.provider import (
    AssistantToolCalls,
    ChatResponse,
    ToolCall,
    ToolResults,
)
from claw.core.refusal import Refusal
from claw.core.turn import TurnContext
from claw.testing.scripted import ScriptedProvider


class Killed(BaseException):
    """The process ends here."""


class Killer:
    """Keeps entries and ends the process at write number `at` (from 0):
    before the write reaches the disk, or just after it."""

    def __init__(self, at=None, *, after=False):
        self.entries = []
        self.at = at
        self.after = after

    async def write(self, kind, data):
        dies = len(self.entries) == self.at
        if dies and not self.after:
            raise Killed
        self.entries.append((kind, json.loads(json.dumps(data))))
        if dies:
            raise Killed


def asks(*texts, name="echo"):
    return ChatResponse(None, tuple(
        ToolCall(f"c{n}", name, json.dumps({"text": t}))
        for n, t in enumerate(texts)))


def model(request):
    """Two rounds, then the answer; what comes next depends on the
    conversation alone, as with a real model."""
    done = sum(m.role == "assistant" for m in request.messages)
    return [asks("a", "b"), asks("c"), "done"][done]


def turn(tool, entries=(), *, journal=None, gate=allow, parallel=False,
         provider=None, on_event=lambda event: None, **settings):
    agent = Agent(
        provider or ScriptedProvider([model], repeat=True), [tool],
        model="m", gate=gate, now=lambda: NOW,
        settings=AgentSettings(parallel_tools=parallel, **settings))
    conversation = Conversation()
    options = TurnOptions(
        journal=EntryJournal(journal.write) if journal else None,
        resumed=read_rounds(entries))
    result = asyncio.run(agent.turn("go", conversation=conversation,
                                    options=options, on_event=on_event))
    return result, conversation.messages


STEPS = ["calls", "started", "finished", "started", "finished",
         "calls", "started", "finished"]


def test_each_step_is_told_before_the_next():
    killer = Killer()
    turn(Echo(), journal=killer)

    assert [kind for kind, _ in killer.entries] == STEPS
    rounds = read_rounds(killer.entries)
    assert [list(r.results.values()) for r in rounds] == [
        [("a", True), ("b", True)], [("c", True)]]
    ids = [call.id for r in rounds for call in r.calls.tool_calls]
    assert len(set(ids)) == 3


@pytest.mark.each("parallel", [False, True])
@pytest.mark.each("after", [False, True])
@pytest.mark.each("at", range(len(STEPS)))
def test_a_turn_killed_at_any_step_goes_on_and_runs_no_call_twice(
        at, after, parallel):
    tool, killer = Echo(), Killer(at, after=after)
    with pytest.raises(Killed):
        turn(tool, journal=killer, parallel=parallel)
    second = Killer()
    second.entries = list(killer.entries)

    result, history = turn(tool, killer.entries, journal=second,
                           parallel=parallel)

    ran = [run["text"] for run in tool.runs]
    assert sorted(ran) == sorted(set(ran))
    assert result.text == "done"
    outputs = [record.output for record in result.tool_calls]
    assert len(outputs) == 3
    for output, text in zip(outputs, "abc", strict=True):
        assert output in (text, UNKNOWN_OUTCOME)
    assert outputs.count(UNKNOWN_OUTCOME) <= (2 if parallel else 1)
    assert repair(history) == history
    assert [encode(m)["type"] for m in history] == [
        "Chat", "AssistantToolCalls", "ToolResults", "AssistantToolCalls",
        "ToolResults", "Chat"]


@pytest.mark.each("first", range(len(STEPS)))
@pytest.mark.each("later", range(3))
def test_a_turn_may_be_killed_twice(first, later):
    tool, killer = Echo(), Killer(first)
    with pytest.raises(Killed):
        turn(tool, journal=killer)
    killer.at = len(killer.entries) + later
    try:
        turn(tool, tuple(killer.entries), journal=killer)
    except Killed:
        result, _ = turn(tool, killer.entries)
        assert result.text == "done"

    ran = [run["text"] for run in tool.runs]
    assert sorted(ran) == sorted(set(ran))


def begun(*texts, started=(), results=None, labels=()):
    response = asks(*texts)
    return ResumedRound(AssistantToolCalls("hm", response.tool_calls),
                        frozenset(started), results or {},
                        frozenset(labels))


def resume(tools, rounds, script, **parts):
    context = TurnContext("channel")
    provider = ScriptedProvider(script)
    agent = Agent(provider, tools, model="m", now=lambda: NOW, **parts)
    events = []
    result = asyncio.run(agent.turn(
        "go", context=context, options=TurnOptions(resumed=rounds),
        on_event=events.append))
    return result, provider, context, events


def test_a_call_of_unknown_outcome_is_told_to_the_model_and_not_run():
    tool = Echo()
    result, provider, _, events = resume(
        [tool], [begun("a", "b", "c", started=["c0", "c1"],
                       results={"c0": ("was", True)})], ["done"])

    assert tool.runs == [{"text": "c"}]
    assert [(r.output, r.success) for r in result.tool_calls] == [
        ("was", True), (UNKNOWN_OUTCOME, False), ("c", True)]
    told = [json.loads(m.content)["content"]
            for m in provider.requests[0].messages if m.role == "tool"]
    assert told == ["was", UNKNOWN_OUTCOME, "c"]
    assert [e.call_id for e in events if isinstance(e, ToolStarted)] == [
        "c2"]


def test_a_repeatable_tool_runs_again():
    tool = Echo()
    tool.repeatable = True
    result, *_ = resume([tool], [begun("a", started=["c0"])], ["done"])

    assert tool.runs == [{"text": "a"}]
    assert result.tool_calls[0].output == "a"


def test_a_call_that_was_never_started_goes_through_the_gate():
    async def gate(tool, args, context):
        return "Denied by user." if args["text"] == "b" else None
    tool = Echo()
    result, *_ = resume([tool], [begun("a", "b", results={
        "c0": ("was", True)})], ["done"], gate=gate)

    assert tool.runs == []
    assert result.tool_calls[1].output == "Denied by user."


def test_a_refused_call_is_not_asked_again():
    asked = []

    async def gate(tool, args, context):
        asked.append(args["text"])
        return "Denied by user."
    killer = Killer(2)
    with pytest.raises(Killed):
        turn(Echo(), journal=killer, gate=gate)
    assert asked == ["a", "b"]

    turn(Echo(), killer.entries, gate=gate)

    assert asked == ["a", "b", "b", "c"]


@pytest.mark.parametrize("at", range(3, 9))
def test_what_nobody_allowed_before_a_kill_is_told_after_it(at):
    refusal = Refusal("echo", "text: b", "supervised mode",
                      allow="claw permission allow echo text=b")

    async def gate(tool, args, context):
        if args["text"] != "b":
            return None
        context.note_refusal(refusal)
        return "Denied: nobody can be asked here."
    killer = Killer(at)
    with suppress(Killed):
        turn(Echo(), journal=killer, gate=gate)

    result = turn(Echo(), killer.entries, gate=gate)[0]

    assert result.refused == (refusal,)


def test_what_was_read_before_still_marks_the_turn():
    _, _, context, _ = resume(
        [Echo()], [begun("a", results={"c0": ("x", True)},
                         labels=["web"])], ["done"])

    assert context.labels == {"web"}


def test_the_labels_of_all_steps_count():
    calls = ("calls", {"type": "AssistantToolCalls", "data": {
        "text": None, "tool_calls": [
            {"id": name, "name": "echo", "arguments": "{}"}
            for name in ("a", "b")]}})
    done = [("finished", {"id": name, "output": "x", "success": True,
                          "labels": [label]})
            for name, label in (("a", "web"), ("b", "mail"))]

    assert read_rounds([calls, *done])[0].labels == {"web", "mail"}


def test_labels_are_journalled_with_the_result():
    killer, context = Killer(), TurnContext("channel")

    async def wait(args):
        context.labels.add("web")
    agent = Agent(ScriptedProvider([asks("a"), "done"]),
                  [Echo(wait=wait)], model="m")
    asyncio.run(agent.turn("go", context=context, options=TurnOptions(
        journal=EntryJournal(killer.write))))

    assert read_rounds(killer.entries)[0].labels == {"tool", "web"}


def test_resumed_rounds_count_for_the_iteration_limit():
    rounds = [begun(str(n), results={"c0": (str(n), True)})
              for n in range(3)]
    settings = AgentSettings(max_tool_iterations=3)

    with pytest.raises(BudgetError, match="iterations"):
        resume([Echo()], rounds, ["never"], settings=settings)
    result, provider, *_ = resume(
        [Echo()], rounds[:2], ["done"], settings=settings)
    assert result.iterations == 3
    assert len(provider.requests) == 1


def test_resumed_rounds_count_for_the_loop_detector():
    same = begun("a", results={"c0": ("a", True)})

    with pytest.raises(BudgetError, match="loop detector"):
        resume([Echo()], [same] * 4, [asks("a"), "never"],
               pacing=PacingSettings(loop_detection_max_repeats=3))


@pytest.mark.parametrize("at", range(len(STEPS)))
def test_a_journal_that_can_not_be_written_ends_the_turn(at):
    class Full(Killer):
        async def write(self, kind, data):
            if len(self.entries) == self.at:
                raise StorageError("disk full")
            await super().write(kind, data)
    tool = Echo()
    with pytest.raises(StorageError, match="disk full"):
        turn(tool, journal=Full(at))

    assert len(tool.runs) == sum(k == "started" for k in STEPS[:at])


def test_a_round_is_put_back_as_it_was():
    kept = begun("a", results={"c0": ("x", True)})
    provider = ScriptedProvider(["done"])
    agent = Agent(provider, [Echo()], model="m")
    asyncio.run(agent.turn("go", options=TurnOptions(resumed=[kept])))

    assert agent.history[1] == kept.calls
    assert isinstance(agent.history[2], ToolResults)


@pytest.mark.parametrize("entries", [
    [("started", {"id": "c0"})],
    [("calls", {"type": "Chat", "data": {"role": "user", "content": "x"}})],
    [("calls", {})],
    [("calls", encode(AssistantToolCalls(None, ()))),
     ("finished", {"id": "c0", "output": "x", "success": True})],
    [("calls", encode(begun("a").calls)), ("finished", {"id": "c0"})],
    [("calls", encode(begun("a").calls)),
     ("finished", {"id": "c0", "output": 1, "success": True})],
    [("calls", encode(begun("a").calls)), ("other", {"id": "c0"})],
    [("calls", encode(begun("a").calls)), ("started", None)],
])
def test_a_damaged_journal_is_refused(entries):
    with pytest.raises(StorageError, match="journal of a turn is damaged"):
        read_rounds(entries)
