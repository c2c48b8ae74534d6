"""Kept conversations: gone on from, and read by people."""

import pytest

from claw.agent.history import encode
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ToolCall,
    ToolResultMessage,
    ToolResults,
)
from claw.wiring.workspace.sessions import (
    load_history,
    open_sessions,
    read_messages,
)

CALLS = AssistantToolCalls(None, (ToolCall("c1", "shell", '{"a": 1}'),))
RESULTS = ToolResults((ToolResultMessage("c1", "out"),
                       ToolResultMessage("c2", "more")))


@pytest.fixture
def store(write_settings):
    return open_sessions(write_settings().places)


def chat(role, text):
    return encode(Chat(ChatMessage(role, text)))


def test_where_there_is_no_session_nothing_was_said(store):
    heard = []

    assert load_history(store, "none", heard.append) == []
    assert heard == []


@pytest.mark.parametrize(("odd", "sentence"), [
    ([], None),
    ([{"role": 3}], "session 'work': 1 damaged line was passed over"),
    ([{"role": 3}, {"x": 1}],
     "session 'work': 2 damaged lines were passed over")])
def test_what_is_no_message_is_passed_over_and_told(store, odd, sentence):
    heard = []
    store.append("work", [chat("user", "hi"), *odd,
                          chat("assistant", "hello")])

    assert load_history(store, "work", heard.append) == [
        Chat(ChatMessage.user("hi")), Chat(ChatMessage.assistant("hello"))]
    assert heard == ([] if sentence is None else [sentence])


def test_people_read_who_said_what(store):
    store.append("work", [
        chat("user", "[2026-11-22 18:00:20 UTC] hi"), encode(CALLS),
        {"role": 3}, encode(RESULTS),
        chat("assistant", "[2026-11-22 18:00:20 UTC] done")])
    found = [message.to_json()
             for message in read_messages(store.read("work"))]

    for message in found:
        assert message.pop("at")
    assert found == [
        {"role": "user", "text": "hi"},
        {"role": "assistant", "text": "",
         "tool_calls": [{"name": "shell", "arguments": '{"a": 1}'}]},
        {"role": "tool", "text": "out"}, {"role": "tool", "text": "more"},
        {"role": "assistant", "text": "[2026-11-22 18:00:20 UTC] done"}]
