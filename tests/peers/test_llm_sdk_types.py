"""What the compatible provider sends, held against the vendor's own types."""

import asyncio
from collections.abc import Iterable

import pytest
from openai.types.chat import (
    ChatCompletionMessageParam,
    ChatCompletionToolUnionParam,
)
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import TypeAdapter

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.providers.factory import create_provider
from claw.testing.fake_openai import FakeOpenAI

MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
TOOLS = TypeAdapter(Iterable[ChatCompletionToolUnionParam])
PLAIN = TypeAdapter(CompletionCreateParamsNonStreaming)
STREAMED = TypeAdapter(CompletionCreateParamsStreaming)

CALL = ToolCall("call_1", "get_weather", '{"city": "Oslo"}')
PNG = "data:image/png;base64,iVBORw0KGgo="
REQUESTS = {
    "short": ChatRequest([ChatMessage.user("hi")]),
    "long": ChatRequest([
        ChatMessage.system("Be brief."),
        ChatMessage.user(f"what is this? [IMAGE:{PNG}]"),
        encode_tool_calls(AssistantToolCalls("I look.", (CALL,))),
        encode_tool_result(ToolResultMessage("call_1", "5 C")),
        ChatMessage.assistant("5 degrees"), ChatMessage.user("thanks"),
    ], tools=[ToolSpec("get_weather", "The weather.",
                       closed_object(city=string("a city")))],
        max_tokens=100, response_schema={"type": "object"}),
}


def bodies(request):
    """What is sent, plain and streamed."""
    async def go(url):
        provider = create_provider(f"custom:{url}")
        await provider.chat(request, "m", 0.5)
        async for _ in provider.stream_chat(request, "m", 0.5):
            pass
        await provider.aclose()
    with FakeOpenAI(["fine"]) as server:
        asyncio.run(go(server.url))
    return [r.body for r in server.chats]


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_every_body_is_valid(request_):
    plain, streamed = bodies(request_)

    PLAIN.validate_python(plain)
    STREAMED.validate_python(streamed)
    for body in (plain, streamed):
        MESSAGES.validate_python(body["messages"], strict=True)
        list(TOOLS.validate_python(body.get("tools", [])))


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_nothing_is_sent_that_the_sdk_does_not_know(request_):
    known = set(CompletionCreateParamsNonStreaming.__annotations__) | set(
        CompletionCreateParamsStreaming.__annotations__)
    for base in CompletionCreateParamsNonStreaming.__orig_bases__:
        known |= set(getattr(base, "__annotations__", {}))

    for body in bodies(request_):
        assert set(body) <= known
