"""A provider that plays a script, for tests of everything above providers.

    provider = ScriptedProvider([
        ChatResponse(tool_calls=(ToolCall("1", "file_read", "{}"),)),
        "The file says hello.",
        RateLimitedError("slow down"),
    ])

It keeps every request in `requests`. After the last step it fails, so that a
loop that runs too far is seen; `repeat=True` plays the last step for ever.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeAlias

from claw.core.errors import IncompleteAnswerError
from claw.core.provider import (
    ChatMessage,
    ChatProvider,
    ChatRequest,
    ChatResponse,
    OpenAITools,
    ProviderCapabilities,
    StreamChunk,
    ToolsPayload,
    estimate_tokens,
    prompt_guide,
    with_instructions,
)
from claw.core.tool import ToolSpec
from claw.core.value import Value, replace

Played: TypeAlias = str | ChatResponse | BaseException
Step: TypeAlias = Played | Callable[[ChatRequest], Played]


class ScriptExhausted(AssertionError):
    """More was asked of a ScriptedProvider than its script holds."""


class Asked(Value):
    """One recorded request."""

    request: ChatRequest
    model: str
    temperature: float
    streamed: bool = False

    @property
    def messages(self) -> Sequence[ChatMessage]:
        return self.request.messages

    @property
    def system(self) -> str | None:
        """The first system message."""
        return next((m.content for m in self.messages
                     if m.role == "system"), None)

    @property
    def last(self) -> ChatMessage:
        return self.messages[-1]


class ScriptedProvider(ChatProvider):
    """Plays answers, errors and functions of the request, in order.

    `native_tools` and `vision` are what `capabilities` says. A stream cuts
    texts into pieces of `chunk_size` characters; with `cut_after` it breaks
    off with IncompleteAnswerError after so many pieces. Without a script the
    last user message is echoed.
    """

    name = "scripted"

    def __init__(self, script: Sequence[Step] = (), *,
                 native_tools: bool = True, vision: bool = False,
                 chunk_size: int = 5, cut_after: int | None = None,
                 repeat: bool = False, models: Sequence[str] = ()) -> None:
        self.requests: list[Asked] = []
        self.closed = False
        self._script: list[Step] = list(script) or [echo]
        self._repeat = repeat or not script
        self._native_tools = native_tools
        self._vision = vision
        self._chunk_size = chunk_size
        self._cut_after = cut_after
        self._models = list(models)

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(native_tool_calling=self._native_tools,
                                    vision=self._vision)

    def supports_streaming(self) -> bool:
        return True

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        if not self._native_tools:
            return super().convert_tools(tools)
        return OpenAITools(tuple(
            {"type": "function", "function": {
                "name": t.name, "description": t.description,
                "parameters": t.parameters}} for t in tools))

    @property
    def left(self) -> int:
        """Steps of the script not played yet."""
        return len(self._script)

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        return self._play(Asked(self._told(request), model, temperature))

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        response = self._play(
            Asked(self._told(request), model, temperature, True))
        text, size = response.text or "", self._chunk_size
        for number, start in enumerate(range(0, len(text), size)):
            if number == self._cut_after:
                raise IncompleteAnswerError("the script cut the stream off")
            piece = text[start:start + size]
            yield StreamChunk(piece, token_count=estimate_tokens(piece))
        yield StreamChunk(is_final=True, response=response)

    async def models(self) -> list[str]:
        return list(self._models)

    async def aclose(self) -> None:
        self.closed = True

    def _told(self, request: ChatRequest) -> ChatRequest:
        """Without native calling the tools stand in the prompt."""
        if self._native_tools or not request.tools:
            return request
        guided = with_instructions(request.messages,
                                   prompt_guide(request.tools))
        return replace(request, messages=guided, tools=None)

    def _play(self, asked: Asked) -> ChatResponse:
        self.requests.append(asked)
        if not self._script:
            raise ScriptExhausted(
                f"request {len(self.requests)} has no step in the script; "
                f"it ends with {asked.last.content[:200]!r}")
        step: Any = self._script[0]
        if not (self._repeat and len(self._script) == 1):
            self._script.pop(0)
        if callable(step):
            step = step(asked.request)
        if isinstance(step, BaseException):
            raise step
        return ChatResponse(step) if isinstance(step, str) else step


def echo(request: ChatRequest) -> str:
    """The last user message."""
    return next((m.content for m in reversed(request.messages)
                 if m.role == "user"), "")
