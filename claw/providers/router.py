"""RouterProvider: `hint:NAME` as a model asks the provider and model that
a route names; any other name goes to the default provider.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Mapping,
    Sequence,
)

from claw.core.errors import ClawError
from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    ProviderCapabilities,
    StreamChunk,
    ToolsPayload,
)
from claw.core.registry import nearest
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.providers.connection import unheard

HINT = "hint:"


class RouterProvider(ChatProvider):
    """Named providers, and where each hint leads: (number of the provider,
    model). An unknown hint goes to the default provider under its own name,
    and `notify` hears of it once."""

    def __init__(self, providers: Sequence[tuple[str, Provider]],
                 routes: Mapping[str, tuple[int, str]],
                 default_index: int = 0,
                 notify: Callable[[str], None] = unheard) -> None:
        wrong = [index for index in
                 (default_index, *(at for at, _ in routes.values()))
                 if not 0 <= index < len(providers)]
        if wrong:
            raise ValueError(f"there is no provider number {wrong[0]}")
        self._providers = [provider for _, provider in providers]
        self._routes = dict(routes)
        self._default = default_index
        self._notify = notify
        self._told: set[str] = set()
        self.name = self._main.name

    @property
    def hints(self) -> list[str]:
        """The hints that are known."""
        return list(self._routes)

    def resolve(self, model: str) -> tuple[int, str]:
        """The provider's number and the model to ask there."""
        if not model.startswith(HINT):
            return self._default, model
        hint = model.removeprefix(HINT)
        found = self._routes.get(hint)
        if found is not None:
            return found
        if hint not in self._told:
            self._told.add(hint)
            near = nearest(hint, self._routes)
            self._notify(
                f"no route for {model!r}: asking {self._main.name} for it "
                "under that name" + (f'; did you mean "{HINT}{near}"?'
                                     if near else ""))
        return self._default, model

    def capabilities(self) -> ProviderCapabilities:
        """Those of the default provider; sight where any has it."""
        main = self._main.capabilities()
        return ProviderCapabilities(
            main.native_tool_calling,
            main.vision or any(p.supports_vision() for p in self._providers),
            main.prompt_caching)

    def supports_streaming(self) -> bool:
        return self._main.supports_streaming()

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return self._main.convert_tools(tools)

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        index, asked = self.resolve(model)
        return self._signed(index, await self._providers[index].chat(
            request, asked, temperature))

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        index, asked = self.resolve(model)
        chunks = self._providers[index].stream_chat(request, asked,
                                                    temperature)
        try:
            async for chunk in chunks:
                if chunk.response is not None:
                    chunk = replace(chunk, response=self._signed(
                        index, chunk.response))
                yield chunk
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    def _signed(self, index: int, response: ChatResponse) -> ChatResponse:
        """The answer with who gave it, where it is not the default."""
        name = self._providers[index].name
        if response.provider is not None or name == self.name:
            return response
        return replace(response, provider=name)

    async def models(self) -> list[str]:
        return await self._main.models()

    async def warmup(self) -> None:
        await asyncio.gather(*map(_warm, self._providers))

    async def aclose(self) -> None:
        failed: BaseException | None = None
        for provider in self._providers:
            try:
                await provider.aclose()
            except (ClawError, OSError) as error:
                failed = failed or error
        if failed is not None:
            raise failed

    @property
    def _main(self) -> Provider:
        return self._providers[self._default]


async def _warm(provider: Provider) -> None:
    try:
        await provider.warmup()
    except (ClawError, OSError):
        return  # it is only to be faster later
