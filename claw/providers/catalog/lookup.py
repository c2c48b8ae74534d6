"""From a name to the row of data that describes it, settings put in. Pure
but for the classes of other packages, which are looked up by name."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from claw.core.errors import ConfigError, UnknownNameError
from claw.core.registry import nearest
from claw.core.value import replace
from claw.providers import REGISTRY
from claw.providers.catalog.vendors import (
    Vendor,
    display_name,
    find_vendor,
    vendor_names,
)
from claw.providers.settings import NamedProviderSettings

Named = Mapping[str, NamedProviderSettings]

CUSTOM = "custom:"
ANTHROPIC_CUSTOM = "anthropic-custom:"

# Known, but not built yet, and the nearest way to their models.
_ELSEWHERE = {
    "bedrock": "put a proxy such as LiteLLM before it: -p litellm",
    "copilot": "its models are at hand with -p openai or -p openrouter",
    "openai-codex": "its models are at hand with -p openai",
    "claude-code": "its models are at hand with -p anthropic",
    "gemini-cli": "its models are at hand with -p gemini",
}


def is_address(name: str) -> bool:
    """Whether a provider is named by its address."""
    return name.lower().startswith((CUSTOM, ANTHROPIC_CUSTOM))


def build_address_row(name: str) -> Vendor:
    """The row of custom:URL or anthropic-custom:URL, which speaks the
    Messages API. Raises ConfigError for what is no address."""
    if name.lower().startswith(ANTHROPIC_CUSTOM):
        return anthropic_custom(name[len(ANTHROPIC_CUSTOM):])
    return custom(name[len(CUSTOM):])


def custom(url: str) -> Vendor:
    """The row of `custom:URL`. A URL without a path gets /v1."""
    url = _own(url, "custom:URL")
    if not urlsplit(url).path.strip("/"):
        url = url.rstrip("/") + "/v1"
    return Vendor(f"{CUSTOM}{url}", "Custom provider", url, default_key="",
                  vision=True)


def anthropic_custom(url: str) -> Vendor:
    """The row of `anthropic-custom:URL`; the path is the wire's to add."""
    url = _own(url, "anthropic-custom:URL")
    return Vendor(f"{ANTHROPIC_CUSTOM}{url}", "Custom provider", url,
                  plugin="anthropic", auth="x-api-key", default_key="",
                  vision=True)


def _own(url: str, where: str) -> str:
    url = url.strip()
    check_url(url, where)
    if urlsplit(url).username is not None:
        raise ConfigError(f"{where}: no user or password in an address",
                          hint="set CLAW_API_KEY, or extra_headers")
    return url


def check_url(url: str, where: str) -> None:
    """Raises ConfigError for anything but an http(s) address."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) \
            and (parts.port or 1) > 0 and " " not in url
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            f"{where}: {display_name(url)!r} is no address" if url
            else f"{where} has no address",
            hint="it must start with http:// or https://, e.g. "
                 "http://localhost:8000/v1")


def find_row(name: str, named: Named, env: Mapping[str, str]) -> Vendor:
    """The row of a name, with [model_providers.<name>] put in. Raises
    ConfigError for a name that nothing has."""
    if is_address(name):
        return build_address_row(name)
    own = find_settings(name, named)
    row = find_vendor(name) or find_vendor(own.name or "")
    if row is None and name in named:
        row = Vendor(name, own.name or name, "", default_key="", vision=True)
    if row is None:
        return _foreign(name, named)
    if name in named:
        row = replace(row, name=name)
    return configure(row, own, env)


def find_settings(name: str, named: Named) -> NamedProviderSettings:
    """[model_providers.<name>], empty where there is none."""
    return named.get(name) or named.get(
        name.lower()) or NamedProviderSettings()


def configure(row: Vendor, named: NamedProviderSettings,
              env: Mapping[str, str]) -> Vendor:
    """A row with the settings of [model_providers.<name>] put in."""
    if named.wire_api not in (None, "", "chat_completions", "responses"):
        raise ConfigError(
            f"model_providers: wire_api = {named.wire_api!r} is not spoken",
            hint='it is "chat_completions" or "responses"')
    if named.azure_openai_resource or row.name == "azure":
        row = replace(row, plugin="openai", auth="api-key",
                      keys=("AZURE_OPENAI_API_KEY",),
                      model=row.model or named.azure_openai_deployment
                      or env.get("AZURE_OPENAI_DEPLOYMENT"))
    elif row.name == "openai":
        row = replace(row, url=env.get("OPENAI_BASE_URL") or row.url)
    elif row.name == "anthropic":
        row = replace(row, url=env.get("ANTHROPIC_BASE_URL") or row.url)
    if named.client == "sdk" and row.plugin != "openai":
        raise ConfigError(
            f'{row.name}: client = "sdk" is there for OpenAI and Azure alone',
            hint='leave it out, or set name = "openai"')
    if named.client == "sdk" and "AZURE_OPENAI_API_KEY" in row.keys:
        row = replace(row, default_key="")  # it can sign in without a key
    return replace(
        row, url=named.base_url or row.url,
        api_path=named.api_path or row.api_path,
        auth=(named.auth or "").strip().lower() or row.auth,
        headers=(*row.headers, *named.headers.items()),
        vision=row.vision if named.vision is None else named.vision,
        native_tools=row.native_tools if named.native_tools is None
        else named.native_tools)


def _foreign(name: str, named: Named) -> Vendor:
    """The row of a provider that another package brings."""
    try:
        REGISTRY.load(name)
    except ConfigError:
        raise unknown(name, named) from None
    return Vendor(name, name, "", plugin=name, default_key="")


def unknown(name: str, named: Named) -> ConfigError:
    """The error for a name that nothing has."""
    low = name.lower()
    near = nearest(low, {*vendor_names(), *named} - {"none"}, 0.7)
    if low in _ELSEWHERE:
        hint = _ELSEWHERE[low]
    elif low.startswith(("http://", "https://")):
        hint = f"did you mean custom:{name}?"
    else:
        hint = (f'did you mean "{near}"? ' if near
                else "see: claw provider list --all. ")
        hint += ("Any other server: custom:http://HOST/v1, or "
                 "anthropic-custom:http://HOST where it speaks the Messages "
                 "API")
    return UnknownNameError(f"unknown provider: {name!r}", name, hint=hint)
