"""The scripted provider behaves like a provider and records what it got."""

import asyncio

import pytest

from claw.core.errors import IncompleteAnswerError, RateLimitedError
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Passage,
    ToolCall,
)
from claw.core.tool import ToolSpec
from claw.testing.scripted import ScriptedProvider, ScriptExhausted

HELLO = ChatRequest([ChatMessage.user("hello")],
                    passages=[Passage("stdin", "x")])


def chat(provider, request=HELLO):
    return asyncio.run(provider.chat(request, "m", 0.5))


def stream(provider, request=HELLO):
    async def collect():
        return [c async for c in provider.stream_chat(request, "m", 0.5)]
    return asyncio.run(collect())


def test_steps_are_texts_responses_errors_and_functions_in_order():
    calls = ChatResponse(tool_calls=(ToolCall("1", "now", "{}"),))
    provider = ScriptedProvider(
        ["a", calls, RateLimitedError("slow"),
         lambda request: request.messages[-1].content.upper()])

    assert chat(provider).text == "a"
    assert chat(provider) is calls
    with pytest.raises(RateLimitedError):
        chat(provider)
    assert chat(provider).text == "HELLO"
    assert provider.left == 0
    with pytest.raises(ScriptExhausted, match="request 5"):
        chat(provider)


def test_it_records_requests_with_model_and_passages():
    provider = ScriptedProvider()
    chat(provider)

    asked = provider.requests[0]
    assert (asked.model, asked.temperature, asked.streamed) == (
        "m", 0.5, False)
    assert asked.last.content == "hello"
    assert asked.request.passages[0].text == "x"


def test_a_stream_comes_in_pieces_and_ends_with_the_whole_answer():
    chunks = stream(ScriptedProvider(["abcdefg"], chunk_size=3))

    assert [c.delta for c in chunks] == ["abc", "def", "g", ""]
    assert chunks[-1].is_final
    assert chunks[-1].response.text == "abcdefg"


def test_a_stream_can_be_cut_off():
    with pytest.raises(IncompleteAnswerError):
        stream(ScriptedProvider(["abcdefg"], cut_after=1))


@pytest.mark.parametrize("native", [True, False])
def test_tools_go_where_the_capability_says(native):
    provider = ScriptedProvider(native_tools=native)
    chat(provider, ChatRequest([ChatMessage.user("hello")],
                               tools=[ToolSpec("now", "the time", {})]))

    asked = provider.requests[0]
    assert bool(asked.request.tools) is native
    assert ("now" in (asked.system or "")) is not native
