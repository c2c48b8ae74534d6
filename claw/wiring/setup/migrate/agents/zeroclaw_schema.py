"""ZeroClaw's later config schemas, said in the first one. Pure.

What the first schema has no word for keeps its own name, so that it is
told as a setting that claw does not have.
Source: the reference's schema 2 and 3 and its migration, read 2026-11.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from claw.wiring.setup.migrate.agents.common import get, texts

Tree = dict[str, Any]
Note = Callable[[str], None]

NEWEST = 3
# Keys of [runtime_profiles.x] that the first schema has elsewhere.
_RUNTIME = {"max_actions_per_hour": ("autonomy", "max_actions_per_hour"),
            "max_cost_per_day_cents": ("autonomy", "max_cost_per_day_cents"),
            "shell_timeout_secs": ("shell_tool", "timeout_secs")}
_RISK = {"sandbox_enabled": ("security", "sandbox", "enabled"),
         "sandbox_backend": ("security", "sandbox", "backend"),
         "firejail_args": ("security", "sandbox", "firejail_args"),
         "excluded_tools": ("agent", "excluded_tools")}
_PROVIDER = {"uri": "base_url", "extra_headers": "headers"}
_RENAMED = ((("web_search", "search_provider"), ("web_search", "provider")),
            (("tunnel", "tunnel_provider"), ("tunnel", "provider")))


def to_first_schema(tree: Tree, note: Note) -> Tree:
    """The settings as schema 1 says them. `note` hears what is lost."""
    tree = copy.deepcopy(tree)
    version = tree.pop("schema_version", 1)
    if not isinstance(version, int):
        version = 1
    if version > NEWEST:
        note(f"config.toml is of schema {version}, which is newer than "
             f"{NEWEST}: what claw does not know of it is left out")
    if "channels" in tree and "channels_config" not in tree:
        tree["channels_config"] = tree.pop("channels")
    if version >= NEWEST:
        _rename(tree)
        _take_agents(tree, note)
        _take_channels(tree, note)
        _take_peers(tree)
        _take_jobs(tree)
    elif version == 2:
        _take_second_providers(tree)
    _drop_switched_off(tree, note)
    return tree


def _drop_switched_off(tree: Tree, note: Note) -> None:
    """A channel of claw's is on where it has a table."""
    held = tree.get("channels_config")
    channels: Tree = held if isinstance(held, dict) else {}
    for kind, table in list(channels.items()):
        if isinstance(table, dict) and table.pop("enabled", True) is False:
            del channels[kind]
            note(f"the channel {kind} is switched off in ZeroClaw and was "
                 "left out")


def _take_second_providers(tree: Tree) -> None:
    """[providers.models.openai] and [providers] fallback."""
    providers = tree.pop("providers", None)
    if not isinstance(providers, dict):
        return
    chosen = providers.pop("fallback", None)
    models = providers.pop("models", None)
    for name, entry in (models if isinstance(models, dict) else {}).items():
        if isinstance(entry, dict):
            _put_provider(tree, str(name), str(name), entry,
                          is_chosen=name == chosen)
    if isinstance(chosen, str):
        tree.setdefault("default_provider", chosen)
    for name, value in providers.items():  # routes, which moved in here
        tree.setdefault(name, value)


def _take_agents(tree: Tree, note: Note) -> None:
    """The first agent is claw itself, the others are its delegates."""
    models = get(tree.pop("providers", None), "models")
    agents = tree.pop("agents", None)
    agents = {str(name): agent for name, agent in agents.items()
              if isinstance(agent, dict)} if isinstance(agents, dict) else {}
    main = "default" if "default" in agents else next(iter(agents), None)
    main_agent = agents.get(main, {}) if main else {}
    chosen = main_agent.get("model_provider")
    for name, vendor, reference, entry in _list_providers(models):
        _put_provider(tree, name, vendor, entry,
                      is_chosen=reference == chosen)
    if isinstance(chosen, str) and chosen:
        vendor, _, alias = chosen.partition(".")
        tree.setdefault("default_provider",
                        vendor if alias in ("", "default") else alias)
    _take_profiles(tree, main_agent)
    for name, agent in agents.items():
        if name != main:
            tree.setdefault("agents", {})[name] = _delegate(agent, models)
            note(f"[agents.{name}] comes as a delegate with its model; what "
                 "else is said of it is left out")


def _list_providers(models: Any) -> Iterator[tuple[str, str, str, Tree]]:
    """(claw's name, vendor, the reference to it, entry) of each."""
    for vendor, aliases in (models.items() if isinstance(models, dict)
                            else ()):
        for alias, entry in (aliases.items() if isinstance(aliases, dict)
                             else ()):
            if isinstance(entry, dict):
                yield (vendor if alias == "default" else alias, vendor,
                       f"{vendor}.{alias}", entry)


def _put_provider(tree: Tree, name: str, vendor: str, entry: Tree, *,
                  is_chosen: bool) -> None:
    """One provider; the chosen one at the top level where nothing but
    key and model is said of it."""
    row = {_PROVIDER.get(key, key): value for key, value in entry.items()
           if value not in (None, "", {}, [])}
    if is_chosen:
        for key, top in (("model", "default_model"),
                         ("temperature", "default_temperature"),
                         ("timeout_secs", "provider_timeout_secs")):
            if key in row:
                tree.setdefault(top, row.pop(key))
        if name == vendor and "base_url" not in row and "api_key" in row:
            tree.setdefault("api_key", row.pop("api_key"))
    row.pop("name", None)
    if isinstance(row.get("base_url"), str):
        row["base_url"] = row["base_url"].removesuffix("/chat/completions")
    if row:
        if vendor != "custom":
            row["name"] = vendor
        tree.setdefault("model_providers", {})[name] = row


def _delegate(agent: Tree, models: Any) -> Tree:
    vendor, _, alias = str(agent.get("model_provider", "")).partition(".")
    alias = alias or "default"
    found = {"provider": vendor if alias == "default" else alias,
             "model": get(models, vendor, alias, "model"),
             "system_prompt": agent.get("system_prompt")}
    return {key: value for key, value in found.items() if value}


def _take_profiles(tree: Tree, agent: Tree) -> None:
    """The policy and the limits of the first agent."""
    for table, moved, target in (("risk_profiles", _RISK, "autonomy"),
                                 ("runtime_profiles", _RUNTIME, "agent")):
        profiles = tree.pop(table, None)
        named = agent.get(table.removesuffix("s"), "default")
        profile = get(profiles, str(named))
        for key, value in (profile.items() if isinstance(profile, dict)
                           else ()):
            _put(tree, moved.get(key, (target, key)), value)


def _take_channels(tree: Tree, note: Note) -> None:
    """One account of each channel."""
    channels = tree.get("channels_config")
    if not isinstance(channels, dict):
        return
    for kind, accounts in list(channels.items()):
        if not isinstance(accounts, dict) or not accounts or not all(
                isinstance(each, dict) for each in accounts.values()):
            continue
        name = "default" if "default" in accounts else next(iter(accounts))
        channels[kind] = accounts[name]
        others = [each for each in accounts if each != name]
        if others:
            note(f"claw has one account of {kind}: {', '.join(others)} "
                 f"of [channels.{kind}] are left out")


def _take_peers(tree: Tree) -> None:
    """[peer_groups.x]: who may write to a channel."""
    groups = tree.pop("peer_groups", None)
    for group in groups.values() if isinstance(groups, dict) else ():
        kind = str(get(group, "channel") or "").partition(".")[0]
        channel = get(tree, "channels_config", kind)
        if isinstance(channel, dict):
            known = channel.setdefault("allowed_users", [])
            known += [peer for peer in texts(get(group, "external_peers"))
                      if peer not in known]


def _take_jobs(tree: Tree) -> None:
    """[cron.x], a job each."""
    cron = tree.get("cron")
    if isinstance(cron, dict):
        names = [name for name, job in cron.items()
                 if isinstance(job, dict) and "schedule" in job]
        cron["jobs"] = [{"name": name, **cron.pop(name)} for name in names]


def _rename(tree: Tree) -> None:
    for (table, old), new in _RENAMED:
        held = tree.get(table)
        if isinstance(held, dict) and old in held:
            _put(tree, new, held.pop(old))


def _put(tree: Tree, path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        below = tree.setdefault(part, {})
        if not isinstance(below, dict):
            return
        tree = below
    tree.setdefault(path[-1], value)
