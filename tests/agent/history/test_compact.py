"""A conversation that a model found too long."""

import asyncio
import json

import pytest
from agent_parts import Echo
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.history import is_results, is_system, repair, starts_turn
from claw.agent.history.compact import shrink
from claw.agent.rounds.events import Notice
from claw.agent.turn import Agent
from claw.core.errors import (
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ChatResponse,
    ToolCall,
    ToolResultMessage,
    ToolResults,
)
from claw.core.turn import TurnContext
from claw.testing.scripted import ScriptedProvider

OVERFLOW = RequestRefusedError("the maximum context length is 8192 tokens")


def user(text):
    return Chat(ChatMessage.user(text))


def answer(text):
    return Chat(ChatMessage.assistant(text))


def calls(*ids):
    return AssistantToolCalls("I look", tuple(
        ToolCall(i, "shell", "{}") for i in ids))


def results(text, *ids):
    return ToolResults(tuple(ToolResultMessage(i, text) for i in ids))


def guided(text, *ids):
    return user("[Tool results]\n" + "".join(
        f'<tool_result name="{i}" status="ok">\n{text}\n</tool_result>\n'
        for i in ids))


SYSTEM = Chat(ChatMessage.system("s" * 900))
LONG = "y" * 20_000


@pytest.mark.parametrize("round_", [
    [calls("1", "2"), results(LONG, "1", "2")],
    [calls("1", "2"), guided(LONG, "1", "2")]])
def test_rounds_of_earlier_turns_go_and_the_running_one_keeps_its_own(
        round_):
    history = [SYSTEM, user(LONG), *round_, answer("old"), user(LONG),
               *round_, *round_]
    short = shrink(history)

    assert short[0] == SYSTEM
    assert short[1] == user("y" * 600 + "...")
    assert short[2] == answer("old")
    assert short[3] == user(LONG)
    assert [type(m) for m in short[4:]] == [type(m) for m in [
        *round_, *round_]]
    first, last = short[5], short[7]
    size = len(str(first))
    assert 1_200 < size < 2_000
    assert 16_000 < len(str(last)) < 17_000
    if isinstance(first, Chat):
        assert first.message.content.count("</tool_result>") == 2
        assert first.message.content.count("<tool_result ") == 2


def test_the_newest_turns_stay():
    history = [m for n in range(20) for m in (user(f"q{n}"), answer("a"))]

    assert shrink(history) == history[-12:]
    assert shrink(history, keep_turns=1) == history[-2:]
    assert shrink(history, keep_turns=2) == history[-4:]
    assert shrink([]) == []
    assert shrink([SYSTEM]) == [SYSTEM]


ROUNDS = st.tuples(st.booleans(), st.lists(
    st.sampled_from("123"), min_size=1, max_size=3, unique=True),
    st.integers(0, 9000)).map(lambda r: [calls(*r[1]), (
        guided if r[0] else results)("o" * r[2], *r[1])])
TURNS = st.tuples(
    st.integers(1, 1500), st.lists(ROUNDS, max_size=4), st.booleans()
).map(lambda t: [user("u" * t[0]), *(m for r in t[1] for m in r),
                 *([answer("done " * 200)] if t[2] else [])])
HISTORIES = st.tuples(st.booleans(), st.lists(TURNS, max_size=9)).map(
    lambda h: ([SYSTEM] if h[0] else []) + [m for t in h[1] for m in t])


def size(history):
    return sum(len(repr(m)) for m in history)


@given(history=HISTORIES, keep=st.integers(1, 8))
def test_no_call_is_parted_from_its_result_and_the_last_words_stay(
        history, keep):
    assert repair(history) == history
    before = list(history)

    short = shrink(history, keep)

    assert history == before
    assert repair(short) == short
    for index, item in enumerate(short):
        if isinstance(item, AssistantToolCalls):
            assert is_results(short[index + 1])
    assert size(short) <= size(history) + 10 * len(history)
    assert shrink(short, keep) == short or any("..." in repr(m)
                                               for m in short)
    words = [m for m in history if starts_turn(m)]
    assert [m for m in short if starts_turn(m)][-1:] == words[-1:]
    assert list(filter(is_system, short)) == list(filter(is_system, history))
    running = history[len(history) - history[::-1].index(words[-1]):] \
        if words else []
    made = [m for m in running if isinstance(m, AssistantToolCalls)]
    assert [m for m in short if isinstance(m, AssistantToolCalls)] == made


# -- in a turn

def agent_of(script, **parts):
    return Agent(ScriptedProvider(script), model="m", **parts)


def talk(agent, *messages, origin="agent"):
    events = []
    for message in messages:
        result = asyncio.run(agent.turn(
            message, on_event=events.append, context=TurnContext(origin)))
    return result, [e.text for e in events if isinstance(e, Notice)]


def test_a_turn_that_is_too_long_is_asked_again_once_shorter():
    agent = agent_of(["z" * 5000, OVERFLOW, "fine"])

    result, notices = talk(agent, "first", "second")

    assert result.text == "fine"
    assert len(notices) == 1
    again = agent.provider.requests[2]
    assert again.messages[1].content == "z" * 600 + "..."
    assert again.last.content.endswith("] second")


def test_results_of_the_running_turn_are_shortened():
    call = ChatResponse(None, (ToolCall("c", "echo", json.dumps(
        {"text": LONG})),))
    agent = agent_of([call, OVERFLOW, "fine"], tools=[Echo()])

    result, notices = talk(agent, "go")

    assert (result.text, len(notices)) == ("fine", 1)
    assert len(agent.provider.requests[2].last.content) < 9_000


@pytest.mark.parametrize(("script", "origin", "messages"), [
    (["z" * 5000, OVERFLOW, OVERFLOW, "never"], "agent", 2),
    (["z" * 5000, OVERFLOW, "never"], "channel", 2),
    ([OVERFLOW, "never"], "agent", 1),
    (["z" * 5000, UnavailableError("down"), "never"], "agent", 2),
    (["z" * 5000, RateLimitedError("too many tokens per minute"), "never"],
     "agent", 2)])
def test_else_the_error_rises(script, origin, messages):
    agent = agent_of(script)

    with pytest.raises(UnavailableError):
        talk(agent, *["hello"] * messages, origin=origin)
    assert agent.provider.left == 1
    assert agent.history[-1].message.content.endswith("] hello")


def test_what_was_recalled_does_not_crowd_out_what_the_person_wrote():
    asked = "[2026-11-23 10:00:00 UTC] the ferry to Bergen"
    block = "[Memory context]\n- trip: " + "fjord " * 200 + "\n\n"
    history = [SYSTEM, user(block + asked), answer("at nine"),
               user(block + asked)]

    short = shrink(history)

    assert short[1] == user(asked)
    assert short[-1] == history[-1]
