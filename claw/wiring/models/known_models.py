"""Every model that claw knows of, without asking anybody: those that the
settings name, the lists that `claw provider models` has kept, the vendors'
defaults and the list of prices."""

from collections.abc import Iterator

from claw.config.tree import Tree
from claw.core.errors import ClawError
from claw.core.value import Value
from claw.net.addresses import is_loopback
from claw.providers.catalog import models
from claw.providers.catalog.aliases import resolve_model
from claw.providers.catalog.vendors import display_name, find_vendor, vendors
from claw.providers.cost.prices import Price, Prices, list_priced
from claw.providers.factory import Providers
from claw.wiring.models.ledger import read_cost_settings
from claw.wiring.models.providers import build_providers

Row = tuple[str, str]  # provider, model


class KnownModel(Value):
    """A model of a provider. `price` None: not known; `aliases` are its
    short names."""

    provider: str
    model: str
    price: Price | None
    aliases: tuple[str, ...]


def list_known_models(tree: Tree, provider: str | None = None, *,
                      every: bool = False) -> list[KnownModel]:
    """The models of one provider, of those that are set up, or of `every`
    one. Raises ConfigError for a provider that nobody knows."""
    providers = build_providers(tree)
    lists = models.read_lists(
        tree.places.workspace / "state" / models.FILE) \
        if tree.places.trusted else {}
    wanted = [display_name(providers.vendor(provider).name)] \
        if provider else list(dict.fromkeys([
            *map(display_name, providers.list_configured()),
            *(row[0] for row in _list_named(providers)),
            *(name for name in (*lists, *(vendor.name for vendor in vendors()))
              if every)]))
    found = dict.fromkeys([
        *_list_named(providers),
        *((name, model) for name, list_ in lists.items() for model in list_),
        *((vendor.name, vendor.model) for vendor in vendors()
          if vendor.model),
        # who has told its models knows them better than we do
        *(row for row in list_priced() if row[0] not in lists)])
    short = _find_aliases(providers)
    prices = Prices(read_cost_settings(tree).prices)
    return [KnownModel(name, model, prices.find(
                name, model, local=is_local(providers, name)),
                tuple(short.get((name, model), ())))
            for name in wanted for owner, model in found if owner == name]


def _list_named(providers: Providers) -> Iterator[Row]:
    """Those of the settings; a default model without a provider is the
    model of whoever is in use."""
    default = (providers.settings.default_model or "").strip()
    if default and default not in providers.aliases \
            and providers.settings.default_provider:
        yield _find_name(providers.settings.default_provider), default
    for name, row in providers.named.items():
        if row.model:
            yield _find_name(name), row.model
    for route in providers.routes:
        if route.provider and route.model \
                and route.model not in providers.aliases:
            yield _find_name(route.provider), route.model
    yield from _find_aliases(providers)


def _find_aliases(providers: Providers) -> dict[Row, list[str]]:
    """The short names of each model; those without a provider are names
    at that of the settings."""
    found: dict[Row, list[str]] = {}
    for alias in providers.aliases:
        try:
            own, model = resolve_model(providers.aliases, alias)
        except ClawError:  # a circle: whoever asks for it hears of it
            continue
        owner = own or (providers.settings.default_provider or "").strip()
        if owner:
            found.setdefault((_find_name(owner), model), []).append(alias)
    return found


def _find_name(name: str) -> str:
    vendor = find_vendor(name.strip())
    return display_name(vendor.name if vendor else name.strip())


def is_local(providers: Providers, name: str) -> bool:
    """Whether its calls are free where the settings name no price."""
    try:
        vendor = providers.vendor(name)
    except ClawError:  # its list is kept, its settings are gone
        return False
    return vendor.local or is_loopback(vendor.url)
