"""From a name to a provider, and from nothing to a name.

A name is a vendor of vendors.py (or an alias), one of
[model_providers.<name>], `custom:URL`, or a class that another package
registers under the entry point group "claw.providers". Such a class is
built with `Class.build(Connection)` where it has that, else with `Class()`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from claw.core.errors import ConfigError
from claw.core.provider import Provider
from claw.core.registry import nearest
from claw.core.value import Value, made, replace
from claw.providers import REGISTRY
from claw.providers.connection import Connection
from claw.providers.keys import GENERIC, Key, find_key
from claw.providers.local import LocalServer, find_local, preferred
from claw.providers.settings import NamedProviderSettings, ProviderSettings
from claw.providers.vendors import (
    Vendor,
    find_vendor,
    shown_name,
    vendor_names,
    vendors,
)

Named = Mapping[str, NamedProviderSettings]
Probe = Callable[[], Sequence[LocalServer]]

# Known, but not built yet, and the nearest way to their models.
_ELSEWHERE = {
    "anthropic": "its models are at hand with -p openrouter",
    "gemini": "its models are at hand with -p openrouter",
    "google": "its models are at hand with -p openrouter",
    "bedrock": "put a proxy such as LiteLLM before it: -p litellm",
    "copilot": "its models are at hand with -p openai or -p openrouter",
}


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
        return shown_name(self.provider_name)


class Providers(Value):
    """The settings and the environment, from which providers come.

    `named` is [model_providers.<name>]. `probe` looks for servers on this
    machine; CLAW_NO_PROBE=1 in the environment keeps it from looking.
    `transport` replaces the network in tests.
    """

    settings: ProviderSettings = made(factory=ProviderSettings)
    named: Named = made(factory=dict)
    env: Mapping[str, str] = made(factory=dict)
    probe: Probe = find_local
    transport: Any = None

    def vendor(self, name: str) -> Vendor:
        """The row for a name, with everything configured put in. Raises
        ConfigError for an unknown name or a setting that can't be."""
        row = self._row(name.strip())
        if self._is_default(row.name) and not row.name.startswith("custom:"):
            row = replace(row, url=self.settings.api_url or row.url,
                          api_path=self.settings.api_path or row.api_path)
        if row.room == "compatible" or (
                row.url and row.room == "openai"):
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
            vendor, found.value, self._named(vendor.name),
            dict(self.settings.extra_headers),
            float(self.settings.provider_timeout_secs), self.env,
            self.transport)
        room = REGISTRY.load(vendor.room)
        build = getattr(room, "build", None)
        made: Provider = build(connection) if build else room()
        return made

    def choose(self, provider: str | None = None, model: str | None = None,
               key: str | None = None) -> Choice:
        """The provider to use: the one named, that of the settings, the
        first with a key in the environment, a server on this machine, or
        the one without a model."""
        model = (model or "").strip() or None
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
            or Choice("offline", "offline", self._no_model_reason())

    async def open(self, provider: str | None = None,
                   model: str | None = None, key: str | None = None
                   ) -> tuple[Provider, Choice]:
        """Choose, build, and settle the model; the caller closes it."""
        choice = self.choose(provider, model, key)
        made = self.create(choice.provider_name, key)
        try:
            return made, await settle_model(choice, made)
        except BaseException:
            await made.aclose()
            raise

    def configured(self) -> list[str]:
        """Names that are set up: the default, the named ones, those with a
        key in the environment."""
        default = (self.settings.default_provider or "").strip()
        names = [default] if default else []
        names += self.named
        names += [v.name for v in vendors() if self._has_key(v)]
        return list(dict.fromkeys(self._canonical(n) for n in names))

    def _row(self, name: str) -> Vendor:
        if name.lower().startswith("custom:"):
            return custom(name[len("custom:"):])
        named = self._named(name)
        row = find_vendor(name) or find_vendor(named.name or "")
        if row is None and name in self.named:
            row = Vendor(name, named.name or name, "", default_key="",
                         vision=True)
        if row is None:
            return _foreign(name, self.named)
        if name in self.named:
            row = replace(row, name=name)
        return configure(row, named, self.env)

    def _key(self, vendor: Vendor, explicit: str | None) -> Key:
        named = self._named(vendor.name)
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
            model = (self.settings.default_model or "").strip() or None
        model = model or self._named(vendor.name).model or vendor.model
        if model is None and vendor.needs_key:
            raise no_model(vendor.name)
        return Choice(vendor.name, model, reason,
                      self._key(vendor, key).origin)

    def _by_environment(self, model: str | None) -> Choice | None:
        """The first vendor with a key and a model to ask. A key alone is
        not enough: CLOUDFLARE_API_KEY is set for many reasons."""
        for vendor in vendors():
            name = next((k for k in vendor.keys
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
            wanted = wanted or preferred(server.models)
            if wanted:
                return Choice(
                    server.name, wanted,
                    f"a server answers on port {server.port}",
                    self.key(server.name).origin)
        return None

    def _no_model_reason(self) -> str:
        stray = next((k for k in GENERIC if self.env.get(k, "").strip()),
                     "api_key" if self.settings.api_key else None)
        if stray:
            return f"{stray} is set, but no provider is named"
        return "no model is configured"

    def _named(self, name: str) -> NamedProviderSettings:
        return self.named.get(name) or self.named.get(
            name.lower()) or NamedProviderSettings()

    def _has_key(self, vendor: Vendor) -> bool:
        return any(self.env.get(k, "").strip() for k in vendor.keys)

    def _canonical(self, name: str) -> str:
        if name.lower().startswith("custom:"):
            return custom(name[len("custom:"):]).name
        row = find_vendor(name)
        return row.name if row and name not in self.named else name

    def _is_default(self, name: str) -> bool:
        """Whether the top-level api_key, api_url and default_model belong
        to this provider: they are the default provider's."""
        default = (self.settings.default_provider or "").strip()
        return not default or self._canonical(default) == name


def configure(row: Vendor, named: NamedProviderSettings,
              env: Mapping[str, str]) -> Vendor:
    """A row with the settings of [model_providers.<name>] put in."""
    if named.wire_api not in (None, "", "chat_completions"):
        raise ConfigError(
            f"model_providers: wire_api = {named.wire_api!r} is not spoken",
            hint='the one wire_api so far is "chat_completions"')
    if named.azure_openai_resource or row.name == "azure":
        row = replace(row, room="openai", auth="api-key",
                      keys=("AZURE_OPENAI_API_KEY",),
                      model=row.model or named.azure_openai_deployment
                      or env.get("AZURE_OPENAI_DEPLOYMENT"))
    elif row.name == "openai":
        row = replace(row, url=env.get("OPENAI_BASE_URL") or row.url)
    return replace(
        row, url=named.base_url or row.url,
        api_path=named.api_path or row.api_path,
        native_tools=row.native_tools if named.native_tools is None
        else named.native_tools)


def custom(url: str) -> Vendor:
    """The row of `custom:URL`. A URL without a path gets /v1."""
    url = url.strip()
    check_url(url, "custom:URL")
    if urlsplit(url).username is not None:
        raise ConfigError("custom:URL: no user or password in an address",
                          hint="set CLAW_API_KEY, or extra_headers")
    if not urlsplit(url).path.strip("/"):
        url = url.rstrip("/") + "/v1"
    return Vendor(f"custom:{url}", "Custom provider", url, default_key="",
                  vision=True)


def check_url(url: str, where: str) -> None:
    """Raises ConfigError for anything but an http(s) address."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) \
            and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            f"{where}: {url!r} is no address" if url
            else f"{where} has no address",
            hint="it must start with http:// or https://, e.g. "
                 "http://localhost:8000/v1")


def no_model(name: str) -> ConfigError:
    return ConfigError(
        f"no model is set for {name}",
        hint=f"see: claw provider models {name}; then choose one with -m "
             "MODEL, or: claw config set default_model MODEL")


async def settle_model(choice: Choice, provider: Provider) -> Choice:
    """The choice with a model: where none was named, the first that the
    server offers. A provider of another package may have none to name: it
    is then called by its own name. Raises ConfigError when it offers
    none."""
    if choice.model is not None:
        return choice
    offered = preferred(await provider.models())
    if offered is None and choice.provider_name in REGISTRY.foreign_names():
        offered = choice.provider_name
    if offered is None:
        raise no_model(choice.provider_name)
    return replace(choice, model=offered)


def _foreign(name: str, named: Named) -> Vendor:
    """The row of a provider that another package brings."""
    try:
        REGISTRY.load(name)
    except ConfigError:
        raise unknown(name, named) from None
    return Vendor(name, name, "", room=name, default_key="")


def unknown(name: str, named: Named) -> ConfigError:
    """The error for a name that nothing has."""
    low = name.lower()
    near = nearest(low, [*vendor_names(), *named])
    if low in _ELSEWHERE:
        hint = _ELSEWHERE[low]
    elif low.startswith(("http://", "https://")):
        hint = f"did you mean custom:{name}?"
    else:
        hint = (f'did you mean "{near}"? ' if near
                else "see: claw provider list. ")
        hint += "Any other server: custom:http://HOST/v1"
    return ConfigError(f"unknown provider: {name!r}", hint=hint)


def create_provider(name: str, key: str | None = None, *,
                    settings: ProviderSettings | None = None,
                    named: Named | None = None,
                    env: Mapping[str, str] | None = None,
                    transport: Any = None) -> Provider:
    """One provider by its name, with nothing around it."""
    return Providers(settings or ProviderSettings(), named or {}, env or {},
                     transport=transport).create(name, key)


def choose_provider(provider: str | None = None, model: str | None = None, *,
                    settings: ProviderSettings | None = None,
                    named: Named | None = None,
                    env: Mapping[str, str] | None = None,
                    probe: Probe = find_local) -> Choice:
    """Providers(...).choose in one call."""
    return Providers(settings or ProviderSettings(), named or {}, env or {},
                     probe).choose(provider, model)
