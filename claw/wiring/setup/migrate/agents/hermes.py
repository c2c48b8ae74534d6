"""Hermes: ~/.hermes with config.yaml, .env, memories/, skills/, state.db.

Keys, tokens and who may write stand in .env, all else in config.yaml.
Memories are texts with a line of a paragraph sign between them.
Source: hermes-agent.nousresearch.com/docs (configuration, memory, cron),
.env.example and cron/jobs of the project, read 2026-11.
"""

from collections.abc import Iterator
from typing import Any

from claw.text.plural import plural
from claw.wiring.setup.migrate import (
    Found,
    HeldFile,
    HeldJob,
    HeldMemories,
    HeldSession,
    HeldSkill,
    Holdings,
)
from claw.wiring.setup.migrate.agents.common import (
    build_job,
    get,
    limit_jobs,
    list_skills,
    local_zone,
    read_files,
)
from claw.wiring.setup.migrate.agents.hermes_settings import list_settings
from claw.wiring.setup.migrate.reading.bounds import check_values
from claw.wiring.setup.migrate.reading.env_file import parse_env
from claw.wiring.setup.migrate.reading.source import Source
from claw.wiring.setup.migrate.reading.yaml_subset import parse_yaml

_MOST_CONFIG = 1 << 20
_MOST_MINUTES = 1e9  # more is no interval of anybody
_BUNDLED = "skills/.bundled_manifest"


def read(found: Found) -> Holdings:
    """What a Hermes folder holds."""
    notes: list[str] = []
    home = Source(found.home, notes)
    env = parse_env(home.text(".env") or "")
    config = _read_config(home)
    zone = get(config, "timezone") or local_zone()
    others = [name for name in home.names("profiles", folders=True)
              if not name.startswith(".")]
    if others:
        home.note("profiles are agents of their own: bring one with claw "
                  f"migrate hermes {found.home}/profiles/{others[0]}")
    return Holdings(
        tuple(list_settings(config, env)), tuple(_list_files(home)),
        tuple(_list_memories(home)), tuple(_list_skills(home)),
        limit_jobs(list(_list_jobs(home, env, zone)), home),
        tuple(_list_sessions(home)), tuple(notes))


def _read_config(home: Source) -> dict[str, Any]:
    data = home.read("config.yaml", _MOST_CONFIG)
    if data is None:
        return {}
    try:
        config = parse_yaml(data.decode("utf-8-sig", "replace"))
        check_values(config)
    except ValueError as error:
        home.note(f"{home.root / 'config.yaml'}: {error}; its settings are "
                  "not brought")
        return {}
    return config if isinstance(config, dict) else {}


def _list_files(home: Source) -> Iterator[HeldFile]:
    """What is part of the prompt; the profile of the user comes with the
    memories."""
    yield from read_files(home)


def _list_memories(home: Source) -> Iterator[HeldMemories]:
    for name in ("MEMORY", "USER"):
        if home.has(f"memories/{name}.md"):
            yield HeldMemories(home.root, f"memories/{name}.md", name,
                               "sections")


def _list_skills(home: Source) -> Iterator[HeldSkill]:
    """Those that did not come with Hermes."""
    bundled = {line.partition(":")[0].strip() for line in
               (home.text(_BUNDLED) or "").splitlines()}
    left = 0
    for skill in list_skills(home, "skills"):
        if skill.name in bundled:
            left += 1
        else:
            yield skill
    if left:
        home.note(f"{plural(left, 'skill')} of Hermes's own left out")


def _list_sessions(home: Source) -> Iterator[HeldSession]:
    with home.database("state.db") as connection:
        if connection is not None:
            for row in connection.execute(
                    "SELECT DISTINCT session_id FROM messages"
                    " ORDER BY session_id LIMIT 20000"):
                yield HeldSession(str(row[0]), home.root, "state.db",
                                  "hermes-table")


def _list_jobs(home: Source, env: dict[str, str], zone: str | None
               ) -> Iterator[HeldJob]:
    held = home.json("cron/jobs.json")
    jobs = held if isinstance(held, list) else get(held, "jobs")
    if isinstance(jobs, dict):
        jobs = list(jobs.values())
    for job in jobs if isinstance(jobs, list) else ():
        if isinstance(job, dict):
            yield _build(job, env, zone)


def _build(job: dict[str, Any], env: dict[str, str], zone: str | None
           ) -> HeldJob:
    if job.get("no_agent") or (job.get("script") and not job.get("prompt")):
        return HeldJob(str(job.get("name") or "job")[:200], None,
                       "it runs a script of Hermes; make it anew with claw "
                       "cron add")
    held = job.get("schedule")
    kind = get(held, "kind")
    schedule: dict[str, Any] = {"kind": str(kind)}
    if kind == "cron":
        schedule |= {"expr": get(held, "expr"), "tz": zone}
    elif kind == "interval":
        minutes = get(held, "minutes")
        schedule = {"kind": "every", "every_ms": int(minutes * 60_000)
                    if isinstance(minutes, int | float)
                    and abs(minutes) < _MOST_MINUTES else minutes}
    elif kind == "once":
        schedule = {"kind": "at", "at": get(held, "run_at")}
    is_paused = job.get("state") == "paused" or job.get("paused_at")
    return build_job(
        job.get("name"), schedule, prompt=job.get("prompt"),
        delivery=_delivery(job, env), model=job.get("model") or None,
        enabled=job.get("enabled") is not False and not is_paused,
        delete_after_run=kind == "once")


def _delivery(job: dict[str, Any], env: dict[str, str]) -> Any:
    """Where it tells: "local", "origin", "telegram" or "telegram:42"."""
    deliver = job.get("deliver")
    if isinstance(deliver, list):
        deliver = deliver[0] if deliver else None
    if not isinstance(deliver, str) or deliver == "local":
        return None
    channel, _, to = deliver.partition(",")[0].partition(":")
    if channel == "origin":
        channel = str(get(job, "origin", "platform") or "")
        to = str(get(job, "origin", "chat_id") or "")
    to = to or env.get(f"{channel.upper()}_HOME_CHANNEL", "")
    return {"mode": "announce", "channel": channel.strip().lower(),
            "to": to.strip()}
