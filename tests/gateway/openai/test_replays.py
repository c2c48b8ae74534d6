"""What a model wants to see again comes back with its calls."""

from claw.core.provider import (
    ChatMessage,
    ChatResponse,
    ToolCall,
    decode_tool_calls,
)
from claw.gateway.openai.content import build_assistant
from claw.gateway.openai.replays import Replays

CALL = ToolCall("call_1", "weather", "{}")
ANSWER = ChatResponse(tool_calls=(CALL,), reasoning_content="hm",
                      replay='{"by": "somebody", "sign": "x"}')


def restore(replays, *calls, key="1"):
    [message] = replays.restore(key, [build_assistant("", calls)])
    return decode_tool_calls(message)


def test_a_signature_comes_back_with_its_call():
    replays = Replays()
    replays.keep("1", ANSWER)
    found = restore(replays, CALL)

    assert (found.replay, found.reasoning_content) == (ANSWER.replay, "hm")


def test_no_other_key_and_no_other_calls_get_it():
    replays = Replays()
    replays.keep("1", ANSWER)

    assert restore(replays, CALL, key="2").replay is None
    assert restore(replays, CALL, ToolCall("call_2", "b", "{}")
                   ).replay is None
    assert restore(replays, ToolCall("call_9", "b", "{}")).replay is None


def test_plain_messages_stay_as_they_are():
    said = (ChatMessage.user("hi"), ChatMessage.assistant("ho"))

    assert Replays().restore("1", said) == said


def test_only_the_newest_are_kept():
    replays = Replays()
    for number in range(1_010):
        replays.keep("1", ChatResponse(tool_calls=(
            ToolCall(f"call_{number}", "a", "{}"),), replay="x"))

    assert restore(replays, ToolCall("call_0", "a", "{}")).replay is None
    assert restore(replays, ToolCall("call_1009", "a", "{}")).replay == "x"
    assert len(replays._kept) == 1_000
