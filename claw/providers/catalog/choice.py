"""Which provider and model were chosen, and why."""

from claw.core.errors import ConfigError
from claw.core.provider import Provider
from claw.core.value import Value, replace
from claw.providers import REGISTRY
from claw.providers.catalog.local import choose_model
from claw.providers.catalog.vendors import display_name


class Choice(Value):
    """Which provider and model, and why.

    `model` is None where the server has to be asked for it (settle_model).
    `key_origin` is a variable's name, "config.toml", "given", "built in"
    or "none".
    """

    provider_name: str
    model: str | None
    reason: str
    key_origin: str = "none"

    @property
    def shown(self) -> str:
        """The name for people and logs."""
        return display_name(self.provider_name)


def no_model(name: str) -> ConfigError:
    shown = display_name(name)
    return ConfigError(
        f"no model is set for {shown}",
        hint=f"see: claw provider models {shown}; then choose one with "
             "-m MODEL, or: claw config set default_model MODEL")


async def settle_model(choice: Choice, provider: Provider) -> Choice:
    """The choice with a model: where none was named, the first that the
    server offers. A provider of another package may have none to name: it
    is then called by its own name. Raises ConfigError when it offers
    none."""
    if choice.model is not None:
        return choice
    offered = choose_model(await provider.models())
    if offered is None and choice.provider_name in REGISTRY.foreign_names():
        offered = choice.provider_name
    if offered is None:
        raise no_model(choice.provider_name)
    return replace(choice, model=offered)
