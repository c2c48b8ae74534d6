"""Where requests to a vendor go, and with which headers. Pure."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from claw.net.errors import Peer
from claw.providers.catalog.keys import how_to_set
from claw.providers.catalog.local import is_model_name
from claw.providers.catalog.vendors import Vendor, display_name
from claw.providers.settings import SLOW_HINT


def endpoints(base: str, api_path: str | None = None) -> tuple[str, str]:
    """The addresses for chat and for the list of models.

    `api_path` goes on the base; a base that ends in /chat/completions is
    the chat address itself. A query stays at the end.
    """
    path, whole = _split(base)
    root = _root(path)
    if api_path:
        chat = f"{path}/{api_path.strip().lstrip('/')}"
    else:
        chat = f"{root}/chat/completions"
    return whole(chat), whole(f"{root}/models")


def responses_endpoint(base: str, api_path: str | None = None) -> str:
    """The address of the Responses API: beside that of chat, at
    /v1/responses where the base has no path. An `api_path` that ends in
    "responses" is its path."""
    path, whole = _split(base)
    if api_path and api_path.rstrip("/").endswith("responses"):
        return whole(f"{path}/{api_path.strip().lstrip('/')}")
    return whole(f"{_root(path) or '/v1'}/responses")


def _split(base: str) -> tuple[str, Callable[[str], str]]:
    """The path of an address, and how to put another one in its place."""
    scheme, netloc, path, query, _ = urlsplit(base.strip())
    return path.rstrip("/"), lambda other: urlunsplit(
        (scheme, netloc, other, query, ""))


def _root(path: str) -> str:
    return path.removesuffix("/chat/completions").removesuffix("/responses")


def headers_for(vendor: Vendor, key: str | None,
                extra: Mapping[str, str]) -> dict[str, str]:
    """Key and other headers of a request; `extra` wins."""
    headers = dict(vendor.headers)
    if key:
        if vendor.auth == "bearer":
            headers["authorization"] = f"Bearer {key}"
        else:
            headers[vendor.auth] = key
    return headers | dict(extra)


def key_hint(vendor: Vendor) -> str:
    """How to set a vendor's key."""
    name = vendor.keys[0] if vendor.keys else "CLAW_API_KEY"
    return f"set {name}, or: {how_to_set(vendor)}"


def build_peer(vendor: Vendor, key: str | None) -> Peer:
    return Peer(vendor.title, secrets=(key,) if key else (),
                key_hint=key_hint(vendor), start_hint=vendor.start_hint,
                slow_hint=SLOW_HINT,
                models_hint="claw provider models "
                            + display_name(vendor.name))


def model_names(data: Any) -> list[str]:
    """Names in an answer to GET /models, in any of its shapes. Raises
    ValueError when it is no list of models."""
    rows = data
    if isinstance(data, dict):
        rows = data.get("data", data.get("models"))
    if not isinstance(rows, list):
        raise ValueError("no list of models")
    names = [row if isinstance(row, str) else
             row.get("id") or row.get("name") or row.get("model")
             for row in rows if isinstance(row, str | dict)]
    return list(filter(is_model_name, names))
