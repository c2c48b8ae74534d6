"""Checks that look at values together, for `config check` and doctor.

Types and single values are the plug-ins' business (their structs); here
stand the rules across keys, and those of sections that no plug-in reads yet.
"""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal

from claw.config.keys import Path, join_key, split_key
from claw.config.tree import Tree
from claw.core.value import Value

Level = Literal["error", "warning", "note"]

# What may name the memory backend.
BACKEND_KEYS = ("memory.backend", "storage.provider.config.provider")
_ACTION = re.compile(r"[A-Za-z0-9_-]+\Z")
_DOMAIN = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TRANSCRIBERS = ("groq", "openai", "deepgram", "assemblyai", "google",
                 "local_whisper", "command")


class Finding(Value):
    """Something about one setting; `line` is None outside the file.

    "error": claw will refuse it; "warning": likely a mistake; "note":
    known, but without effect.
    """

    key: str
    line: int | None
    message: str
    hint: str | None = None
    level: Level = "error"

    @property
    def text(self) -> str:
        """One sentence with its place."""
        place = f"config.toml:{self.line}: " if self.line else ""
        return f"{place}{self.key}: {self.message}"


Found = Iterator[tuple[Path, str, str | None]]
Rule = Callable[[Tree], Found]


def findings(tree: Tree, backends: Collection[str] = (),
             head: str | None = None) -> list[Finding]:
    """Every rule that is broken, in the order of the rules; with `head`
    the rules that look at settings whose names begin so.

    `backends` are the memory backends there are; () leaves that out.
    Values of a wrong type are passed over: decoding reports them.
    """
    found = [found for heads, rule in _RULES
             if head is None or head in heads or not heads
             for found in rule(tree)]
    if backends:
        found += _memory_backend(tree, backends)
    return [Finding(join_key(path), tree.line(path), message, hint)
            for path, message, hint in found]


def _number(tree: Tree, dotted: str) -> float | None:
    value = tree.node_or(split_key(dotted))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


def _text(tree: Tree, dotted: str) -> str | None:
    value = tree.node_or(split_key(dotted))
    return value if isinstance(value, str) else None


def _texts(tree: Tree, dotted: str) -> list[tuple[Path, str]]:
    path = split_key(dotted)
    value = tree.node_or(path)
    return [((*path, str(i)), v) for i, v in enumerate(value)
            if isinstance(v, str)] if isinstance(value, list) else []


def _tables(tree: Tree, dotted: str) -> list[tuple[Path, dict[str, Any]]]:
    """The tables of a map or of an array of tables."""
    path = split_key(dotted)
    value = tree.node_or(path)
    items: Any = value.items() if isinstance(value, dict) else enumerate(
        value if isinstance(value, list) else [])
    return [((*path, str(key)), v) for key, v in items
            if isinstance(v, dict)]


def _is_web_url(value: Any) -> bool:
    return isinstance(value, str) and bool(
        re.match(r"https?://[^\s/]", value))


def _ranges(tree: Tree) -> Found:
    for dotted, low, high in _RANGES:
        value = _number(tree, dotted)
        if value is not None and not low <= value <= high:
            limit = (f"must be {low} or more" if high == float("inf")
                     else f"must be from {low} to {high}")
            yield split_key(dotted), limit, None


_INF = float("inf")
_RANGES: tuple[tuple[str, float, float], ...] = (
    ("default_temperature", 0, 2),
    ("provider_timeout_secs", 1, _INF),
    ("autonomy.max_actions_per_hour", 1, _INF),
    ("gateway.port", 1, 65_535),
    ("security.otp.token_ttl_secs", 1, _INF),
    ("security.otp.cache_valid_secs", 1, _INF),
    ("scheduler.max_concurrent", 1, _INF),
    ("scheduler.max_tasks", 1, _INF),
    ("memory.vector_weight", 0, _INF),
    ("memory.keyword_weight", 0, _INF),
    ("memory.min_relevance_score", 0, 1),
)


def _gateway(tree: Tree) -> Found:
    host = _text(tree, "gateway.host")
    if host is not None and not host.strip():
        yield (("gateway", "host"), "is blank",
               'e.g. host = "127.0.0.1"')
    prefix = _text(tree, "gateway.path_prefix")
    if prefix and (not prefix.startswith("/") or prefix.endswith("/")):
        yield (("gateway", "path_prefix"),
               'must start with "/" and not end with it',
               f'path_prefix = "/{prefix.strip("/")}"')


def _autonomy(tree: Tree) -> Found:
    for path, name in _texts(tree, "autonomy.shell_env_passthrough"):
        if not _VARIABLE.match(name):
            yield path, f"{name!r} is not a variable's name", None


def _security(tree: Tree) -> Found:
    ttl = _number(tree, "security.otp.token_ttl_secs") or 30
    cache = _number(tree, "security.otp.cache_valid_secs") or 300
    if cache < ttl:
        yield (("security", "otp", "cache_valid_secs"),
               f"must be at least token_ttl_secs ({ttl})", None)
    for path, action in _texts(tree, "security.otp.gated_actions"):
        if not _ACTION.match(action):
            yield path, f"{action!r} is not an action's name", None
    for path, domain in _texts(tree, "security.otp.gated_domains"):
        if not _DOMAIN.match(domain):
            yield path, f"{domain!r} is not a domain", 'e.g. "*.bank.com"'
    state = _text(tree, "security.estop.state_file")
    if state is not None and not state.strip():
        yield ("security", "estop", "state_file"), "is blank", None


def _routes(tree: Tree) -> Found:
    for array in ("model_routes", "embedding_routes"):
        for path, route in _tables(tree, array):
            # a model route without a provider has the default one
            for key in ("hint", "provider", "model"):
                if (key, array) != ("provider", "model_routes") \
                        and not str(route.get(key, "")).strip():
                    yield (*path, key), "is missing or blank", None


def _model_providers(tree: Tree) -> Found:
    for path, row in _tables(tree, "model_providers"):
        url = row.get("base_url")
        if not row.get("name") and not url:
            yield path, "is missing a name or a base_url", None
        if url and not _is_web_url(url):
            yield ((*path, "base_url"), "must start with http:// or "
                   "https://", 'e.g. "http://127.0.0.1:8080/v1"')
        wire = row.get("wire_api")
        if wire is not None and wire not in ("responses",
                                             "chat_completions"):
            yield ((*path, "wire_api"),
                   'must be "responses" or "chat_completions"', None)


def _ollama(tree: Tree) -> Found:
    model = _text(tree, "default_model") or ""
    if _text(tree, "default_provider") != "ollama" \
            or not model.endswith(":cloud"):
        return
    url = _text(tree, "api_url") or ""
    is_local = not url or "localhost" in url or "127.0.0.1" in url
    if is_local or not tree.has("api_key"):
        yield (("default_model",), f"{model} runs in the cloud and needs a "
               "remote api_url and an api_key",
               "set both, or choose a local model")


def _mcp(tree: Tree) -> Found:
    names: set[str] = set()
    for path, server in _tables(tree, "mcp.servers"):
        name = str(server.get("name", "")).strip()
        if not name:
            yield (*path, "name"), "is missing or blank", None
        elif name.lower() in names:
            yield (*path, "name"), f"{name!r} is there twice", None
        names.add(name.lower())
        transport = server.get("transport", "stdio")
        if transport == "stdio" \
                and not str(server.get("command", "")).strip():
            yield (*path, "command"), "is missing (transport stdio)", None
        if transport in ("http", "sse") \
                and not _is_web_url(server.get("url")):
            yield ((*path, "url"), "must start with http:// or https:// "
                   f"(transport {transport})", None)
        limit = server.get("tool_timeout_secs", 1)
        if isinstance(limit, int) and not 1 <= limit <= 600:
            yield ((*path, "tool_timeout_secs"), "must be from 1 to 600",
                   None)


def _delegates(tree: Tree) -> Found:
    for path, agent in _tables(tree, "agents"):
        if agent.get("agentic") is True and not agent.get("allowed_tools"):
            yield ((*path, "agentic"), "it has no tool to use",
                   "name them in allowed_tools, or set agentic to false")


def _swarms(tree: Tree) -> Found:
    known = [path[-1] for path, _ in _tables(tree, "agents")]
    for path, swarm in _tables(tree, "swarms"):
        agents = swarm.get("agents")
        if not agents:
            yield (*path, "agents"), "it has no agents", "name them"
        for name in agents if isinstance(agents, list) else ():
            if name not in known:
                yield ((*path, "agents"), f"there is no agent {name!r}",
                       "known: " + (", ".join(known) or "none"))


def _transcription(tree: Tree) -> Found:
    name = _text(tree, "transcription.default_provider")
    if name is not None and name not in _TRANSCRIBERS:
        yield (("transcription", "default_provider"),
               f"{name!r} is unknown", "one of: " + ", ".join(_TRANSCRIBERS))


def _memory(tree: Tree) -> Found:
    vector = _number(tree, "memory.vector_weight")
    keyword = _number(tree, "memory.keyword_weight")
    vector = 0.7 if vector is None else vector
    keyword = 0.3 if keyword is None else keyword
    if vector + keyword <= 0:
        yield (("memory", "keyword_weight"), "vector_weight and "
               "keyword_weight are both 0: nothing would ever be found",
               "the defaults are 0.7 and 0.3")
    embedder = _text(tree, "memory.embedding_provider") or "none"
    size = _number(tree, "memory.embedding_dimensions")
    if embedder != "none" and size is not None and size < 1:
        yield (("memory", "embedding_dimensions"),
               "must be 1 or more with an embedding_provider", None)


def _memory_backend(tree: Tree, backends: Collection[str]) -> Found:
    for dotted in BACKEND_KEYS:
        name = (_text(tree, dotted) or "").strip().lower()
        if name and name not in backends:
            yield (split_key(dotted), f"unknown memory backend {name!r}",
                   "one of: " + ", ".join(backends))


# What the names of the settings that a rule looks at begin with (() = it
# looks at many), and the rule.
_RULES: tuple[tuple[tuple[str, ...], Rule], ...] = (
    ((), _ranges),
    (("gateway",), _gateway),
    (("autonomy",), _autonomy),
    (("security",), _security),
    (("model_routes", "embedding_routes"), _routes),
    (("model_providers",), _model_providers),
    (("default_provider", "default_model", "api_url", "api_key"), _ollama),
    (("mcp",), _mcp),
    (("agents",), _delegates),
    (("swarms",), _swarms),
    (("transcription",), _transcription),
    (("memory",), _memory),
)
