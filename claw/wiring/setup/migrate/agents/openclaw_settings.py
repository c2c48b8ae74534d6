"""openclaw.json, its .env and its key files as claw's settings."""

from collections.abc import Iterator, Mapping
from typing import Any

from claw.wiring.setup.migrate import Setting
from claw.wiring.setup.migrate.agents.channel_tables import list_channel
from claw.wiring.setup.migrate.agents.common import get, leaves, texts
from claw.wiring.setup.migrate.agents.mcp_servers import list_servers
from claw.wiring.setup.migrate.agents.providers import (
    HeldProvider,
    choose_model,
    list_env_keys,
    list_provider_settings,
)
from claw.wiring.setup.migrate.reading.env_file import Opener
from claw.wiring.setup.migrate.reading.source import Source

_WIRES = {"openai-completions": "chat_completions",
          "openai-responses": "responses"}
# What is read elsewhere, or says nothing to another agent.
_READ = {("models", "providers"), ("env",), ("channels",), ("meta",),
         ("wizard",), ("agents", "defaults", "model"),
         ("agents", "defaults", "models"), ("agents", "defaults",
                                            "workspace"),
         ("agents", "list"), ("mcp", "servers"), ("auth",), ("plugins",),
         ("$schema",), ("tools", "web", "search", "apiKey")}
_DEEP = 3  # parts of a name under which what claw lacks is told


def list_settings(config: Mapping[str, Any], env: Mapping[str, str],
                  home: Source) -> Iterator[Setting]:
    """What is set, each with claw's name for it or none."""
    opener = Opener({**env, **_config_env(config)})
    yield from _list_models(config, opener, home)
    yield from _list_channels(config, opener, home)
    yield from list_servers(opener.open(get(config, "mcp", "servers")),
                            "mcp.servers")
    search = opener.open(get(config, "tools", "web", "search"))
    if isinstance(get(search, "apiKey"), str) \
            and get(search, "provider") in (None, "brave"):
        yield Setting("tools.web.search.apiKey",
                      ("web_search", "brave_api_key"), search["apiKey"])
    yield from _list_approvals(home)
    yield from _list_rest(config)


def _config_env(config: Mapping[str, Any]) -> dict[str, str]:
    held = get(config, "env")
    inner = get(held, "vars")
    return {str(key): value
            for part in (held, inner) if isinstance(part, dict)
            for key, value in part.items() if isinstance(value, str)}


def _list_models(config: Mapping[str, Any], opener: Opener, home: Source
                 ) -> Iterator[Setting]:
    chosen = get(config, "agents", "defaults", "model")
    fallbacks = texts(get(chosen, "fallbacks"))
    if isinstance(chosen, dict):
        chosen = chosen.get("primary")
    provider = None
    if isinstance(chosen, str) and chosen.strip():
        chosen = _resolve_alias(config, chosen.strip())
        provider, model = choose_model(chosen)
        custom = get(config, "models", "providers")
        head, _, rest = chosen.partition("/")
        if provider is None and isinstance(custom, dict) and head in custom:
            provider, model = head, rest
        where = "agents.defaults.model"
        if provider is None:
            yield Setting(where, None, None, f"{chosen}: its provider is "
                          "none that claw knows")
        else:
            yield Setting(where, ("default_provider",), provider)
            yield Setting(where, ("default_model",), model)
    for name in fallbacks:
        yield Setting("agents.defaults.model.fallbacks", None, None,
                      f"{name}: claw names providers to fall back on, see "
                      "reliability.fallback_providers")
    yield from list_provider_settings(
        [*_list_providers(config, opener), *_list_profiles(home, opener),
         *list_env_keys(opener.env, ".env")], provider)


def _resolve_alias(config: Mapping[str, Any], name: str) -> str:
    catalog = get(config, "agents", "defaults", "models")
    if isinstance(catalog, dict) and name not in catalog:
        for full, entry in catalog.items():
            if name in (entry, get(entry, "alias")):
                return str(full)
    return name


def _list_providers(config: Mapping[str, Any], opener: Opener
                    ) -> Iterator[HeldProvider]:
    held = get(config, "models", "providers")
    for name, entry in held.items() if isinstance(held, dict) else ():
        if not isinstance(entry, dict):
            continue
        opened = opener.open(entry)
        key, url = opened.get("apiKey"), opened.get("baseUrl")
        headers = opened.get("headers")
        yield HeldProvider(
            str(name), f"models.providers.{name}",
            url if isinstance(url, str) else "",
            key if isinstance(key, str) else "",
            _WIRES.get(str(opened.get("api")), ""),
            {str(k): v for k, v in headers.items() if isinstance(v, str)}
            if isinstance(headers, dict) else {})


def _list_profiles(home: Source, opener: Opener) -> Iterator[HeldProvider]:
    """auth-profiles.json of each agent."""
    for agent in home.names("agents", folders=True):
        name = f"agents/{agent}/agent/auth-profiles.json"
        profiles = get(home.json(name), "profiles")
        for label, entry in (profiles.items() if isinstance(profiles, dict)
                             else ()):
            vendor = get(entry, "provider") or str(label).partition(":")[0]
            key = opener.open(get(entry, "key") or get(entry, "apiKey")
                              or get(entry, "token"))
            if isinstance(vendor, str) and isinstance(key, str) and key:
                yield HeldProvider(vendor, f"{name}: {label}", api_key=key)
            elif get(entry, "type") == "oauth":
                home.note(f"{label} is a sign-in of OpenClaw's, not a key: "
                          "give claw a key of its own")


def _list_channels(config: Mapping[str, Any], opener: Opener,
                   home: Source) -> Iterator[Setting]:
    held = get(config, "channels")
    for name, table in held.items() if isinstance(held, dict) else ():
        if isinstance(table, dict) and name != "defaults":
            opened = dict(opener.open(table))
            account = get(opened, "accounts", "default")
            others = opened.pop("accounts", None)
            if isinstance(account, dict):
                opened = {**opened, **account}
            if isinstance(others, dict) and len(others) > 1:
                home.note(f"claw has one account of {name}: the others are "
                          "left out")
            paired = _paired(home, name)
            if paired:
                opened["allowFrom"] = [*texts(opened.get("allowFrom")),
                                       *paired]
            yield from list_channel(str(name), opened, f"channels.{name}")


def _paired(home: Source, name: str) -> list[str]:
    """Who was let in by a code."""
    return [each for ending in ("", "-default")
            for each in texts(get(home.json(
                f"credentials/{name}{ending}-allowFrom.json"),
                "allowFrom"))] if "/" not in name else []


def _list_approvals(home: Source) -> Iterator[Setting]:
    agents = get(home.json("exec-approvals.json"), "agents")
    patterns = [str(get(entry, "pattern"))
                for agent in (agents.values() if isinstance(agents, dict)
                              else ())
                for entry in get(agent, "allowlist") or ()
                if isinstance(get(entry, "pattern"), str)]
    if patterns:
        names = sorted({pattern.rstrip("/*").rpartition("/")[2]
                        for pattern in patterns} - {""})
        yield Setting("exec-approvals.json", ("autonomy",
                                              "allowed_commands", "+"),
                      names)


def _list_rest(config: Mapping[str, Any]) -> Iterator[Setting]:
    """What claw has no setting for, under the first parts of its name."""
    told = set()
    for path, _ in leaves(config):
        if any(path[:len(read)] == read for read in _READ):
            continue
        name = ".".join(path[:_DEEP])
        if name not in told:
            told.add(name)
            yield Setting(name, None, None, "claw has no such setting")
