"""ZeroClaw: ~/.zeroclaw with config.toml (schema 1 to 3), a workspace, jobs.

Schema 1 is what claw reads itself. Schema 2 puts providers under
[providers], channels under [channels]; schema 3 names every provider,
channel and policy: [providers.models.openai.default],
[channels.telegram.default], [risk_profiles.default], [agents.default].
Files lie in workspace/, with schema 3 in data/, shared/ and
agents/<name>/workspace/.
Source: the reference's config schema and its migration, read 2026-11.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from claw.config.keys import SEALED, is_secret
from claw.config.known import real_path
from claw.config.parse import parse
from claw.config.secrets import unseal
from claw.core.errors import ConfigError
from claw.wiring.setup.migrate import (
    Found,
    HeldJob,
    HeldMemories,
    HeldSession,
    Holdings,
    Setting,
)
from claw.wiring.setup.migrate.agents.common import (
    build_job,
    get,
    leaves,
    limit_jobs,
    list_memories,
    list_skills,
    list_transcripts,
    open_workspace,
    read_files,
)
from claw.wiring.setup.migrate.agents.zeroclaw_schema import to_first_schema
from claw.wiring.setup.migrate.reading.bounds import check_values
from claw.wiring.setup.migrate.reading.source import Source

_UNREADABLE = object()


def read(found: Found) -> Holdings:
    """What a ZeroClaw folder holds."""
    notes: list[str] = []
    home = Source(found.home, notes)
    work = open_workspace(found.workspace or found.home / "workspace",
                          found.home, notes)
    tree = _read_config(home)
    jobs = list(_config_jobs(tree))
    if isinstance(get(tree, "cron"), dict):
        tree["cron"].pop("jobs", None)
    settings = [*_list_settings(tree, home), *_profiles(home)]
    data = home if home.names("data", folders=True) else None
    return Holdings(
        tuple(settings), tuple(read_files(work)),
        tuple(_list_memories(home, work)),
        (*list_skills(work, "skills"), *list_skills(home, "shared/skills")),
        limit_jobs([*jobs, *_database_jobs(home, data)], home),
        tuple(_list_sessions(home)), tuple(notes))


def _read_config(home: Source) -> dict[str, Any]:
    text = home.text("config.toml")
    if text is None:
        return {}
    try:
        tree = parse(text, str(home.root / "config.toml"))
        check_values(tree)
    except ConfigError as error:
        home.note(f"{error.message}; no settings are brought")
        return {}
    except ValueError as error:
        home.note(f"{home.root / 'config.toml'}: {error}; no settings are "
                  "brought")
        return {}
    return to_first_schema(tree, home.note)


def _list_settings(tree: Mapping[str, Any], home: Source
                   ) -> Iterator[Setting]:
    unseal = _Unsealer(home)
    for path, value in leaves(tree):
        source = ".".join(path)
        opened = unseal.open(path, value)
        if opened is _UNREADABLE:
            yield Setting(source, None, None, "it is encrypted with a key "
                          "that is not there; set it anew")
        else:
            is_servers = real_path(path) == ("mcp", "servers") \
                and isinstance(opened, list)
            yield Setting(source, (*real_path(path), "+") if is_servers
                          else path, opened)


class _Unsealer:
    """Opens what ZeroClaw encrypted, with its own key."""

    def __init__(self, home: Source) -> None:
        self._home = home
        self._key: bytes | None = None

    def open(self, path: tuple[str, ...], value: Any) -> Any:
        """The value in plain, or _UNREADABLE."""
        if isinstance(value, dict):
            opened = {key: self.open((*path, key), each)
                      for key, each in value.items()}
            return {key: each for key, each in opened.items()
                    if each is not _UNREADABLE}
        if isinstance(value, list):
            found = [self.open(path, each) for each in value]
            return [each for each in found if each is not _UNREADABLE]
        if not isinstance(value, str) or not value.startswith(SEALED) \
                or (value.startswith("enc:") and not is_secret(path)):
            return value
        try:
            if self._key is None:
                text = self._home.text(".secret_key") or ""
                self._key = bytes.fromhex(text.strip())
            return unseal(value, self._key)
        except ValueError:  # no key, another key, no encrypted text
            return _UNREADABLE


def _profiles(home: Source) -> Iterator[Setting]:
    """Keys of auth-profiles.json; a sign-in can't be brought."""
    unseal = _Unsealer(home)
    for name in ("auth-profiles.json", "data/auth-profiles.json"):
        held = get(home.json(name), "profiles")
        for profile in held.values() if isinstance(held, dict) else ():
            vendor = get(profile, "provider") or get(profile,
                                                     "model_provider")
            if not isinstance(vendor, str) or not vendor:
                continue
            source = f"{name}: {vendor}"
            token = unseal.open(("token",), get(profile, "token"))
            if isinstance(token, str) and token:
                for key, value in (("name", vendor), ("api_key", token)):
                    yield Setting(source, ("model_providers", vendor, key),
                                  value)
            else:
                yield Setting(source, None, None, "it is a sign-in or a key "
                              "that can't be read; give claw a key")


def _list_memories(home: Source, work: Source) -> Iterator[HeldMemories]:
    for source, path in ((work, "memory/brain.db"), (work, "brain.db"),
                         (home, "data/memory/brain.db")):
        if source.has(path):
            yield HeldMemories(source.root, path, "brain", "database")
            break
    yield from list_memories(work)


def _list_sessions(home: Source) -> Iterator[HeldSession]:
    for folder in ("workspace/sessions", "data/sessions"):
        yield from list_transcripts(home, folder, "messages")
        with home.database(f"{folder}/sessions.db") as connection:
            if connection is None:
                continue
            for row in connection.execute(
                    "SELECT DISTINCT session_key FROM sessions"
                    " ORDER BY session_key LIMIT 20000"):
                yield HeldSession(str(row[0]), home.root,
                                  f"{folder}/sessions.db", "zeroclaw-table")


def _config_jobs(tree: Mapping[str, Any]) -> Iterator[HeldJob]:
    """An array of tables, or a table with a name or a number each."""
    jobs = get(tree, "cron", "jobs")
    for job in (jobs.values() if isinstance(jobs, dict) else
                jobs if isinstance(jobs, list) else ()):
        if isinstance(job, dict):
            yield _build(job, job.get("name") or job.get("id"),
                         job.get("schedule"), job.get("delivery"))


def _database_jobs(home: Source, data: Source | None) -> Iterator[HeldJob]:
    for path in ("workspace/cron/jobs.db", "data/cron/jobs.db",
                 "cron/jobs.db"):
        with home.database(path) as connection:
            if connection is not None:
                for row in connection.execute(
                        "SELECT * FROM cron_jobs ORDER BY created_at"):
                    yield _read_row(row)


def _read_row(row: sqlite3.Row) -> HeldJob:
    job = dict(row)
    schedule = _json(job.get("schedule")) or {
        "kind": "cron", "expr": job.get("expression")}
    return _build(job, job.get("name") or job.get("id"), schedule,
                  _json(job.get("delivery")))


def _build(job: Mapping[str, Any], name: Any, schedule: Any,
           delivery: Any) -> HeldJob:
    is_agent = job.get("job_type") == "agent"
    tools = job.get("allowed_tools")
    tools = _json(tools) if isinstance(tools, str) else tools
    if isinstance(delivery, dict) and isinstance(
            delivery.get("channel"), str):
        delivery = {**delivery,
                    "channel": delivery["channel"].partition(".")[0]}
    more: dict[str, Any] = {}
    if is_agent:
        more = {"model": job.get("model") or None,
                "session_target": job.get("session_target") or "isolated",
                "allowed_tools": tuple(map(str, tools))
                if isinstance(tools, list) else None}
    return build_job(
        name, schedule, delivery=delivery,
        prompt=job.get("prompt") if is_agent else None,
        command=None if is_agent else job.get("command"),
        enabled=bool(job.get("enabled", True)),
        delete_after_run=bool(job.get("delete_after_run")), **more)


def _json(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return None
