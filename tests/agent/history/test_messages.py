import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.history import (
    INTERRUPTED,
    decode,
    encode,
    is_results,
    is_system,
    repair,
    trim_history,
)
from claw.core.errors import StorageError
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ToolCall,
    ToolResultMessage,
    ToolResults,
)


def system(text):
    return Chat(ChatMessage.system(text))


def user(text):
    return Chat(ChatMessage.user(text))


def assistant(text):
    return Chat(ChatMessage.assistant(text))


def calls(*ids):
    return AssistantToolCalls(None, tuple(
        ToolCall(i, "shell", "{}") for i in ids))


def results(*ids):
    return ToolResults(tuple(ToolResultMessage(i, "out") for i in ids))


XML_RESULTS = user('[Tool results]\n<tool_result name="a" status="ok">')
TOOL_TURN = [user("b"), calls("1"), results("1"), calls("2"), results("2"),
             assistant("done")]

ITEMS = st.one_of(
    st.just(system("s")), st.integers(0, 9).map(lambda n: user(f"u{n}")),
    st.sampled_from([assistant("a"), assistant(""), XML_RESULTS]),
    st.lists(st.sampled_from("123"), max_size=2, unique=True).map(
        lambda ids: calls(*ids)),
    st.lists(st.sampled_from("123"), max_size=2, unique=True).map(
        lambda ids: results(*ids)))
HISTORIES = st.lists(ITEMS, max_size=25)


def test_a_short_history_is_kept_with_system_messages_in_front():
    history = [user("a"), system("s"), assistant("b")]

    assert trim_history(history, 50) == [system("s"), user("a"),
                                         assistant("b")]


def test_the_oldest_turns_go_whole():
    history = [system("s"), user("a"), assistant("x"), *TOOL_TURN]

    assert trim_history(history, 7) == [system("s"), *TOOL_TURN]


def test_a_turn_that_is_too_long_keeps_its_question_and_newest_rounds():
    assert trim_history(TOOL_TURN[:5], 3) == [
        user("b"), calls("2"), results("2")]


def test_prompt_guided_results_stay_with_their_call():
    history = [user("a"), calls("1"), XML_RESULTS, calls("2"), XML_RESULTS]

    assert trim_history(history, 4) == [user("a"), calls("2"), XML_RESULTS]


@given(HISTORIES, st.integers(1, 12))
def test_trimming_a_sound_history_leaves_a_sound_one(history, limit):
    sound = repair(history)
    trimmed = trim_history(sound, limit)

    assert repair(trimmed) == trimmed
    assert [m for m in trimmed if is_system(m)] == [
        m for m in sound if is_system(m)]
    others = [m for m in sound if not is_system(m)]
    kept = [m for m in trimmed if not is_system(m)]
    assert not others or kept[-1] == others[-1]
    assert len(kept) <= max(limit, 3)


@given(HISTORIES)
def test_after_repair_calls_and_results_are_pairs(history):
    sound = repair(history)

    for index, item in enumerate(sound):
        if isinstance(item, AssistantToolCalls):
            assert item.tool_calls
            after = sound[index + 1]
            assert is_results(after)
            if isinstance(after, ToolResults):
                assert [r.tool_call_id for r in after.results] == [
                    c.id for c in item.tool_calls]
        if is_results(item):
            assert isinstance(sound[index - 1], AssistantToolCalls)
    assert repair(sound) == sound


def test_a_call_without_a_result_is_marked():
    assert repair([user("a"), calls("1", "2"), results("2")]) == [
        user("a"), calls("1", "2"), ToolResults((
            ToolResultMessage("1", INTERRUPTED),
            ToolResultMessage("2", "out")))]


def test_a_sound_history_comes_back_equal():
    assert repair([system("s"), *TOOL_TURN]) == [system("s"), *TOOL_TURN]


@pytest.mark.parametrize(("item", "kind"), [
    (user("한\ud800"), "Chat"),
    (AssistantToolCalls("t", (ToolCall("1", "f", "{}"),), "why"),
     "AssistantToolCalls"),
    (calls("1"), "AssistantToolCalls"),
    (results("1", "2"), "ToolResults"),
])
def test_messages_survive_json(item, kind):
    record = json.loads(json.dumps(encode(item)))

    assert set(record) == {"type", "data"}
    assert record["type"] == kind
    assert decode(record) == item


def test_a_bare_message_is_understood():
    assert decode({"role": "user", "content": "hi"}) == user("hi")


@pytest.mark.parametrize("record", [
    {}, {"type": "Other", "data": {}}, {"type": "Chat", "data": []},
    {"type": "Chat", "data": {"role": "root", "content": ""}},
    {"type": "ToolResults", "data": [{"content": "x"}]},
    {"type": "AssistantToolCalls", "data": {"tool_calls": [{"id": 1}]}},
])
def test_other_records_are_a_storage_error(record):
    with pytest.raises(StorageError):
        decode(record)
