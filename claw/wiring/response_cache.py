"""Settings -> answers that are given again, at temperature 0."""

from collections.abc import Callable

from claw.config.tree import Tree
from claw.core.provider import Provider
from claw.core.registry import load_dotted
from claw.memory.settings import MemorySettings
from claw.providers.settings import ProviderSettings

# Loaded where memory.response_cache_enabled asks for it.
_LATE = {"wrapper": "claw.providers.cached:CachedProvider",
         "open": "claw.storage.response_cache:open_response_cache"}


def cached(tree: Tree, provider: Provider,
           notify: Callable[[str], None]) -> Provider:
    """The provider behind the cache, or as it is where that is off."""
    settings = tree.decode("memory", MemorySettings)
    if not settings.response_cache_enabled:
        return provider
    cache = load_dotted(_LATE["open"])(
        tree.places.workspace / "memory" / "response_cache.db",
        ttl_minutes=settings.response_cache_ttl_minutes,
        max_entries=settings.response_cache_max_entries,
        hot_entries=settings.response_cache_hot_entries)
    default = (tree.decode("", ProviderSettings).default_provider
               or provider.name).strip()
    made: Provider = load_dotted(_LATE["wrapper"])(
        provider, cache, notify,
        scope="" if provider.name == default else provider.name)
    return made
