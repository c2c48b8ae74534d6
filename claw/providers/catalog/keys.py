"""Which key a provider is sent, and where it was found. Pure.

Order: given outright, the provider's own variables, then CLAW_API_KEY,
ZEROCLAW_API_KEY and API_KEY. Values are trimmed; empty counts as absent.
"""

from collections.abc import Mapping

from claw.core.errors import AuthError, ConfigError
from claw.core.value import Value, hidden
from claw.providers.catalog.vendors import Vendor, find_vendor

GENERIC = ("CLAW_API_KEY", "ZEROCLAW_API_KEY", "API_KEY")

# The more telling prefix first.
_PREFIXES = (("sk-ant-", "anthropic"), ("sk-or-", "openrouter"),
             ("gsk_", "groq"), ("pplx-", "perplexity"), ("xai-", "xai"),
             ("nvapi-", "nvidia"), ("KEY-", "telnyx"), ("sk-", "openai"))


class Key(Value):
    """A key and where it came from: "given", a variable's name, "built in"
    (what a local server is sent), or "none"."""

    value: str | None = hidden()
    origin: str


def find_key(vendor: Vendor, env: Mapping[str, str],
             explicit: str | None = None,
             explicit_origin: str = "given") -> Key:
    """The key for a vendor. Raises ConfigError for a value that is still
    encrypted, AuthError for one that is clearly another vendor's."""
    found = Key(None, "none")
    if (explicit or "").strip():
        found = Key((explicit or "").strip(), explicit_origin)
    else:
        for name in (*vendor.keys, *GENERIC):
            if env.get(name, "").strip():
                found = Key(env[name].strip(), name)
                break
    if found.value is None:
        return Key(None, "built in") if vendor.default_key else found
    check_sendable(found)
    check_prefix(vendor, found)
    return found


def how_to_set(vendor: Vendor) -> str:
    """The command that keeps a vendor's key; an address has no name to
    keep it under."""
    place = "api_key" if ":" in vendor.name else \
        f"model_providers.{vendor.name}.api_key"
    return f"claw config set {place}"


def check_sendable(key: Key) -> None:
    """Raises ConfigError for a sealed value or one no header can hold."""
    value = key.value or ""
    if value.startswith(("enc2:", "enc:")):
        raise ConfigError(
            f"the API key ({key.origin}) is still encrypted",
            hint="the secret key file may be missing; set it anew with: "
                 "claw config set api_key")
    if not value.isascii() or not value.isprintable():
        raise ConfigError(
            f"the API key ({key.origin}) holds characters that no key has",
            hint="copy it again")


def check_prefix(vendor: Vendor, key: Key) -> None:
    """Raises AuthError when the shape of the key names another vendor. At
    an address of one's own keys may look like anything."""
    usual = find_vendor(vendor.name)
    if usual is None or vendor.url != usual.url \
            or vendor.name not in {owner for _, owner in _PREFIXES}:
        return
    value = key.value or ""
    owner = next((o for p, o in _PREFIXES if value.startswith(p)), None)
    if owner is not None and owner != vendor.name:
        raise AuthError(
            f"the key {value[:8]}... ({key.origin}) looks like one of "
            f"{owner}, not of {vendor.name}",
            hint=f"choose it with -p {owner}, or set {vendor.keys[0]}")
