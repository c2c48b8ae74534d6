"""nanobot: ~/.nanobot with config.json and a workspace.

Names in config.json are camelCase, once snake_case. Facts lie in
workspace/memory/MEMORY.md, notes of conversations in HISTORY.md, since 2026
in history.jsonl; jobs in cron/jobs.json, later below the workspace.
Source: github.com/HKUDS/nanobot (config/schema, cron/types, agent/memory,
session/manager), read 2026-11.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claw.wiring.setup.migrate import (
    Found,
    HeldJob,
    HeldMemories,
    HeldSession,
    Holdings,
    Setting,
)
from claw.wiring.setup.migrate.agents.channel_tables import list_channel
from claw.wiring.setup.migrate.agents.common import (
    build_job,
    get,
    leaves,
    limit_jobs,
    list_memories,
    list_skills,
    list_transcripts,
    local_zone,
    open_workspace,
    read_files,
)
from claw.wiring.setup.migrate.agents.mcp_servers import list_servers
from claw.wiring.setup.migrate.agents.openclaw import read_schedule
from claw.wiring.setup.migrate.agents.providers import (
    HeldProvider,
    choose_gateway,
    is_known,
    list_provider_settings,
)
from claw.wiring.setup.migrate.reading.env_file import Opener
from claw.wiring.setup.migrate.reading.source import Source

# Its names of providers that claw knows by another.
_VENDORS = {"custom": "nanobot", "zhipu": "glm", "dashscope": "qwen",
            "volcengine": "doubao",
            "azureOpenai": "azure", "lmStudio": "lmstudio",
            "kimiCoding": "kimi-code", "opencodeGo": "opencode-go",
            "opencodeZen": "opencode"}
_SNAKE = re.compile(r"_([a-z0-9])")
_READ = {("providers",), ("channels",), ("tools", "mcpServers"),
         ("agents", "defaults", "model"), ("agents", "defaults", "provider"),
         ("agents", "defaults", "temperature"),
         ("agents", "defaults", "maxToolIterations"),
         ("agents", "defaults", "workspace"), ("modelPresets",),
         ("agents", "defaults", "modelPreset"),
         ("agents", "defaults", "timezone")}


def read(found: Found) -> Holdings:
    """What a nanobot folder holds."""
    notes: list[str] = []
    home = Source(found.home, notes)
    raw = home.json("config.json")
    config = _camel(raw) if isinstance(raw, dict) else {}
    work = open_workspace(_find_workspace(config, found, home), found.home,
                          notes)
    zone = get(config, "agents", "defaults", "timezone") or local_zone()
    jobs = [job for source in (home, work)
            for job in _list_jobs(source, zone)]
    return Holdings(
        tuple(_list_settings(config)), tuple(read_files(work)),
        tuple(_list_memories(work)), tuple(list_skills(work, "skills")),
        limit_jobs(jobs, home), tuple(_list_sessions(home, work)),
        tuple(notes))


def _find_workspace(config: Any, found: Found, home: Source) -> Path:
    named = get(config, "agents", "defaults", "workspace")
    usual = found.workspace or found.home / "workspace"
    if not isinstance(named, str) or not named.startswith("~/") \
            or "\0" in named:
        return usual
    path = found.home.parent / named[2:]
    if ".." in path.parts or not path.is_dir():
        return usual
    return path


def _camel(tree: Any) -> Any:
    """Names of settings in one spelling; what stands in maps of the
    owner's (environment, headers) keeps its own."""
    if isinstance(tree, list):
        return [_camel(each) for each in tree]
    if not isinstance(tree, Mapping):
        return tree
    found = {}
    for key, value in tree.items():
        name = _SNAKE.sub(lambda match: match[1].upper(), str(key))
        found[name] = value if name in ("env", "headers", "extraHeaders",
                                        "mcpServers") else _camel(value)
    return found


def _list_settings(config: Mapping[str, Any]) -> Iterator[Setting]:
    opener = Opener({})
    defaults = get(config, "agents", "defaults") or {}
    preset = get(config, "modelPresets",
                 str(get(defaults, "modelPreset"))) or {}
    providers = list(_list_providers(config, opener))
    model = get(preset, "model") or get(defaults, "model")
    named = get(preset, "provider") or get(defaults, "provider")
    provider = None
    if isinstance(model, str) and model.strip():
        keyed = {each.name for each in providers if each.api_key}
        provider, bare = choose_gateway(model, keyed)
        if isinstance(named, str) and named not in ("", "auto"):
            provider = _VENDORS.get(_camel_name(named), named)
            bare = model.removeprefix(f"{named}/")
        where = "agents.defaults.model"
        if not is_known(provider, providers):
            yield Setting(where, None, None, f"{model}: its provider is "
                          "none that claw knows, or a sign-in")
            provider = None
        else:
            yield Setting(where, ("default_provider",), provider)
            yield Setting(where, ("default_model",), bare)
    for theirs, ours in (("temperature", ("default_temperature",)),
                         ("maxToolIterations",
                          ("agent", "max_tool_iterations"))):
        if get(defaults, theirs) is not None:
            yield Setting(f"agents.defaults.{theirs}", ours,
                          defaults[theirs])
    yield from list_provider_settings(providers, provider)
    channels = get(config, "channels")
    for name, table in channels.items() if isinstance(
            channels, dict) else ():
        if isinstance(table, dict):
            yield from list_channel(name, opener.open(table),
                                    f"channels.{name}")
    yield from list_servers(opener.open(get(config, "tools", "mcpServers")),
                            "tools.mcpServers")
    yield from _list_rest(config)


def _camel_name(name: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), name)


def _list_providers(config: Mapping[str, Any], opener: Opener
                    ) -> Iterator[HeldProvider]:
    held = get(config, "providers")
    for name, entry in held.items() if isinstance(held, dict) else ():
        if not isinstance(entry, dict):
            continue
        opened = opener.open(entry)
        key, url = opened.get("apiKey"), opened.get("apiBase")
        headers = opened.get("extraHeaders")
        if key or url:
            yield HeldProvider(
                _VENDORS.get(str(name), str(name)), f"providers.{name}",
                url if isinstance(url, str) else "",
                key if isinstance(key, str) else "",
                "responses" if opened.get("apiType") == "responses" else "",
                {str(k): v for k, v in headers.items()
                 if isinstance(v, str)} if isinstance(headers, dict) else {})


def _list_rest(config: Mapping[str, Any]) -> Iterator[Setting]:
    told = set()
    for path, value in leaves(config):
        if any(path[:len(read)] == read for read in _READ) \
                or value in ("", [], False):
            continue
        name = ".".join(path[:2])
        if name not in told:
            told.add(name)
            yield Setting(name, None, None, "claw has no such setting")


def _list_memories(work: Source) -> Iterator[HeldMemories]:
    yield from list_memories(work)
    if work.has("memory/history.jsonl"):
        yield HeldMemories(work.root, "memory/history.jsonl", "history",
                           "history")


def _list_sessions(home: Source, work: Source) -> Iterator[HeldSession]:
    yield from list_transcripts(work, "sessions", "messages")
    yield from list_transcripts(home, "sessions", "messages")
    for folder in home.names("sessions", folders=True):
        yield from list_transcripts(home, f"sessions/{folder}", "messages")


def _list_jobs(source: Source, zone: str | None) -> Iterator[HeldJob]:
    jobs = get(source.json("cron/jobs.json"), "jobs")
    for job in jobs if isinstance(jobs, list) else ():
        if isinstance(job, dict):
            yield _build(_camel(job), zone)


def _build(job: dict[str, Any], zone: str | None) -> HeldJob:
    payload = get(job, "payload")
    if get(payload, "kind") == "system_event":
        return HeldJob(str(job.get("name", "job"))[:200], None,
                       "it is one of nanobot's own")
    schedule = read_schedule(job.get("schedule"))
    if get(schedule, "kind") == "cron" and not schedule.get("tz"):
        schedule["tz"] = zone
    channel = get(payload, "channel") or get(payload, "originChannel")
    to = get(payload, "to") or get(payload, "originChatId")
    delivery = {"mode": "announce", "channel": channel, "to": to} \
        if channel and (get(payload, "deliver") or get(
            payload, "originChannel")) else None
    return build_job(
        job.get("name"), schedule, prompt=get(payload, "message"),
        delivery=delivery, enabled=job.get("enabled") is not False,
        delete_after_run=job.get("deleteAfterRun") is True)
