"""Settings -> what shows images to a model.

Loaded when a message holds one.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from claw.agent.image_store import ImageStore
from claw.agent.model_call import closing
from claw.agent.multimodal import Eyes, Images
from claw.agent.settings import MultimodalSettings
from claw.config.tree import Tree
from claw.core.errors import ConfigError, UnavailableError, UsageError
from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    ProviderCapabilities,
    StreamChunk,
    ToolsPayload,
)
from claw.core.registry import load_dotted
from claw.core.tool import ToolSpec
from claw.providers.choice import Choice
from claw.providers.factory import Providers
from claw.security.paths import PathRules, expand_all
from claw.security.settings import AutonomySettings
from claw.wiring.providers import providers_of

FETCH_S = 15.0
# Loaded where a message names an address and that may be fetched.
_LATE = {"client": "claw.net.guarded:GuardedClient",
         "check": "claw.security.egress:check_url",
         "allowed": "claw.security.egress:is_public"}

Around = Callable[[Provider, Choice], Provider]


def images_of(tree: Tree, env: Mapping[str, str] = os.environ, *,
              around: Around | None = None,
              providers: Providers | None = None) -> Images:
    """The images of these settings and this workspace; what `around` makes
    of another provider is asked in its place. `providers` opens it, None:
    those of the settings. Raises ConfigError for a wrong setting."""
    settings = tree.decode("multimodal", MultimodalSettings)
    return Images(
        settings, ImageStore(_rules(tree, env)),
        fetch=fetch if settings.allow_remote_fetch else None,
        eyes=_eyes(settings, providers or providers_of(tree, env), around))


def _rules(tree: Tree, env: Mapping[str, str]) -> PathRules:
    """Images are read from the workspace and nowhere else."""
    places = tree.places
    home = Path(env.get("HOME") or places.home.parent)
    forbidden = tree.decode("autonomy", AutonomySettings).forbidden_paths
    return PathRules(
        roots=(places.workspace.resolve(),),
        forbidden=expand_all(forbidden, home), workspace_only=True,
        home=home, config_dir=places.home.resolve())


async def fetch(url: str, max_bytes: int, client: Any = None) -> bytes:
    """What lies at a public address. Raises DeniedError, UsageError and
    UnavailableError. `client` takes the place of a GuardedClient."""
    if client is None:
        client = load_dotted(_LATE["client"])(
            load_dotted(_LATE["check"]), load_dotted(_LATE["allowed"]))
    page = await client.fetch(url, max_bytes=max_bytes, timeout_s=FETCH_S)
    if not 200 <= page.status < 300:
        raise UnavailableError(f"its server answered HTTP {page.status}")
    if page.cut:
        raise UsageError(f"it is larger than {max_bytes >> 20} MiB")
    content: bytes = page.content
    return content


def _eyes(settings: MultimodalSettings, providers: Providers,
          around: Around | None) -> Eyes | None:
    """Opens multimodal.vision_provider; None where none is named."""
    name = (settings.vision_provider or "").strip()
    if not name:
        return None

    async def eyes() -> tuple[Provider, str]:
        provider, choice = await providers.open(
            name, settings.vision_model)
        if not provider.supports_vision():
            await provider.aclose()
            raise ConfigError(
                f"provider_capability_error provider={provider.name} "
                "capability=vision message=it takes no images",
                hint="name another with: claw config set "
                     "multimodal.vision_provider NAME")
        asked = provider if around is None else around(provider, choice)
        return OneCall(asked, provider), choice.model or ""
    return eyes


class OneCall(ChatProvider):
    """A provider that is closed after one call: images are rare, and
    nobody else knows that it is open."""

    def __init__(self, asked: Provider, opened: Provider) -> None:
        self.name = asked.name
        self._asked = asked
        self._opened = opened

    def capabilities(self) -> ProviderCapabilities:
        return self._asked.capabilities()

    def supports_streaming(self) -> bool:
        return self._asked.supports_streaming()

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return self._asked.convert_tools(tools)

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        async with aclosing(self._opened):
            return await self._asked.chat(request, model, temperature)

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        async with aclosing(self._opened), closing(self._asked.stream_chat(
                request, model, temperature)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._opened.aclose()
