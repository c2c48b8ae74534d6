"""Provider: the contract of everything that answers like a model.

Only `chat_with_system` is required. Every other member has a default built
on it, streaming included, so a new provider is one short class. Wrappers
(retries, routing, recording) are providers themselves and nest freely.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from claw.core.tool import ToolSpec
from claw.core.value import Value, hidden, made

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


# Finish reasons of an answer that is none, by a provider without a model:
# nothing to answer from; a tool that did, or found, nothing.
NO_ANSWER = "no_answer"
NOTHING_DONE = "nothing_done"


class ChatMessage(Value):
    """One message as a provider takes it; `content` is its text, `labels`
    are the origins of foreign text in it (labels.py), which no provider
    sends.

    For native tool calling `content` is JSON text where the role alone
    can't say it: an assistant message with calls holds
    {"content", "tool_calls": [{"id", "name", "arguments"}],
    "reasoning_content"?, "replay"?}, a tool message {"tool_call_id",
    "content"}.
    Providers turn these back into their own wire format; use
    `decode_tool_calls` and `decode_tool_result`.
    """

    role: Role
    content: str
    labels: tuple[str, ...] = hidden(default=())

    @classmethod
    def system(cls, content: str) -> "ChatMessage":
        return cls("system", content)

    @classmethod
    def user(cls, content: str) -> "ChatMessage":
        return cls("user", content)

    @classmethod
    def assistant(cls, content: str) -> "ChatMessage":
        return cls("assistant", content)

    @classmethod
    def tool(cls, content: str) -> "ChatMessage":
        return cls("tool", content)


class ToolCall(Value):
    """A call that the model wants; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


class TokenUsage(Value):
    """Tokens as the provider counted them; None where it did not say.

    `input_tokens` are all of the prompt: `cached_input_tokens` of them were
    read from the provider's cache, `cache_write_tokens` written to it.
    `output_tokens` include those of thinking.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None


class ChatResponse(Value):
    """One answer of a model: text, calls, or both.

    `replay` is what the provider has to be shown again together with the
    calls (signed thoughts and the like), as JSON text of an object whose
    "by" names the wire format that wrote it; others leave it out.
    `provider` is set where it is another one than was asked first.
    """

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage | None = None
    reasoning_content: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    replay: str | None = hidden(default=None)
    provider: str | None = None


class ToolResultMessage(Value):
    """What one call returned, as the model will read it."""

    tool_call_id: str
    content: str


class Chat(Value):
    """History: a plain message."""

    message: ChatMessage

    @property
    def labels(self) -> tuple[str, ...]:
        return self.message.labels


class AssistantToolCalls(Value):
    """History: the model asked for tools; `replay` as in ChatResponse,
    `labels` as in ChatMessage."""

    text: str | None
    tool_calls: tuple[ToolCall, ...]
    reasoning_content: str | None = None
    replay: str | None = hidden(default=None)
    labels: tuple[str, ...] = hidden(default=())


class ToolResults(Value):
    """History: what the tools returned, in call order."""

    results: tuple[ToolResultMessage, ...]
    labels: tuple[str, ...] = hidden(default=())


ConversationMessage: TypeAlias = Chat | AssistantToolCalls | ToolResults


class ProviderCapabilities(Value):
    """What a provider does by itself."""

    native_tool_calling: bool = False
    vision: bool = False
    prompt_caching: bool = False


class GeminiTools(Value):
    """Gemini's functionDeclarations."""

    function_declarations: tuple[dict[str, Any], ...]


class AnthropicTools(Value):
    """Anthropic's tools array."""

    tools: tuple[dict[str, Any], ...]


class OpenAITools(Value):
    """OpenAI's tools array."""

    tools: tuple[dict[str, Any], ...]


class PromptGuided(Value):
    """Tools described in words, for the system prompt."""

    instructions: str


ToolsPayload: TypeAlias = (
    GeminiTools | AnthropicTools | OpenAITools | PromptGuided)


class Passage(Value):
    """A piece of text at hand for this turn.

    `source` says where it comes from: "stdin", "file:notes.txt",
    "memory:KEY", "tool:NAME".
    """

    source: str
    text: str


class ChatRequest(Value):
    """What a turn asks of a provider.

    `tools` is None where the tools stand in the prompt. `passages` is the
    material behind the last user message (recalled or piped) in raw form:
    the offline provider reads it, the others see it rendered in the
    messages. `response_schema` is a JSON Schema the answer should fit.
    `options` are the vendor's own, for the body of the request.
    """

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec] | None = None
    passages: Sequence[Passage] = ()
    max_tokens: int | None = None
    response_schema: dict[str, Any] | None = None
    options: Mapping[str, Any] = made(factory=dict)


class StreamChunk(Value):
    """A piece of a streamed answer.

    The last chunk has `is_final` and, in `response`, the whole answer with
    calls and usage. A stream that ends without it is an error
    (IncompleteAnswerError), never a short answer.
    """

    delta: str = ""
    is_final: bool = False
    token_count: int = 0
    response: ChatResponse | None = hidden(default=None)


class Provider(ABC):
    """A model, or something that answers like one.

    Errors of every member: AuthError (key refused or missing),
    RateLimitedError, RequestRefusedError, UnavailableError,
    IncompleteAnswerError; see core.errors.
    """

    name: str = "provider"

    @abstractmethod
    async def chat_with_system(self, system_prompt: str | None, message: str,
                               model: str, temperature: float) -> str:
        """The answer to one message."""

    def capabilities(self) -> ProviderCapabilities:
        """What the provider does by itself; all off by default."""
        return ProviderCapabilities()

    def capabilities_for(self, model: str) -> ProviderCapabilities:
        """What it does by itself with this model: those of the provider,
        where it makes no difference between its models."""
        return self.capabilities()

    def supports_native_tools(self) -> bool:
        return self.capabilities().native_tool_calling

    def supports_vision(self) -> bool:
        return self.capabilities().vision

    def supports_streaming(self) -> bool:
        """Whether deltas arrive as the model writes them."""
        return False

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        """The tools in this provider's form."""
        return PromptGuided(prompt_guide(tools))

    async def simple_chat(self, message: str, model: str,
                          temperature: float) -> str:
        """The answer to one message without a system prompt."""
        return await self.chat_with_system(None, message, model, temperature)

    async def chat_with_history(self, messages: Sequence[ChatMessage],
                                model: str, temperature: float) -> str:
        """The answer to a conversation.

        By default the first system and the last user message stand for it.
        """
        system = next((m.content for m in messages if m.role == "system"),
                      None)
        user = next((m.content for m in reversed(messages)
                     if m.role == "user"), "")
        return await self.chat_with_system(system, user, model, temperature)

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        """The full answer to a request, tools included.

        Without native tool calling the tools are described in the system
        prompt and the calls stand in the text.
        """
        messages = request.messages
        if request.tools:
            payload = self.convert_tools(request.tools)
            if not isinstance(payload, PromptGuided):
                raise ValueError(
                    f"{self.name}: convert_tools gave a native payload, "
                    "but native_tool_calling is off")
            messages = with_instructions(messages, payload.instructions)
        return ChatResponse(
            text=await self.chat_with_history(messages, model, temperature))

    async def chat_with_tools(self, messages: Sequence[ChatMessage],
                              tools: Sequence[ToolSpec], model: str,
                              temperature: float) -> ChatResponse:
        """`chat` for callers that hold messages and tools apart."""
        return await self.chat(ChatRequest(messages, tools), model,
                               temperature)

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        """The answer as it comes; by default in one piece."""
        response = await self.chat(request, model, temperature)
        text = response.text or ""
        if text:
            yield StreamChunk(text, token_count=estimate_tokens(text))
        yield StreamChunk(is_final=True, response=response)

    async def stream_chat_with_system(
            self, system_prompt: str | None, message: str, model: str,
            temperature: float) -> AsyncIterator[StreamChunk]:
        """`stream_chat` for one message."""
        messages = [ChatMessage.user(message)]
        if system_prompt is not None:
            messages.insert(0, ChatMessage.system(system_prompt))
        async for chunk in self.stream_chat(ChatRequest(messages), model,
                                            temperature):
            yield chunk

    async def stream_chat_with_history(
            self, messages: Sequence[ChatMessage], model: str,
            temperature: float) -> AsyncIterator[StreamChunk]:
        """`stream_chat` for a conversation without tools."""
        async for chunk in self.stream_chat(ChatRequest(messages), model,
                                            temperature):
            yield chunk

    async def models(self) -> list[str]:
        """Names of the models on offer; empty where that can't be asked."""
        return []

    async def warmup(self) -> None:  # noqa: B027
        """Open connections early; failures are the caller's to ignore."""

    async def aclose(self) -> None:  # noqa: B027
        """Free connections."""


class ChatProvider(Provider):
    """A provider with a `chat` of its own: the simple members stand on it
    instead of the other way round."""

    @abstractmethod
    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        """The full answer to a request, tools included."""

    async def chat_with_history(self, messages: Sequence[ChatMessage],
                                model: str, temperature: float) -> str:
        response = await self.chat(ChatRequest(messages), model, temperature)
        return response.text or ""

    async def chat_with_system(self, system_prompt: str | None, message: str,
                               model: str, temperature: float) -> str:
        messages = [ChatMessage.user(message)]
        if system_prompt is not None:
            messages.insert(0, ChatMessage.system(system_prompt))
        return await self.chat_with_history(messages, model, temperature)


class WrappedProvider(Provider):
    """Stands in front of another provider; passes on all but the calls."""

    def __init__(self, inner: Provider) -> None:
        self.inner = inner
        self.name = inner.name

    def capabilities(self) -> ProviderCapabilities:
        return self.inner.capabilities()

    def capabilities_for(self, model: str) -> ProviderCapabilities:
        return self.inner.capabilities_for(model)

    def supports_native_tools(self) -> bool:
        return self.inner.supports_native_tools()

    def supports_vision(self) -> bool:
        return self.inner.supports_vision()

    def supports_streaming(self) -> bool:
        return self.inner.supports_streaming()

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return self.inner.convert_tools(tools)

    async def models(self) -> list[str]:
        return await self.inner.models()

    async def warmup(self) -> None:
        await self.inner.warmup()

    async def aclose(self) -> None:
        await self.inner.aclose()


@asynccontextmanager
async def close_stream(chunks: AsyncIterator[StreamChunk]
                       ) -> AsyncIterator[AsyncIterator[StreamChunk]]:
    """Closes a stream that is left early, in order."""
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


def estimate_tokens(text: str) -> int:
    """A rough count: four characters a token, rounded up."""
    return -(-len(text) // 4)


def prompt_guide(tools: Sequence[ToolSpec]) -> str:
    """The tool protocol in words, for models without native calling."""
    parts = [
        "## Tool Use Protocol\n\n"
        "To use a tool, write one JSON object inside <tool_call> tags:\n\n"
        '<tool_call>\n{"name": "tool_name", "arguments": {"param": "value"}}'
        "\n</tool_call>\n\n"
        "Write the tags literally. You may make several calls in one answer. "
        "Results come back in <tool_result> tags; then go on, or give the "
        "final answer without tags.\n\n### Available Tools\n"]
    for tool in tools:
        schema = json.dumps(tool.parameters, ensure_ascii=False)
        parts.append(f"\n**{tool.name}**: {tool.description}\n"
                     f"Parameters: `{schema}`\n")
    return "".join(parts)


def with_instructions(messages: Sequence[ChatMessage],
                      instructions: str) -> list[ChatMessage]:
    """Messages with the instructions at the end of the system prompt."""
    result = list(messages)
    for index, message in enumerate(result):
        if message.role == "system":
            result[index] = ChatMessage.system(
                f"{message.content}\n\n{instructions}")
            return result
    return [ChatMessage.system(instructions), *result]


def encode_tool_calls(calls: AssistantToolCalls) -> ChatMessage:
    """Calls as an assistant message (see ChatMessage)."""
    data: dict[str, Any] = {
        "content": calls.text,
        "tool_calls": [{"id": c.id, "name": c.name, "arguments": c.arguments}
                       for c in calls.tool_calls]}
    if calls.reasoning_content is not None:
        data["reasoning_content"] = calls.reasoning_content
    if calls.replay is not None:
        data["replay"] = calls.replay
    return ChatMessage.assistant(json.dumps(data, ensure_ascii=False))


# A request holds what the one before it held: half of the work of writing
# it would be to read the same messages again.
_read_once = lru_cache(maxsize=128)


@_read_once
def decode_tool_calls(message: ChatMessage) -> AssistantToolCalls | None:
    """The calls inside an assistant message, None where it is plain text."""
    if message.role != "assistant" or not message.content.startswith("{"):
        return None
    try:
        data = json.loads(message.content)
        calls = tuple(ToolCall(c["id"], c["name"], c["arguments"])
                      for c in data["tool_calls"])
    except (ValueError, KeyError, TypeError):
        return None
    return AssistantToolCalls(data.get("content"), calls,
                              data.get("reasoning_content"),
                              data.get("replay"))


def find_replay(calls: AssistantToolCalls, by: str) -> dict[str, Any] | None:
    """What this wire format asked to be shown again, None where another
    one wrote it or nothing did."""
    try:
        data = json.loads(calls.replay or "null")
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict) and data.get("by") == by:
        return data
    return None


def encode_tool_result(result: ToolResultMessage) -> ChatMessage:
    """A result as a tool message (see ChatMessage)."""
    return ChatMessage.tool(json.dumps(
        {"tool_call_id": result.tool_call_id, "content": result.content},
        ensure_ascii=False))


@_read_once
def decode_tool_result(message: ChatMessage) -> ToolResultMessage:
    """The result inside a tool message; foreign text keeps its content."""
    try:
        data = json.loads(message.content)
        return ToolResultMessage(data["tool_call_id"], data["content"])
    except (ValueError, KeyError, TypeError):
        return ToolResultMessage("unknown", message.content)
