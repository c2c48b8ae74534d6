"""--dry-run: everything of a turn but the call itself."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, NoReturn

from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    ProviderCapabilities,
    StreamChunk,
    ToolsPayload,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.providers.choice import Choice
from claw.providers.vendors import Vendor


class Rehearsed(BaseException):
    """The request that would have gone out. No error: it ends the turn
    past every handler of errors."""

    def __init__(self, choice: Choice, request: ChatRequest,
                 temperature: float) -> None:
        super().__init__("rehearsed")
        self.choice = choice
        self.request = request
        self.temperature = temperature


class Rehearsal(ChatProvider):
    """Stands in front of a provider and stops each call. It stands inside
    of routes and fall-backs, so that what it shows is whom they ask."""

    def __init__(self, provider: Provider, choice: Choice) -> None:
        self._provider = provider
        self._choice = choice
        self.name = provider.name

    def capabilities(self) -> ProviderCapabilities:
        return self._provider.capabilities()

    def supports_streaming(self) -> bool:
        return self._provider.supports_streaming()

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return self._provider.convert_tools(tools)

    async def models(self) -> list[str]:
        return await self._provider.models()

    async def aclose(self) -> None:
        await self._provider.aclose()

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        self._stop(request, model, temperature)

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        self._stop(request, model, temperature)
        yield StreamChunk()

    def _stop(self, request: ChatRequest, model: str,
              temperature: float) -> NoReturn:
        raise Rehearsed(replace(self._choice, model=model), request,
                        temperature)


def rehearsed(provider: Provider, vendor: Vendor) -> Provider:
    """What is put around each provider that a dry run may ask."""
    return Rehearsal(provider, Choice(vendor.name, None, "a dry run"))


def request_as_json(stopped: Rehearsed) -> dict[str, Any]:
    """What a dry run prints."""
    request = stopped.request
    value: dict[str, Any] = {
        "provider": stopped.choice.shown,
        "model": stopped.choice.model,
        "temperature": stopped.temperature,
        "messages": [{"role": m.role, "content": m.content}
                     for m in request.messages]}
    if request.tools:
        value["tools"] = [{"name": t.name, "description": t.description,
                           "parameters": t.parameters}
                          for t in request.tools]
    if request.max_tokens is not None:
        value["max_tokens"] = request.max_tokens
    if request.response_schema is not None:
        value["response_schema"] = request.response_schema
    return value
