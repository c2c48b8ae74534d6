"""Settings -> providers."""

import os
from collections.abc import Mapping

from claw.config.tree import Tree
from claw.providers.factory import Providers
from claw.providers.settings import NamedProviderSettings, ProviderSettings


def providers_of(tree: Tree, env: Mapping[str, str] | None = None
                 ) -> Providers:
    """What chooses and makes providers; `env` is ours when None."""
    named = {name: tree.decode(["model_providers", name],
                               NamedProviderSettings)
             for name in tree.names("model_providers")}
    return Providers(tree.decode("", ProviderSettings), named,
                     os.environ if env is None else env)
