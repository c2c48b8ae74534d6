"""Which model: what is at hand, and what an answer means for the
settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from claw.config.keys import Path
from claw.config.tree import Tree
from claw.core.value import Value
from claw.providers.catalog.keys import GENERIC
from claw.providers.catalog.lookup import is_address
from claw.providers.catalog.vendors import display_name, find_vendor, vendors
from claw.providers.cost.prices import Prices
from claw.providers.factory import OFFLINE, Providers
from claw.wiring.models.known_models import is_local, list_known_models
from claw.wiring.models.ledger import read_cost_settings

# Where a key is that claw can use already.
_NOWHERE = ("none", "built in", "given")


class Offer(Value):
    """A provider that could be asked at once: `why` says what is there."""

    name: str
    why: str
    model: str | None = None


class ModelOffer(Value):
    """A model and its price in words."""

    name: str
    price: str


def list_offers(providers: Providers, env: Mapping[str, str]
                ) -> list[Offer]:
    """What is set, whose key is in the environment (its name, never its
    value), and the model servers of this machine."""
    found: dict[str, Offer] = {}

    def add(name: str, why: str, model: str | None = None) -> None:
        found.setdefault(name, Offer(name, why, model))
    default = (providers.settings.default_provider or "").strip()
    if default:
        row = find_vendor(default)
        add(row.name if row else default, "set in config.toml",
            providers.settings.default_model)
    for vendor in vendors():
        variable = next((name for name in vendor.choosing_keys
                         if env.get(name, "").strip()), None)
        if variable and not vendor.local:
            add(vendor.name, f"{variable} is set", vendor.model)
    if env.get("CLAW_NO_PROBE", "").strip() in ("", "0"):
        for server in providers.probe():
            add(server.name, f"answers on port {server.port}",
                next(iter(server.models), None))
    return list(found.values())


def list_vendors() -> list[Offer]:
    """Everyone that claw knows."""
    return [Offer(vendor.name, vendor.title) for vendor in vendors()
            if vendor.name != OFFLINE]


def name_model(providers: Providers, name: str) -> str | None:
    """The model that a provider is asked for where none is named."""
    settings, vendor = providers.settings, providers.vendor(name)
    row = find_vendor(settings.default_provider or "")
    if settings.default_model and (row.name if row else
                                   settings.default_provider) == vendor.name:
        return settings.default_model
    return vendor.model


def list_models(tree: Tree, providers: Providers, name: str,
                offered: Sequence[str]) -> list[ModelOffer]:
    """The models of a provider with their prices: those that it offers,
    else those that claw has heard of."""
    names = list(offered) or [
        one.model for one in list_known_models(tree, name)]
    usual = name_model(providers, name)
    names.sort(key=lambda model: (model != usual, "embed" in model.lower()))
    return [ModelOffer(model, find_price(tree, providers, name, model))
            for model in names]


def find_price(tree: Tree, providers: Providers, name: str,
               model: str) -> str:
    """A price in words, "" where it is not known."""
    price = Prices(read_cost_settings(tree).prices).find(
        display_name(providers.vendor(name).name), model,
        local=is_local(providers, name))
    if price is None:
        return ""
    return "free" if price.free else \
        f"${price.input:g} in, ${price.output:g} out a million tokens"


def complete_address(text: str) -> str:
    """An address with its scheme: http for this machine, for numbers and
    for names of the own network, which have no dot."""
    if "://" in text:
        return text
    host = text.partition("/")[0].partition(":")[0]
    plain = "." not in host or host.replace(".", "").isdecimal()
    return f"{'http' if plain else 'https'}://{text}"


def find_key_origin(providers: Providers, name: str) -> str | None:
    """Where the key of a provider is: "config.toml" or a variable; None
    where one has to be given."""
    origin = providers.key(name).origin
    return None if origin in _NOWHERE else origin


def list_key_variables(providers: Providers, name: str) -> list[str]:
    """The variables that may hold a provider's key."""
    return [*providers.vendor(name).keys, GENERIC[0]]


def read_limit(tree: Tree) -> float:
    """The most for a day in dollars, 0 for no limit."""
    return read_cost_settings(tree).daily_limit_usd


def build_values(name: str, model: str | None, key: str | None,
                 limit: float | None) -> dict[Path, Any]:
    """The settings of these answers. `key` None: it is where it was, and
    `limit` None: it stays as it is."""
    values: dict[Path, Any] = {("default_provider",): name}
    if model:
        values["default_model",] = model
    if key:
        values[("api_key",) if is_address(name)
               else ("model_providers", name, "api_key")] = key
    if limit is not None:
        values["cost", "daily_limit_usd"] = limit
    return values
