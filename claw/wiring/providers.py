"""Settings -> providers."""

import os
from collections.abc import Callable, Mapping

from claw.config.tree import Tree
from claw.core.provider import Provider
from claw.providers.connection import unheard
from claw.providers.factory import Providers, alone
from claw.providers.facts import ModelFacts
from claw.providers.settings import (
    NamedProviderSettings,
    ProviderSettings,
    ReasoningSettings,
    ReliabilitySettings,
    RouteSettings,
)
from claw.providers.vendors import Vendor


def providers_of(tree: Tree, env: Mapping[str, str] | None = None, *,
                 around: Callable[[Provider, Vendor], Provider] = alone,
                 notify: Callable[[str], None] = unheard) -> Providers:
    """What chooses and makes providers; `env` is ours when None."""
    return Providers(
        tree.decode("", ProviderSettings), named_of(tree),
        os.environ if env is None else env,
        reliability=tree.decode("reliability", ReliabilitySettings),
        routes=routes_of(tree),
        reasoning=tree.decode("runtime", ReasoningSettings),
        around=around, notify=notify, facts=ModelFacts(
            tree.places.workspace / "state" / "model_facts.json"))


def named_of(tree: Tree) -> dict[str, NamedProviderSettings]:
    """[model_providers.<name>]."""
    return {name: tree.decode(["model_providers", name],
                              NamedProviderSettings)
            for name in tree.names("model_providers")}


def routes_of(tree: Tree) -> list[RouteSettings]:
    """[[model_routes]]."""
    rows = tree.node_or(("model_routes",))
    return [tree.decode(["model_routes", str(i)], RouteSettings)
            for i in range(len(rows) if isinstance(rows, list) else 0)]
