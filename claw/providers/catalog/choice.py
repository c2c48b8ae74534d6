"""Which provider and model were chosen, and why."""

import asyncio
from collections.abc import Sequence

from claw.core.errors import ConfigError, UnavailableError
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


def no_answer(limit_s: float) -> UnavailableError:
    """The error of a server that was only looked at and stayed silent."""
    return UnavailableError(
        f"no answer within {limit_s:g} s", hint="is the address right? a "
        "model that is being loaded may need longer: claw provider test "
        "--timeout 120")


async def settle_model(choice: Choice, provider: Provider,
                       limit_s: float) -> Choice:
    """The choice with a model: where none was named, one that the server
    offers. Raises ConfigError when it offers none, UnavailableError when
    it says nothing for `limit_s`."""
    if choice.model is not None:
        return choice
    try:
        async with asyncio.timeout(limit_s):
            offered = await provider.models()
    except TimeoutError as error:
        raise no_answer(limit_s) from error
    return replace(choice, model=pick_model(choice.provider_name, offered))


def pick_model(name: str, offered: Sequence[str]) -> str:
    """The first that a provider offers. One of another package may have
    none to name: it is then called by its own name. Raises ConfigError
    when it offers none."""
    found = choose_model(offered)
    if found is None and name in REGISTRY.foreign_names():
        found = name
    if found is None:
        raise no_model(name)
    return found
