"""--dry-run: everything of a turn but the call itself."""

from collections.abc import AsyncIterator
from typing import Any, NoReturn

from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    ProviderCapabilities,
    StreamChunk,
)
from claw.providers.choice import Choice


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
    """Stands in front of a provider and stops each call."""

    def __init__(self, provider: Provider, choice: Choice) -> None:
        self._provider = provider
        self._choice = choice
        self.name = provider.name

    def capabilities(self) -> ProviderCapabilities:
        return self._provider.capabilities()

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        self._stop(request, temperature)

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        self._stop(request, temperature)
        yield StreamChunk()

    def _stop(self, request: ChatRequest, temperature: float) -> NoReturn:
        raise Rehearsed(self._choice, request, temperature)


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
