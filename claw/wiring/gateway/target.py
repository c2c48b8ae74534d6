"""Which model a name means, and what its API takes."""

from claw.core.errors import ClawError
from claw.core.provider import Provider
from claw.core.value import Value
from claw.gateway.openai.endpoints import NO_MODEL
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.options import Dialect, Target
from claw.providers.catalog.aliases import resolve_model
from claw.providers.catalog.vendors import Vendor, display_name, vendors
from claw.providers.factory import OFFLINE, Providers
from claw.providers.openai.models import needs_responses

_DIALECTS: dict[str, Dialect] = {
    "anthropic": "anthropic", "gemini": "gemini", "ollama": "ollama"}


class Place(Value):
    """Where a model is asked."""

    vendor: Vendor
    model: str


def find_target(provider: Provider, place: Place) -> Target:
    """Which API that is, and what it takes."""
    vendor = place.vendor
    dialect: Dialect = _DIALECTS.get(vendor.plugin, "other")
    if vendor.plugin in ("compatible", "openai"):
        dialect = "responses" if vendor.wire_api == "responses" or (
            vendor.plugin == "openai" and vendor.responses_fallback
            and needs_responses(place.model)) else "chat"
    return Target(dialect, provider.capabilities_for(
        place.model).native_tool_calling, vendor.plugin == "openai")


def find_place(providers: Providers, name: str) -> Place:
    """The provider and model of a name. Raises BadRequest (404) for one
    that the owner has not set up."""
    owner, model = None, ""
    try:
        if name in providers.aliases:
            owner, model = resolve_model(providers.aliases, name)
            owner = owner or providers.choose().provider_name
        else:
            for known in _list_owners(providers):
                if name.startswith(f"{display_name(known)}/"):
                    owner = known
                    model = name[len(display_name(known)) + 1:]
                    break
        if owner and owner != OFFLINE and model:
            return Place(providers.vendor(owner), model)
    except ClawError as error:
        raise BadRequest(f"{name[:100]}: {error.message}", "model", NO_MODEL,
                         404) from error
    raise BadRequest(
        f"no model is called {name[:100]!r}; there are claw, the short names "
        "of claw model alias, and PROVIDER/MODEL of a provider that is set "
        "up (GET /v1/models)", "model", NO_MODEL, 404)


def _list_owners(providers: Providers) -> list[str]:
    """The providers that may be named, the longest names first: those that
    are set up, the one in use, and servers of this machine."""
    names = [*providers.list_configured(), providers.choose().provider_name,
             *(row.provider for row in providers.routes if row.provider),
             *(vendor.name for vendor in vendors() if vendor.local)]
    return sorted(dict.fromkeys(names), key=lambda name: -len(
        display_name(name)))
