"""Short names for models: [model_aliases]. Pure."""

from collections.abc import Mapping

from claw.core.errors import ConfigError
from claw.providers.settings import ModelAliasSettings

Aliases = Mapping[str, ModelAliasSettings]


def resolve_model(aliases: Aliases, name: str) -> tuple[str | None, str]:
    """(provider, model) that a name stands for: None and itself where it
    is no alias. An alias may name another, or hide a model of its own
    name. Raises ConfigError for a circle."""
    provider, seen = None, [name]
    while name in aliases:
        row = aliases[name]
        provider = provider or row.provider or None
        if not row.model.strip():
            raise ConfigError(f"model_aliases.{name}: no model is named",
                              hint=f"claw model alias {name} MODEL")
        if row.model == name:
            break
        name = row.model
        if name in seen:
            raise ConfigError(
                "model_aliases go in a circle: " + " -> ".join([*seen, name]),
                hint=f"claw model alias {name} MODEL")
        seen.append(name)
    return provider, name
