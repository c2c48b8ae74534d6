"""RouterProvider: `hint:NAME` as a model asks the provider and model that
a route names; any other name goes to the default provider.
"""

from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from functools import partial

from claw.core.provider import (
    ChatRequest,
    ChatResponse,
    Provider,
    ProviderCapabilities,
    StreamChunk,
    close_stream,
)
from claw.core.registry import nearest
from claw.core.value import replace
from claw.providers.connection import ignore_notice
from claw.providers.resilience.several import Several

HINT = "hint:"


class RouterProvider(Several):
    """Named providers, and where each hint leads: (number of the provider,
    model). An unknown hint goes to the default provider under its own name,
    and `notify` hears of it once."""

    def __init__(self, providers: Sequence[tuple[str, Provider]],
                 routes: Mapping[str, tuple[int, str]],
                 default_index: int = 0,
                 notify: Callable[[str], None] = ignore_notice) -> None:
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
        self.name = self.first().name

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
                f"no route for {model!r}: asking {self.first().name} for it "
                "under that name" + (f'; did you mean "{HINT}{near}"?'
                                     if near else ""))
        return self._default, model

    def first(self) -> Provider:
        return self._providers[self._default]

    def capabilities_for(self, model: str) -> ProviderCapabilities:
        """Those of whoever is asked for this model."""
        index, asked = self.resolve(model)
        return self._providers[index].capabilities_for(asked)

    def makers(self) -> Iterable[Callable[[], Provider]]:
        return [partial(_keep, provider) for provider in self._providers]

    def list_made(self) -> Iterable[Provider]:
        return self._providers

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        index, asked = self.resolve(model)
        return self._sign(index, await self._providers[index].chat(
            request, asked, temperature))

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        index, asked = self.resolve(model)
        async with close_stream(self._providers[index].stream_chat(
                request, asked, temperature)) as chunks:
            async for chunk in chunks:
                if chunk.response is not None:
                    chunk = replace(chunk, response=self._sign(
                        index, chunk.response))
                yield chunk

    def _sign(self, index: int, response: ChatResponse) -> ChatResponse:
        """The answer with who gave it, where it is not the default."""
        name = self._providers[index].name
        return response if response.provider is not None or name == self.name \
            else replace(response, provider=name)


def _keep(provider: Provider) -> Provider:
    """It is made already."""
    return provider
