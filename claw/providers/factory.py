"""From a name to a provider, and from nothing to a name.

A name is a vendor of vendors.py (or an alias), one of
[model_providers.<name>], `custom:URL`, `anthropic-custom:URL`, or a class
that another package registers under the entry point group
"claw.providers". Such a class is built with `Class.build(Connection)` where
it has that, else with `Class()`.

Three things can be made of a name: the provider alone (`create`), with
retries, more keys and fall-backs around it (`create_resilient`), and with
the routes of hints as well (`create_routed`).
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from claw.core.errors import AuthError, ClawError, UnavailableError
from claw.core.provider import Provider
from claw.core.value import Value, made, replace
from claw.providers import REGISTRY
from claw.providers.catalog.aliases import Aliases, resolve_model
from claw.providers.catalog.choice import Choice, no_model, settle_model
from claw.providers.catalog.info import KeepsModelInfo
from claw.providers.catalog.keys import GENERIC, Key, find_key
from claw.providers.catalog.local import LocalServer, choose_model, find_local
from claw.providers.catalog.lookup import (
    Named,
    build_address_row,
    check_url,
    find_row,
    find_settings,
    is_address,
)
from claw.providers.catalog.vendors import (
    Vendor,
    display_name,
    find_vendor,
    vendors,
)
from claw.providers.connection import Connection, ignore_notice
from claw.providers.resilience.breaker import Breaker
from claw.providers.resilience.own_model import OwnModel
from claw.providers.resilience.reliable import Endpoint, ReliableProvider
from claw.providers.resilience.router import HINT, RouterProvider
from claw.providers.settings import (
    ProviderSettings,
    ReasoningSettings,
    ReliabilitySettings,
    RouteSettings,
)

Probe = Callable[[], Sequence[LocalServer]]
OFFLINE = "offline"
LIST_S = 10.0  # the most to wait for a list of models at the start


def keep_bare(provider: Provider, _: Vendor) -> Provider:
    """Nothing around a provider."""
    return provider


class Providers(Value):
    """The settings and the environment, from which providers come.

    `named` is [model_providers.<name>], `routes` [[model_routes]],
    `aliases` [model_aliases]. `probe`
    looks for servers on this machine; CLAW_NO_PROBE=1 in the environment
    keeps it from looking. `around` is put around each provider that talks
    to a server (the ledger), `breaker` watches the servers of all of them,
    `model_info` keeps what is known of models, `notify` hears what a person
    should know. `transport` replaces the network in tests.
    """

    settings: ProviderSettings = made(factory=ProviderSettings)
    named: Named = made(factory=dict)
    env: Mapping[str, str] = made(factory=dict)
    probe: Probe = find_local
    transport: Any = None
    reliability: ReliabilitySettings = made(factory=ReliabilitySettings)
    routes: Sequence[RouteSettings] = ()
    aliases: Aliases = made(factory=dict)
    reasoning: ReasoningSettings = made(factory=ReasoningSettings)
    around: Callable[[Provider, Vendor], Provider] = keep_bare
    breaker: Breaker = made(factory=Breaker)
    model_info: KeepsModelInfo | None = None
    notify: Callable[[str], None] = ignore_notice

    def vendor(self, name: str) -> Vendor:
        """The row for a name, with everything configured put in. Raises
        ConfigError for an unknown name or a setting that can't be."""
        row = find_row(name.strip(), self.named, self.env)
        if self._is_default(row.name) and not is_address(row.name):
            row = replace(row, url=self.settings.api_url or row.url,
                          api_path=self.settings.api_path or row.api_path)
        if row.plugin in ("compatible", "anthropic", "gemini", "ollama") or (
                row.url and row.plugin == "openai"):
            check_url(row.url, f"provider {row.name!r}")
        return row

    def key(self, name: str, explicit: str | None = None) -> Key:
        """The key for a name and where it came from."""
        return self._key(self.vendor(name), explicit)

    def create(self, name: str, key: str | None = None) -> Provider:
        """The provider of that name."""
        vendor = self.vendor(name)
        found = self._key(vendor, key)
        connection = Connection(
            vendor, found.value, find_settings(vendor.name, self.named),
            dict(self.settings.extra_headers),
            float(self.settings.provider_timeout_secs), self.env,
            self.transport, self.reasoning, self.model_info, self.notify)
        plugin = REGISTRY.load(vendor.plugin)
        build = getattr(plugin, "build", None)
        made: Provider = build(connection) if build else plugin()
        return made if vendor.plugin == OFFLINE else self.around(made, vendor)

    def create_resilient(self, name: str, key: str | None = None) -> Provider:
        """The provider with retries, the other keys of [reliability], and
        its fall-backs. The first one is built now, the rest when it is
        needed."""
        vendor = self.vendor(name)
        if vendor.plugin == OFFLINE:
            return self.create(name, key)
        create = partial(self._create_asking, vendor, is_fallback=False)
        first = create(key)
        more = self.reliability.api_keys \
            if self._is_default(vendor.name) and not key else []
        servers = [_build_endpoint(vendor, None, [
            lambda: first, *(partial(create, extra)
                             for extra in more if extra.strip())])]
        servers += self._fallbacks(vendor)
        return ReliableProvider(
            servers, retries=self.reliability.provider_retries,
            backoff_ms=self.reliability.provider_backoff_ms,
            model_fallbacks=self.reliability.model_fallbacks,
            breaker=self.breaker, notify=self.notify)

    def create_routed(self, name: str, key: str | None = None) -> Provider:
        """The resilient provider, and behind `hint:` the routes."""
        made = [("default", self.create_resilient(name, key))]
        places: dict[tuple[str, str | None], int] = {("", None): 0}
        routes: dict[str, tuple[int, str]] = {}
        for row in self.routes:
            if not row.hint or not row.model or row.hint in routes:
                self.notify(f"model_routes: {row.hint or 'a route'} has no "
                            "hint, no model, or stands there twice")
                continue
            try:
                own, model = resolve_model(self.aliases, row.model)
                place = (row.provider.strip() or own or "",
                         (row.api_key or "").strip() or None)
                if place not in places:
                    made.append((place[0] or name, self.create_resilient(
                        place[0] or name, place[1])))
                    places[place] = len(made) - 1
            except ClawError as error:
                self.notify(f"model_routes: {row.hint}: {error.message}")
                continue
            routes[row.hint] = (places[place], model)
        return RouterProvider(made, routes, notify=self.notify)

    def choose(self, provider: str | None = None, model: str | None = None,
               key: str | None = None) -> Choice:
        """The provider to use: the one named, that of the settings, the
        first with a key in the environment, a server on this machine, or
        the one without a model."""
        model = (model or "").strip() or None
        alias = model or (
            None if provider else (self.settings.default_model or "").strip())
        if alias in self.aliases:
            own, model = resolve_model(self.aliases, str(alias))
            if own and not provider:
                return self._named_choice(own, f"the alias {alias} names it",
                                          model, key)
        if (provider or "").strip():
            return self._named_choice(str(provider), "named with -p",
                                      model, key)
        default = (self.settings.default_provider or "").strip()
        if default:
            return self._named_choice(default, "default_provider", model, key)
        if self.settings.api_url:
            return self._named_choice(f"custom:{self.settings.api_url}",
                                      "api_url is set", model, key)
        return self._by_environment(model) or self._by_probe(model) \
            or Choice(OFFLINE, OFFLINE, self._no_model_reason())

    async def open(self, provider: str | None = None,
                   model: str | None = None, key: str | None = None, *,
                   bare: bool = False, limit_s: float = LIST_S
                   ) -> tuple[Provider, Choice]:
        """Choose, build, and settle the model; the caller closes it.
        `bare`: without retries, fall-backs and routes, to try it out.
        Else the model stays None where the server can't be asked now, or
        says nothing for `limit_s`: it is asked when "" is called."""
        choice = self.choose(provider, model, key)
        hinted = bool(self.routes) or (choice.model or "").startswith(HINT)
        make = (self.create if bare else
                self.create_routed if hinted else self.create_resilient)
        made = make(choice.provider_name, key)
        try:
            return made, await settle_model(choice, made, limit_s)
        except BaseException as error:
            if not bare and isinstance(error, UnavailableError):
                return made, choice
            await made.aclose()
            raise

    def list_configured(self) -> list[str]:
        """Names that are set up: the default, the named ones, those with a
        key in the environment."""
        default = (self.settings.default_provider or "").strip()
        names = [default] if default else []
        names += self.named
        names += [v.name for v in vendors()
                  if any(self.env.get(k, "").strip()
                         for k in v.choosing_keys)]
        return list(dict.fromkeys(self._canonical(n) for n in names))

    def _fallbacks(self, primary: Vendor) -> Iterator[Endpoint]:
        """The endpoints of fallback_providers; one that can't be is told."""
        seen = {primary.name}
        for name in self.reliability.fallback_providers:
            try:
                vendor = self.vendor(name)
                if vendor.name in seen:
                    continue
                seen.add(vendor.name)
                if vendor.needs_key \
                        and vendor.plugin in ("compatible", "openai") \
                        and self._key(vendor, None).value is None:
                    # it will surely fail
                    raise AuthError(
                        f"{vendor.name} has no key", hint="set "
                        + (*vendor.keys, "CLAW_API_KEY")[0])
            except ClawError as error:
                self.notify(f"fallback_providers: {error.message}")
                continue
            model = find_settings(vendor.name, self.named).model \
                or vendor.model
            if self.settings.default_provider \
                    and self._is_default(vendor.name):
                model = self.settings.default_model or model
            create = partial(self.create, vendor.name) if model else \
                partial(self._create_asking, vendor, is_fallback=True)
            yield _build_endpoint(vendor, model, [create])

    def _create_asking(self, vendor: Vendor, key: str | None = None, *,
                       is_fallback: bool) -> Provider:
        """The provider, which asks its server for a model where it has to
        name one."""
        return OwnModel(self.create(vendor.name, key), vendor,
                        is_fallback=is_fallback)

    def _key(self, vendor: Vendor, explicit: str | None) -> Key:
        named = find_settings(vendor.name, self.named)
        if named.requires_openai_auth:
            vendor = replace(vendor, keys=("OPENAI_API_KEY", *vendor.keys))
        origin = "given"
        if not (explicit or "").strip():
            explicit, origin = named.api_key, "config.toml"
        if not (explicit or "").strip() and self._is_default(vendor.name):
            explicit = self.settings.api_key
        return find_key(vendor, self.env, explicit, origin)

    def _named_choice(self, name: str, reason: str, model: str | None,
                      key: str | None) -> Choice:
        vendor = self.vendor(name)
        if model is None and self._is_default(vendor.name):
            model = resolve_model(self.aliases, (
                self.settings.default_model or "").strip())[1] or None
        model = model or find_settings(vendor.name, self.named).model \
            or vendor.model
        if model is None and vendor.needs_key:
            raise no_model(vendor.name)
        return Choice(vendor.name, model, reason,
                      self._key(vendor, key).origin)

    def _by_environment(self, model: str | None) -> Choice | None:
        """The first vendor with a key and a model to ask. A key alone is
        not enough: CLOUDFLARE_API_KEY is set for many reasons."""
        for vendor in vendors():
            name = next((k for k in vendor.choosing_keys
                         if self.env.get(k, "").strip()), None)
            if name is None or vendor.local:
                continue
            wanted = model or self.settings.default_model or vendor.model
            if wanted:
                return Choice(vendor.name, wanted, f"{name} is set",
                              self._key(self.vendor(vendor.name),
                                        None).origin)
        return None

    def _by_probe(self, model: str | None) -> Choice | None:
        if self.env.get("CLAW_NO_PROBE", "").strip() not in ("", "0"):
            return None
        for server in self.probe():
            wanted = model
            if wanted is None and self.settings.default_model \
                    in server.models:
                wanted = self.settings.default_model
            wanted = wanted or choose_model(server.models)
            if wanted:
                return Choice(
                    server.name, wanted,
                    f"a server answers on port {server.port}",
                    self.key(server.name).origin)
        return None

    def _no_model_reason(self) -> str:
        stray = next((k for k in GENERIC if self.env.get(k, "").strip()),
                     "api_key" if self.settings.api_key else None)
        return f"{stray} is set, but no provider is named" if stray \
            else "no model is configured"

    def _canonical(self, name: str) -> str:
        if is_address(name):
            return build_address_row(name).name
        row = find_vendor(name)
        return row.name if row and name not in self.named else name

    def _is_default(self, name: str) -> bool:
        """Whether the top-level api_key, api_url and default_model belong
        to this provider: they are the default provider's."""
        default = (self.settings.default_provider or "").strip()
        return not default or self._canonical(default) == name


def _build_endpoint(vendor: Vendor, model: str | None,
          providers: Sequence[Callable[[], Provider]]) -> Endpoint:
    host = urlsplit(vendor.url).netloc or vendor.name
    return Endpoint(display_name(vendor.name), host, providers, model,
                vendor.local)


def _environment(env: Mapping[str, str] | None) -> Mapping[str, str]:
    """The variables to look for keys in: this process's, unless others
    are given."""
    return os.environ if env is None else env


def create_provider(name: str, key: str | None = None, *,
                    settings: ProviderSettings | None = None,
                    named: Named | None = None,
                    env: Mapping[str, str] | None = None,
                    transport: Any = None) -> Provider:
    """One provider by its name, with nothing around it; its key from the
    environment where none is given."""
    return Providers(settings or ProviderSettings(), named or {},
                     _environment(env),
                     transport=transport).create(name, key)


def create_resilient_provider(
        name: str, key: str | None = None,
        reliability: ReliabilitySettings | None = None, *,
        settings: ProviderSettings | None = None,
        named: Named | None = None, env: Mapping[str, str] | None = None,
        transport: Any = None,
        notify: Callable[[str], None] = ignore_notice) -> Provider:
    """A provider with retries, key rotation and fall-backs around it."""
    return Providers(
        settings or ProviderSettings(), named or {}, _environment(env),
        transport=transport, notify=notify,
        reliability=reliability or ReliabilitySettings()
    ).create_resilient(name, key)


def create_routed_provider(
        name: str, key: str | None = None,
        reliability: ReliabilitySettings | None = None,
        model_routes: Sequence[RouteSettings] = (), *,
        settings: ProviderSettings | None = None,
        named: Named | None = None, env: Mapping[str, str] | None = None,
        transport: Any = None,
        notify: Callable[[str], None] = ignore_notice) -> Provider:
    """A resilient provider that also knows the routes of hints. Without
    routes it is the resilient one alone."""
    providers = Providers(
        settings or ProviderSettings(), named or {}, _environment(env),
        transport=transport, notify=notify, routes=model_routes,
        reliability=reliability or ReliabilitySettings())
    return (providers.create_routed if model_routes
            else providers.create_resilient)(name, key)


def choose_provider(provider: str | None = None, model: str | None = None, *,
                    settings: ProviderSettings | None = None,
                    named: Named | None = None,
                    env: Mapping[str, str] | None = None,
                    probe: Probe = find_local) -> Choice:
    """Providers(...).choose in one call."""
    return Providers(settings or ProviderSettings(), named or {},
                     _environment(env),
                     probe).choose(provider, model)
