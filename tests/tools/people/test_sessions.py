"""Kept conversations, for the owner alone."""

import asyncio

import pytest

from claw.config.places import locate
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.security.approval import ApprovalManager, NoApprover
from claw.tools.people.sessions import (
    SessionsHistory,
    SessionsList,
    SessionsSend,
)
from claw.wiring.workspace.sessions import (
    KeptSessions,
    load_history,
    open_sessions,
)


def say(role, content):
    return {"type": "Chat", "data": {"role": role, "content": content}}


@pytest.fixture
def places(room, tmp_path):
    return locate(str(tmp_path / "home"), str(room.workspace), {})


@pytest.fixture
def deps(room, places):
    store = open_sessions(places)
    store.append("main", [say("user", "green or black tea?"),
                          say("assistant", "x" * 5_000)])
    return replace(room.deps(), sessions=KeptSessions(places))


def test_sessions_are_listed_with_their_titles(room, deps):
    result = room.call(SessionsList(deps))

    assert result.output.startswith("- main: ")
    assert "tea" in result.output
    assert "(2 messages, 20" in result.output


def test_the_last_messages_are_read(room, deps):
    tool = SessionsHistory(deps)

    whole = room.call(tool, session="main").output
    assert "] green or black tea?\n[assistant" in whole
    assert whole.endswith("xx [... 3000 characters left out]")
    assert "tea" not in room.call(tool, session="main", limit=1).output
    assert not room.call(tool, session="nobody").success


@pytest.mark.parametrize("tool", [SessionsList, SessionsHistory])
def test_a_chat_never_reads_them(room, deps, tool):
    turn = TurnContext("channel", channel="chat", reply_target="7")
    args = {"session": "main"} if tool is SessionsHistory else {}

    result = room.call(tool(deps), turn, **args)

    assert "not read in a channel" in result.error


def send(room, deps, turn=None, session="main", message="buy tea"):
    return room.call(SessionsSend(deps), turn, session=session,
                     message=message)


def test_a_message_is_left_with_the_labels_of_what_it_was_made_of(room, deps,
                                                                  places):
    turn = TurnContext("agent", turn_id="abcdefgh12", labels={"web"})

    result = send(room, deps, turn)
    *_, note = load_history(open_sessions(places), "main", print)

    assert result.success
    assert note.message.role == "user"
    assert note.message.content == (
        "[Left here by the agent, in turn abcdefgh of another conversation]\n"
        "buy tea")
    assert set(note.labels) == {"web", "tool"}


@pytest.mark.parametrize(("turn", "session", "said"), [
    (TurnContext("channel", channel="chat", reply_target="7"), "main",
     "not read in a channel"),
    (None, "nobody", "nobody"),
    (None, "chat_7", "the conversation of a channel"),
    (TurnContext("ask", turn_id="t", message="ask:main:t"), "main",
     "that is this conversation"),
])
def test_where_no_message_may_be_left(room, deps, places, turn, session,
                                      said):
    store = open_sessions(places)
    store.append("chat_7", [{**say("user", "hi"), "turn": "t1"}])
    before = [store.read(key).records for key in ("main", "chat_7")]

    assert said in send(room, deps, turn, session).error
    assert before == [store.read(key).records for key in ("main", "chat_7")]


def test_a_message_that_is_left_is_asked_about(room, deps):
    manager = ApprovalManager(deps.policy, NoApprover(), interactive=False)

    refusal = asyncio.run(manager.gate(
        SessionsSend(deps), {"session": "main", "message": "x"},
        TurnContext("ask")))

    assert "needs approval" in refusal
    assert "10,000" in send(room, deps, message="x" * 10_001).error
