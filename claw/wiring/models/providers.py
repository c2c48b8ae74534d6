"""Settings -> providers, and answers that are given again."""

import os
from collections.abc import Callable, Mapping

from msgspec import structs

from claw.config.tree import Tree
from claw.core.provider import Provider
from claw.core.registry import nearest
from claw.memory.settings import MemorySettings
from claw.providers.catalog.model_info import ModelInfoFile
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import ignore_notice
from claw.providers.factory import Providers, keep_bare
from claw.providers.resilience.router import HINT
from claw.providers.settings import (
    ModelAliasSettings,
    NamedProviderSettings,
    ProviderSettings,
    ReasoningSettings,
    ReliabilitySettings,
    RouteSettings,
)
from claw.security.redact.redactor import Redactor

_NEAR = 0.75  # of the letters of a short name: one is wrong, or swapped


def build_providers(tree: Tree, env: Mapping[str, str] | None = None, *,
                 around: Callable[[Provider, Vendor], Provider] = keep_bare,
                 notify: Callable[[str], None] = ignore_notice,
                 retries: bool = True) -> Providers:
    """What chooses and makes providers; `env` is ours when None. Without
    `retries` each endpoint and key is asked once."""
    reliability = tree.decode("reliability", ReliabilitySettings)
    return Providers(
        tree.decode("", ProviderSettings), read_named_providers(tree),
        os.environ if env is None else env,
        reliability=reliability if retries
        else structs.replace(reliability, provider_retries=0),
        routes=read_routes(tree), aliases=read_aliases(tree),
        reasoning=tree.decode("runtime", ReasoningSettings),
        around=around, notify=notify, model_info=ModelInfoFile(
            tree.places.workspace / "state" / "model_facts.json"))


def read_named_providers(tree: Tree) -> dict[str, NamedProviderSettings]:
    """[model_providers.<name>]."""
    return {name: tree.decode(["model_providers", name],
                              NamedProviderSettings)
            for name in tree.names("model_providers")}


def read_routes(tree: Tree) -> list[RouteSettings]:
    """[[model_routes]]."""
    rows = tree.node_or(("model_routes",))
    return [tree.decode(["model_routes", str(i)], RouteSettings)
            for i in range(len(rows) if isinstance(rows, list) else 0)]


def read_aliases(tree: Tree) -> dict[str, ModelAliasSettings]:
    """[model_aliases]: a table, or the model alone, for each name."""
    rows = tree.node_or(("model_aliases",))
    return {name: ModelAliasSettings(model=value) if isinstance(value, str)
            else tree.decode(["model_aliases", name], ModelAliasSettings)
            for name, value in (
                rows.items() if isinstance(rows, dict) else ())}


def find_near_alias(tree: Tree, providers: Providers, provider: str,
                    model: str) -> str | None:
    """The alias that a model's name may misspell: nearly the same, and
    claw has never heard of a model of that name."""
    aliases = providers.aliases
    near = None if not aliases or model in aliases \
        or model.startswith(HINT) else nearest(model, aliases, _NEAR)
    if near is None:
        return None
    from claw.providers.catalog import models
    from claw.providers.cost.prices import Prices
    listed = models.load_models(
        tree.places.workspace / "state" / models.FILE, provider, float("inf"))
    is_known = (listed is not None and model in listed.models) \
        or Prices().find(provider, model) is not None
    return None if is_known else near


def add_response_cache(tree: Tree, provider: Provider,
                       notify: Callable[[str], None],
                       redactor: Redactor) -> Provider:
    """The provider behind answers that are given again at temperature 0,
    or as it is where that is off."""
    settings = tree.decode("memory", MemorySettings)
    if not settings.response_cache_enabled:
        return provider
    from claw.providers.resilience.cache import CachedProvider
    from claw.storage.response_cache import open_response_cache
    cache = open_response_cache(
        tree.places.workspace / "memory" / "response_cache.db",
        ttl_minutes=settings.response_cache_ttl_minutes,
        max_entries=settings.response_cache_max_entries,
        hot_entries=settings.response_cache_hot_entries)
    default = (tree.decode("", ProviderSettings).default_provider
               or provider.name).strip()
    return CachedProvider(
        provider, cache, notify,
        scope="" if provider.name == default else provider.name,
        clean=redactor)
