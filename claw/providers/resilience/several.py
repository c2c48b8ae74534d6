"""Many providers as one: what ReliableProvider and RouterProvider share. The
first of them answers for all.
"""

import asyncio
from abc import abstractmethod
from collections.abc import (
    Callable,
    Iterable,
    Sequence,
)

from claw.core.errors import ClawError
from claw.core.provider import (
    ChatProvider,
    Provider,
    ProviderCapabilities,
    ToolsPayload,
)
from claw.core.tool import ToolSpec


class Several(ChatProvider):
    """Many providers as one. Making one may raise ClawError."""

    @abstractmethod
    def first(self) -> Provider:
        """The one that answers for all."""

    @abstractmethod
    def makers(self) -> Iterable[Callable[[], Provider]]:
        """What gives each of them."""

    @abstractmethod
    def list_made(self) -> Iterable[Provider]:
        """Those that are there and have to be closed."""

    def capabilities(self) -> ProviderCapabilities:
        """Those of the first one; sight where any has it."""
        found = self.first().capabilities()
        return ProviderCapabilities(
            found.native_tool_calling,
            found.vision or any(map(sees, self.makers())),
            found.prompt_caching)

    def supports_streaming(self) -> bool:
        return self.first().supports_streaming()

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return self.first().convert_tools(tools)

    async def models(self) -> list[str]:
        return await self.first().models()

    async def warmup(self) -> None:
        await asyncio.gather(*map(_warm, self.makers()))

    async def aclose(self) -> None:
        failed: BaseException | None = None
        for provider in self.list_made():
            try:
                await provider.aclose()
            except (ClawError, OSError) as error:
                failed = failed or error
        if failed is not None:
            raise failed


def sees(make: Callable[[], Provider]) -> bool:
    """Whether a provider takes images; one that can't be made does not."""
    try:
        return make().supports_vision()
    except ClawError:
        return False  # told when it is asked


async def _warm(make: Callable[[], Provider]) -> None:
    try:
        await make().warmup()
    except (ClawError, OSError):
        return  # it is only to be faster later
