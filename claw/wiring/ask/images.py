"""Settings -> what shows images to a model.

Loaded when a message holds one.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from claw.agent.images.images import Eyes, Images
from claw.agent.images.store import ImageStore
from claw.agent.model.call import closing
from claw.agent.settings import MultimodalSettings
from claw.config.tree import Tree
from claw.core.errors import ConfigError, UnavailableError, UsageError
from claw.core.provider import (
    ChatProvider,
    ChatRequest,
    ChatResponse,
    Provider,
    StreamChunk,
    WrappedProvider,
)
from claw.providers.factory import Providers
from claw.security.files.paths import PathRules, expand_all
from claw.security.settings import AutonomySettings
from claw.wiring.models.providers import build_providers

FETCH_S = 15.0

def build_images(tree: Tree, env: Mapping[str, str] = os.environ, *,
                 providers: Providers | None = None) -> Images:
    """The images of these settings and this workspace. `providers` opens
    the one that sees, None: those of the settings. Raises ConfigError for
    a wrong setting."""
    settings = tree.decode("multimodal", MultimodalSettings)
    return Images(
        settings, ImageStore(_rules(tree, env)),
        fetch=fetch if settings.allow_remote_fetch else None,
        eyes=_build_eyes(settings, providers or build_providers(tree, env)))


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
    from claw.security.egress import check_url, is_public
    if client is None:
        from claw.net.guarded import GuardedClient
        client = GuardedClient(
            check_url, is_public)
    page = await client.fetch(url, max_bytes=max_bytes, timeout_s=FETCH_S)
    if not 200 <= page.status < 300:
        raise UnavailableError(f"its server answered HTTP {page.status}")
    if page.cut:
        raise UsageError(f"it is larger than {max_bytes >> 20} MiB")
    content: bytes = page.content
    return content


def _build_eyes(settings: MultimodalSettings, providers: Providers
                ) -> Eyes | None:
    """Opens multimodal.vision_provider; None where none is named."""
    name = (settings.vision_provider or "").strip()
    if not name:
        return None

    async def eyes() -> tuple[Provider, str]:
        provider, choice = await providers.open(
            name, settings.vision_model)
        if not provider.capabilities_for(choice.model or "").vision:
            await provider.aclose()
            raise ConfigError(
                f"provider_capability_error provider={provider.name} "
                "capability=vision message=it takes no images",
                hint="name another with: claw config set "
                     "multimodal.vision_provider NAME")
        return OneCall(provider), choice.model or ""
    return eyes


class OneCall(WrappedProvider, ChatProvider):
    """A provider that is closed after one call: images are rare, and
    nobody else knows that it is open."""

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        async with aclosing(self.inner):
            return await self.inner.chat(request, model, temperature)

    async def stream_chat(self, request: ChatRequest, model: str,
                          temperature: float) -> AsyncIterator[StreamChunk]:
        async with aclosing(self.inner), closing(self.inner.stream_chat(
                request, model, temperature)) as chunks:
            async for chunk in chunks:
                yield chunk
