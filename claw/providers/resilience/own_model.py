"""OwnModel: a provider whose model has to be asked of its server.

Where no model is set, the server's list says what there is. It is asked
when the first call needs it, since the server may be away before, and what
was chosen is kept.
"""

from collections.abc import AsyncIterator

from claw.core.errors import ClawError, UnavailableError
from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    ProviderCapabilities,
    StreamChunk,
    WrappedProvider,
    close_stream,
)
from claw.core.value import replace
from claw.providers.catalog.choice import no_model, pick_model
from claw.providers.catalog.vendors import Vendor


class OwnModel(WrappedProvider, ChatProvider):
    """Asks for "" under the first name that the server lists.

    For a fall-back any other name was chosen for another provider: it is
    asked for where the server lists it, or has no list. A server with a
    price gets no model of our choice: it is asked for the name as it is,
    and "" raises ConfigError.
    """

    def __init__(self, inner: Provider, vendor: Vendor, *,
                 is_fallback: bool) -> None:
        super().__init__(inner)
        self._vendor = vendor
        self._is_fallback = is_fallback
        self._found: dict[str, str] = {}

    def capabilities_for(self, model: str) -> ProviderCapabilities:
        return self.inner.capabilities_for(self._found.get(model, model))

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        model = await self._find_model(model)
        return _sign(await self.inner.chat(request, model, temperature),
                     model)

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        model = await self._find_model(model)
        async with close_stream(self.inner.stream_chat(
                request, model, temperature)) as chunks:
            async for chunk in chunks:
                if chunk.response is not None:
                    chunk = replace(chunk,
                                    response=_sign(chunk.response, model))
                yield chunk

    async def _find_model(self, asked: str) -> str:
        """The name to ask for, and what listing the models raises."""
        if asked and (self._vendor.needs_key or not self._is_fallback):
            return asked
        if self._vendor.needs_key:
            raise no_model(self._vendor.name)
        if asked not in self._found:
            self._found[asked] = await self._choose_model(asked)
        return self._found[asked]

    async def _choose_model(self, asked: str) -> str:
        try:
            offered = await self.inner.models()
        except ClawError as error:
            if not asked or isinstance(error, UnavailableError):
                raise
            offered = []  # it has no list: the call itself will tell
        if asked and (not offered
                      or {asked, f"{asked}:latest"} & set(offered)):
            return asked
        return pick_model(self._vendor.name, offered)


def _sign(response: ChatResponse, model: str) -> ChatResponse:
    """The answer with its model, where it does not name it."""
    return response if response.model is not None \
        else replace(response, model=model)
