"""Settings that come from environment variables.

CLAW_<SECTION>__<KEY> (deeper tables with more __, any case) reaches every
setting; a table of short names keeps the reference's overrides alive,
with CLAW_ or ZEROCLAW_ in front. Empty values count as unset. API keys
(CLAW_API_KEY, ZEROCLAW_API_KEY, API_KEY and the vendors' own) are not
here: the providers rank them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from claw.config.keys import Path
from claw.core.errors import ConfigError
from claw.core.value import Value

BOOLEANS = {"1": True, "true": True, "yes": True, "on": True,
            "0": False, "false": False, "no": False, "off": False}


class Override(Value):
    """One setting from one variable; `text` is the value as it stood."""

    path: Path
    value: Any
    variable: str
    text: str


def parse_value(text: str) -> Any:
    """A TOML number, truth value, list or table; else the text itself."""
    if "\n" in text or text.strip()[:1] not in set("tf\"'[{+-0123456789"):
        return text
    try:
        from claw.config.parse import parse
        value = parse(f"v = {text}", "value")["v"]
    except ConfigError:
        return text
    return value if isinstance(
        value, int | float | str | list | dict) else text


def _parse_boolean(text: str) -> bool:
    if text.lower() not in BOOLEANS:
        raise ValueError("expected true or false")
    return BOOLEANS[text.lower()]


def _parse_within(low: float, high: float, kind: type[int] | type[float]
            ) -> Callable[[str], float]:
    def read(text: str) -> float:
        number = kind(text)
        if not low <= number <= high:
            raise ValueError(f"expected a number from {low} to {high}")
        return number
    return read


def _parse_headers(text: str) -> dict[str, str]:
    """{"K": "V", "K2": "V2"} of "K:V,K2:V2"."""
    pairs = (part.partition(":") for part in text.split(",") if ":" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _split_names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


_SECONDS = _parse_within(1, 86_400, int)

# The reference's short names, after CLAW_ or ZEROCLAW_; a later row wins.
_SHORT: dict[str, tuple[Path, Callable[[str], Any]]] = {
    "DEFAULT_PROVIDER": (("default_provider",), str),
    "DEFAULT_MODEL": (("default_model",), str),
    "DEFAULT_TEMPERATURE": (("default_temperature",),
                            _parse_within(0, 2, float)),
    "API_URL": (("api_url",), str),
    "API_PATH": (("api_path",), str),
    "LOCALE": (("locale",), str),
    "MODEL_PROVIDER": (("default_provider",), str),
    "PROVIDER": (("default_provider",), str),
    "MODEL": (("default_model",), str),
    "TEMPERATURE": (("default_temperature",), _parse_within(0, 2, float)),
    "PROVIDER_TIMEOUT_SECS": (("provider_timeout_secs",), _SECONDS),
    "EXTRA_HEADERS": (("extra_headers",), _parse_headers),
    "GATEWAY_PORT": (("gateway", "port"), _parse_within(1, 65_535, int)),
    "GATEWAY_HOST": (("gateway", "host"), str),
    "ALLOW_PUBLIC_BIND": (("gateway", "allow_public_bind"), _parse_boolean),
    "REASONING_ENABLED": (("runtime", "reasoning_enabled"), _parse_boolean),
    "REASONING_EFFORT": (("runtime", "reasoning_effort"), str),
    "OPEN_SKILLS_ENABLED": (("skills", "open_skills_enabled"), _parse_boolean),
    "OPEN_SKILLS_DIR": (("skills", "open_skills_dir"), str),
    "SKILLS_ALLOW_SCRIPTS": (("skills", "allow_scripts"), _parse_boolean),
    "SKILLS_PROMPT_MODE": (("skills", "prompt_injection_mode"), str),
    "WEB_SEARCH_ENABLED": (("web_search", "enabled"), _parse_boolean),
    "WEB_SEARCH_PROVIDER": (("web_search", "provider"), str),
    "WEB_SEARCH_MAX_RESULTS": (("web_search", "max_results"),
                               _parse_within(1, 10, int)),
    "WEB_SEARCH_TIMEOUT_SECS": (("web_search", "timeout_secs"), _SECONDS),
    "STORAGE_PROVIDER": (("storage", "provider", "config", "provider"), str),
    "STORAGE_DB_URL": (("storage", "provider", "config", "db_url"), str),
    "STORAGE_CONNECT_TIMEOUT_SECS": (
        ("storage", "provider", "config", "connect_timeout_secs"), _SECONDS),
    "HTTP_PROXY": (("proxy", "http_proxy"), str),
    "HTTPS_PROXY": (("proxy", "https_proxy"), str),
    "ALL_PROXY": (("proxy", "all_proxy"), str),
    "NO_PROXY": (("proxy", "no_proxy"), _split_names),
    "PROXY_ENABLED": (("proxy", "enabled"), _parse_boolean),
    "PROXY_SCOPE": (("proxy", "scope"), str),
    "PROXY_SERVICES": (("proxy", "services"), _split_names),
}
# Names without a prefix. Bare HOST, PORT, MODEL and PROVIDER are left
# alone: shells and CI set them for other reasons.
_BARE: dict[str, Path] = {
    "BRAVE_API_KEY": ("web_search", "brave_api_key"),
    "SEARXNG_INSTANCE_URL": ("web_search", "searxng_instance_url"),
    "PUSHOVER_TOKEN": ("pushover", "token"),
    "PUSHOVER_USER_KEY": ("pushover", "user_key"),
}


def overrides(env: Mapping[str, str], raw: Mapping[str, Any],
              warn: Callable[[str], None]) -> Iterator[Override]:
    """Every setting of the environment, weakest first.

    `raw` is the tree of the file: a part of a name that matches one of
    its keys, whatever the case, means that key. A short name with a
    value that cannot be right is reported to `warn` and left out.
    """
    ours = sorted(name for name in env
                  if name.upper().startswith(("CLAW_", "ZEROCLAW_"))
                  and env[name].strip())
    for variable, path in _BARE.items():
        if env.get(variable, "").strip():
            yield Override(path, env[variable], variable, env[variable])
    for prefix in ("ZEROCLAW_", "CLAW_"):
        by_rest = {name.upper()[len(prefix):]: name for name in ours
                   if name.upper().startswith(prefix)}
        yield from _read_short_names(by_rest, env, warn)
    for variable in ours:
        rest = variable.upper().removeprefix("CLAW_")
        parts = [part for part in rest.split("__") if part]
        if rest != variable.upper() and "__" in rest and parts:
            text = env[variable]
            yield Override(_resolve(parts, raw), parse_value(text),
                           variable, text)


def _read_short_names(by_rest: Mapping[str, str], env: Mapping[str, str],
                warn: Callable[[str], None]) -> Iterator[Override]:
    for rest, (path, read) in _SHORT.items():
        if rest not in by_rest:
            continue
        variable = by_rest[rest]
        text = env[variable].strip()
        try:
            yield Override(path, read(text), variable, text)
        except ValueError as error:
            reason = str(error).partition(":")[0]
            warn(f"environment {variable}: ignored: {reason}")


def _resolve(parts: list[str], raw: Mapping[str, Any]) -> Path:
    """The path that a variable's parts mean in this tree."""
    path: Path = ()
    node: Any = raw
    for part in parts:
        table = node if isinstance(node, Mapping) else {}
        key = next((k for k in table if _fold(k) == part), part.lower())
        path += (key,)
        node = table.get(key)
    return path


def _fold(key: str) -> str:
    """A key as a variable would spell it: MY_HOST for my-host."""
    return "".join(c if c.isalnum() else "_" for c in key).upper()
