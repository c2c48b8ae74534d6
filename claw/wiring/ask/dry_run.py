"""--dry-run: everything of a turn but the call itself."""

from collections.abc import AsyncIterator
from typing import Any, NoReturn

from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    StreamChunk,
    WrappedProvider,
)
from claw.core.value import replace
from claw.providers.catalog.choice import Choice
from claw.providers.catalog.vendors import Vendor


class CallStopped(BaseException):
    """The request that would have gone out. No error: it ends the turn
    past every handler of errors."""

    def __init__(self, choice: Choice, request: ChatRequest,
                 temperature: float) -> None:
        super().__init__("stopped by a dry run")
        self.choice = choice
        self.request = request
        self.temperature = temperature


class StopsCalls(WrappedProvider, ChatProvider):
    """Stands in front of a provider and stops each call. It stands inside
    of routes and fall-backs, so that what it shows is whom they ask."""

    def __init__(self, provider: Provider, choice: Choice) -> None:
        super().__init__(provider)
        self._choice = choice

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        self._stop(request, model, temperature)

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        self._stop(request, model, temperature)
        yield StreamChunk()

    def _stop(self, request: ChatRequest, model: str,
              temperature: float) -> NoReturn:
        raise CallStopped(replace(self._choice, model=model), request,
                        temperature)


def stop_calls(provider: Provider, vendor: Vendor) -> Provider:
    """What is put around each provider that a dry run may ask."""
    return StopsCalls(provider, Choice(vendor.name, None, "a dry run"))


def request_as_json(stopped: CallStopped) -> dict[str, Any]:
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
    if request.options:
        value["options"] = dict(request.options)
    return value
