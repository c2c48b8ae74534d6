"""Settings -> the configured embedder.

Which provider, model, length and key follows from [memory] and, where
memory.embedding_model is "hint:<name>", from [[embedding_routes]]. A key
goes to no other vendor than its own: the chat provider's is never looked
at. A missing key is said when something is to be embedded, so that it
keeps nobody from their memories.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from claw.config.tree import Tree
from claw.core.embedding import EmbeddingProvider
from claw.core.errors import AuthError, ClawError, ConfigError
from claw.core.registry import nearest
from claw.core.value import Value, hidden
from claw.memory.embeddings import REGISTRY
from claw.memory.embeddings.connection import Connection
from claw.memory.embeddings.local import models_folder
from claw.memory.embeddings.settings import EmbeddingRouteSettings
from claw.memory.settings import MemorySettings
from claw.net.addresses import is_loopback
from claw.providers.catalog.keys import Key, check_prefix, check_sendable
from claw.providers.catalog.vendors import Vendor, find_vendor

DEFAULT_MODEL = MemorySettings().embedding_model
_HINT = "hint:"
_CUSTOM = "custom:"
_VENDORS = ("openai", "openrouter")
# User, password and query of an address.
_SECRETS = re.compile(r"(?<=//)[^/@]*@|\?.*")
_SET_KEY = "claw config set memory.embedding_api_key"


class Choice(Value):
    """What is to be embedded with. `provider` is "" for nothing; `origin`
    is the setting that `key` stands in."""

    provider: str
    model: str
    dimensions: int
    key: str = hidden(default="")
    origin: str = "memory.embedding_api_key"


class _UnknownEmbedder(ConfigError):
    """Nothing has this name."""


def build_embedder(tree: Tree, *, env: Mapping[str, str] | None = None,
                notify: Callable[[str], None] | None = None,
                transport: Any = None) -> EmbeddingProvider | None:
    """What [memory] asks for, None for "none" and for a name that nothing
    has: memories are found by words then. Raises ConfigError for settings
    that can't be.

    `notify` hears of such a name and of a route that can't be used
    (default: the warnings of the tree); `transport` replaces the network
    in tests.
    """
    notify = notify or tree.warn
    chosen = choose_embedder(tree, notify)
    if not chosen.provider:
        return None
    env = os.environ if env is None else env
    name, _, address = chosen.provider.partition(":")
    try:
        plug_in = _load_plug_in(name if address else chosen.provider,
                                chosen.provider)
    except _UnknownEmbedder as error:
        notify(f"{error.message} ({error.hint}); memories are found by "
               "words alone")
        return None
    connection = _connection(chosen, env, tree, transport)
    build = getattr(plug_in, "build", None)
    embedder: EmbeddingProvider = build(connection) if build else plug_in()
    if not connection.url:
        return embedder
    from claw.wiring.models.metered import Meter, MeteredEmbedder
    return MeteredEmbedder(embedder, Meter(
        tree, "embedding", chosen.provider, connection.model,
        local=is_loopback(connection.url), notify=notify))


def choose_embedder(tree: Tree, notify: Callable[[str], None]) -> Choice:
    """The settings, with the route of a hint put in."""
    memory = tree.decode("memory", MemorySettings)
    base = Choice(_canonical(memory.embedding_provider),
                  memory.embedding_model.strip(),
                  memory.embedding_dimensions, memory.embedding_api_key)
    if not base.model.lower().startswith(_HINT):
        return base
    hint = base.model[len(_HINT):].strip()
    found, problem = _route(tree, hint, base)
    if found is not None:
        return found
    notify(f"memory.embedding_model: {base.model}: {problem}; the other "
           "settings of [memory] are used")
    if base.provider.startswith(_CUSTOM):
        raise ConfigError(
            f"memory.embedding_model: {base.model}: {problem}",
            hint="correct [[embedding_routes]], or name a model")
    return Choice(base.provider, DEFAULT_MODEL, base.dimensions, base.key)


def _route(tree: Tree, hint: str, base: Choice
           ) -> tuple[Choice | None, str]:
    """The route of a hint, or why it can't be used."""
    for number in range(len(tree.get("embedding_routes") or ())):
        path = ("embedding_routes", str(number))
        row = tree.decode(path, EmbeddingRouteSettings)
        if row.hint.strip() != hint:
            continue
        if not row.provider.strip() or not row.model.strip():
            return None, "its route has no provider or no model"
        if row.dimensions == 0:
            return None, "its route has 0 dimensions"
        return _routed(row, base, ".".join((*path, "api_key"))), ""
    return None, "there is no such route in [[embedding_routes]]"


def _routed(row: EmbeddingRouteSettings, base: Choice, origin: str
            ) -> Choice:
    """A key of its own goes first; that of [memory] only to the provider
    that it was set for."""
    provider = _canonical(row.provider)
    dimensions = row.dimensions or base.dimensions
    own = (row.api_key or "").strip()
    if not own:
        own = base.key if base.provider in ("", provider) else ""
        origin = base.origin
    return Choice(provider, row.model.strip(), dimensions, own, origin)


def _canonical(name: str) -> str:
    """A provider's name in lower case, the address of custom:URL as it
    is; "" for "none" and "noop"."""
    name = name.strip()
    if name.lower().startswith(_CUSTOM):
        return _CUSTOM + name[len(_CUSTOM):].strip()
    found = name.lower()
    return "" if found in ("none", "noop") else found


def _load_plug_in(name: str, given: str) -> Any:
    if given in ("custom", _CUSTOM):
        raise ConfigError(
            "memory.embedding_provider: custom has no address",
            hint="e.g. custom:http://localhost:11434/v1")
    known = name in REGISTRY.names() or name in REGISTRY.foreign_names()
    if not known or (name != given and name != "custom"):
        raise _unknown(given)
    return REGISTRY.load(name)


def _unknown(name: str) -> _UnknownEmbedder:
    name = _SECRETS.sub("", name)[:100]
    near = nearest(name, ["none", *REGISTRY.names()])
    vendor = find_vendor(name)
    if name.startswith(("http://", "https://")):
        hint = f"did you mean custom:{name}?"
    elif vendor is not None and vendor.url:
        base = vendor.url + "/v1" * (vendor.plugin == "ollama")
        hint = f"if it offers embeddings: custom:{base}"
    elif near:
        hint = f'did you mean "{near}"?'
    else:
        hint = "one of: none, local, openai, openrouter, custom:URL"
    return _UnknownEmbedder(
        f"memory.embedding_provider: nothing is called {name!r}", hint=hint)


def _connection(chosen: Choice, env: Mapping[str, str], tree: Tree,
                transport: Any) -> Connection:
    models = models_folder(tree.places.home, env)
    model = chosen.model
    if chosen.provider == "local":
        # The default of [memory] is a model of OpenAI's.
        return Connection("local", "" if model == DEFAULT_MODEL else model,
                          models=models, env=env)
    vendor = find_vendor(chosen.provider) \
        if chosen.provider in _VENDORS else None
    url = _url(chosen, vendor, env)
    if url:
        _check(chosen, url)
    key, error = _key(chosen, vendor, env)
    if chosen.provider == "openrouter" and model.startswith("text-embed"):
        model = f"openai/{model}"  # as it is called there
    return Connection(
        chosen.provider, model, chosen.dimensions, url,
        vendor.headers if vendor else (), key, error, models, env, transport)


def _url(chosen: Choice, vendor: Vendor | None, env: Mapping[str, str]
         ) -> str:
    """The base address; "" for a plug-in of another package. The address of
    the environment goes with the key of the environment, and with no
    other."""
    if vendor is None:
        return chosen.provider.removeprefix(_CUSTOM) \
            if chosen.provider.startswith(_CUSTOM) else ""
    own = env.get("OPENAI_BASE_URL", "").strip()
    is_ours = vendor.name == "openai" and not chosen.key.strip()
    return own if own and is_ours else vendor.url


def _check(chosen: Choice, url: str) -> None:
    """Raises ConfigError for what no request can be made of."""
    if not chosen.model:
        raise ConfigError(
            "memory.embedding_model is empty",
            hint=f"claw config set memory.embedding_model {DEFAULT_MODEL}")
    if chosen.dimensions <= 0:
        raise ConfigError(
            "memory.embedding_dimensions is 0",
            hint="set it to the length of the model's vectors, e.g. 1536")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) \
            and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            f"memory.embedding_provider: {_SECRETS.sub('', url)[:100]!r} "
            "is no address",
            hint="it must start with http:// or https://, e.g. "
                 "custom:http://localhost:11434/v1")
    if parts.username is not None:
        raise ConfigError(
            "memory.embedding_provider: no user or password in an address",
            hint=f"set the key with: {_SET_KEY}")


def _key(chosen: Choice, vendor: Vendor | None, env: Mapping[str, str]
         ) -> tuple[str | None, ClawError | None]:
    """The key to send, or the error of a missing or a wrong one."""
    found = Key(chosen.key.strip() or None, chosen.origin)
    if found.value is None and vendor is not None:
        name = next((k for k in vendor.keys if env.get(k, "").strip()), None)
        if name is None:
            return None, AuthError(
                f"{vendor.name}: no key for embeddings is set",
                hint=f"set {vendor.keys[0]}, or: {_SET_KEY}")
        found = Key(env[name].strip(), name)
    if found.value is None:
        return None, None
    try:
        check_sendable(found)
        if vendor is not None:
            check_prefix(vendor, found)
    except ClawError as error:
        error.hint = f"set it anew with: {_SET_KEY}"
        return None, error
    return found.value, None
