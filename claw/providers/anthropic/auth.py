"""Where the Messages API is, and as whom it is asked. Pure.

A key goes in x-api-key; a token of a sign-in, or of `claude setup-token`,
as a bearer. Source: spec/agent.md 2.3.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from claw.core.errors import AuthError
from claw.providers.catalog.keys import how_to_set
from claw.providers.catalog.vendors import Vendor

VERSION = "2023-06-01"
SETUP_TOKEN = "sk-ant-oat01-"
_SETUP_BETAS = ("claude-code-20250219,oauth-2025-04-20,"
                "interleaved-thinking-2025-05-14")
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN")


def endpoints(base: str, api_path: str | None = None) -> tuple[str, str]:
    """The addresses for messages and for the list of models.

    A base may end before /v1, in /v1 or in /v1/messages; `api_path` goes
    on it in place of /v1/messages. A query stays at the end.
    """
    scheme, netloc, path, query, _ = urlsplit(base.strip())
    path = path.rstrip("/")
    root = path.removesuffix("/messages") \
        if path.endswith("/v1/messages") else path
    root = root if root.endswith("/v1") else f"{root}/v1"
    chat = f"{path}/{api_path.strip().lstrip('/')}" if api_path \
        else f"{root}/messages"
    return (urlunsplit((scheme, netloc, chat, query, "")),
            urlunsplit((scheme, netloc, f"{root}/models", query, "")))


def auth_style(said: str, of_row: str, key: str) -> str:
    """How a key is sent: as [model_providers.<name>] says, in the row's own
    header, or by the looks of it. Tokens of a sign-in have two dots or the
    prefix of a setup token; everything else is a key."""
    said = said.strip().lower()
    if said:
        return said
    if of_row not in ("", "bearer", "x-api-key"):
        return of_row
    token = key.startswith(SETUP_TOKEN) or key.count(".") >= 2
    return "bearer" if token else "x-api-key"


def is_setup_token(key: str, style: str) -> bool:
    return style == "bearer" and key.startswith(SETUP_TOKEN)


def headers_for(vendor: Vendor, key: str | None, style: str,
                extra: Mapping[str, str]) -> dict[str, str]:
    """Key and other headers of a request; `extra` wins, but for the betas
    that a setup token needs."""
    headers = {"anthropic-version": VERSION}
    headers |= {name.lower(): value for name, value in vendor.headers}
    if key:
        if style == "bearer":
            headers["authorization"] = f"Bearer {key}"
        else:
            headers[style] = key
    headers |= {name.lower(): value for name, value in extra.items()}
    if key and is_setup_token(key, style):
        more = headers.get("anthropic-beta")
        headers["anthropic-beta"] = ",".join(
            (_SETUP_BETAS, more) if more else (_SETUP_BETAS,))
        headers["anthropic-dangerous-direct-browser-access"] = "true"
    return headers


def key_hint(vendor: Vendor) -> str:
    """How to set a vendor's key."""
    name = next((k for k in vendor.keys if k.endswith("_API_KEY")),
                vendor.keys[0] if vendor.keys else "CLAW_API_KEY")
    return f"set {name}, or: {how_to_set(vendor)}"


def no_key(vendor: Vendor) -> AuthError:
    names = " or ".join(dict.fromkeys((*_KEYS, *vendor.keys)))
    return AuthError(f"{vendor.title} API key not set ({names})",
                     hint=key_hint(vendor))
