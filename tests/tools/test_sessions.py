"""Kept conversations, for the owner alone."""

import pytest

from claw.config.places import locate
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.tools.sessions import SessionsHistory, SessionsList
from claw.wiring.sessions import KeptSessions, open_sessions


def say(role, content):
    return {"type": "Chat", "data": {"role": role, "content": content}}


@pytest.fixture
def deps(room, tmp_path):
    places = locate(str(tmp_path / "home"), str(room.workspace), {})
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
