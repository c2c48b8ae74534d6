"""OpenClaw: ~/.openclaw (once .clawdbot, .moltbot) with openclaw.json.

The settings are JSON5; a secret may be a text, ${NAME} or a reference into
.env. The workspace is where agents.defaults.workspace says. Jobs and
conversations are files, since summer 2026 rows of two databases.
Source: docs.openclaw.ai (gateway/configuration-reference, automation/
cron-jobs, concepts/agent-workspace) and the schemas of its databases, read
2026-11.
"""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claw.wiring.setup.migrate import Found, HeldJob, HeldSession, Holdings
from claw.wiring.setup.migrate.agents.common import (
    build_job,
    get,
    limit_jobs,
    list_memories,
    list_skills,
    list_transcripts,
    local_zone,
    open_workspace,
    read_files,
)
from claw.wiring.setup.migrate.agents.openclaw_settings import list_settings
from claw.wiring.setup.migrate.reading.env_file import parse_env
from claw.wiring.setup.migrate.reading.source import Source

_CONFIGS = ("openclaw.json", "clawdbot.json", "moltbot.json")
_STATE_DB, _AGENT_DB = "state/openclaw.sqlite", "openclaw-agent.sqlite"


def read(found: Found) -> Holdings:
    """What an OpenClaw folder holds."""
    notes: list[str] = []
    home = Source(found.home, notes)
    config = next((held for name in _CONFIGS
                   if isinstance(held := home.json(name), dict)), {})
    work = open_workspace(_find_workspace(config, found, home), found.home,
                          notes)
    settings = list_settings(config, parse_env(home.text(".env") or ""),
                             home)
    return Holdings(
        tuple(settings), tuple(read_files(work)),
        tuple(list_memories(work)),
        (*list_skills(work, "skills"), *list_skills(home, "skills")),
        limit_jobs(list(_list_jobs(home)), home),
        tuple(_list_sessions(home)), tuple(notes))


def _find_workspace(config: Any, found: Found, home: Source) -> Path:
    """The workspace of the default agent; one elsewhere counts where it
    lies below the folder that holds OpenClaw's."""
    agents = get(config, "agents", "list")
    listed = [agent for agent in agents if isinstance(agent, dict)] \
        if isinstance(agents, list) else []
    first = next((agent for agent in listed if agent.get("default")),
                 listed[0] if listed else {})
    if len(listed) > 1:
        home.note(f"OpenClaw has {len(listed)} agents: claw takes over "
                  f"{first.get('id', 'the first')}")
    named = first.get("workspace") or get(config, "agents", "defaults",
                                          "workspace")
    usual = found.workspace or found.home / "workspace"
    if not isinstance(named, str) or not named.strip() or "\0" in named:
        return usual
    above = found.home.parent
    path = Path(named.strip().replace("~", str(above), 1)
                if named.strip().startswith("~") else named.strip())
    if not path.is_absolute() or not path.is_dir():
        return usual
    if not path.resolve().is_relative_to(above.resolve()) \
            or path.resolve() == above.resolve():
        home.note(f"the workspace {path} lies outside {above} and was left "
                  "out")
        return usual
    return path


def _list_sessions(home: Source) -> Iterator[HeldSession]:
    for agent in home.names("agents", folders=True):
        folder = f"agents/{agent}/sessions"
        names = _session_names(home, f"{folder}/sessions.json")
        for held in list_transcripts(home, folder, "openclaw"):
            yield HeldSession(names.get(held.name, held.name), held.root,
                              held.path, held.form)
        yield from _list_rows(home, f"agents/{agent}/agent/{_AGENT_DB}")


def _list_rows(home: Source, path: str) -> Iterator[HeldSession]:
    """Since summer 2026 they lie in a database; the one that is open under
    a name has it, those before it their ids."""
    with home.database(path) as connection:
        if connection is None:
            return
        ids = [str(row[0]) for row in connection.execute(
            "SELECT DISTINCT session_id FROM transcript_events"
            " ORDER BY session_id LIMIT 20000")]
        names = {}
        try:
            names = {str(row[0]): str(row[1]) for row in connection.execute(
                "SELECT current_session_id, session_key"
                " FROM session_nodes")}
        except sqlite3.Error as error:  # named otherwise before autumn
            if getattr(error, "sqlite_errorcode",
                       None) == sqlite3.SQLITE_INTERRUPT:
                raise
        for id in ids:
            yield HeldSession(names.get(id, id), home.root, path,
                              "openclaw-table", id)


def _session_names(home: Source, name: str) -> dict[str, str]:
    """The name of each conversation by the id that its file is called
    after."""
    held = home.json(name)
    return {str(get(entry, "sessionId")): str(key)
            for key, entry in held.items()} if isinstance(held, dict) else {}


def _list_jobs(home: Source) -> Iterator[HeldJob]:
    jobs = get(home.json("cron/jobs.json"), "jobs")
    for job in jobs if isinstance(jobs, list) else ():
        if isinstance(job, dict):
            yield _build(job)
    with home.database(_STATE_DB) as connection:
        if connection is not None:
            for row in connection.execute(
                    "SELECT * FROM cron_jobs ORDER BY sort_order, job_id"):
                yield _build(_read_row(dict(row)))


def _read_row(row: dict[str, Any]) -> dict[str, Any]:
    """A job of the database as jobs.json had it."""
    kind = row.get("payload_kind")
    text = row.get("payload_message")
    return {
        "name": row.get("display_name") or row.get("name"),
        "enabled": bool(row.get("enabled")),
        "deleteAfterRun": bool(row.get("delete_after_run")),
        "schedule": {"kind": row.get("schedule_kind"),
                     "expr": row.get("schedule_expr"),
                     "tz": row.get("schedule_tz"),
                     "everyMs": row.get("every_ms"), "at": row.get("at")},
        "sessionTarget": row.get("session_target"),
        "payload": {"kind": kind, "text": text, "message": text,
                    "command": text, "model": row.get("payload_model")},
        "delivery": {"mode": row.get("delivery_mode"),
                     "channel": row.get("delivery_channel"),
                     "to": row.get("delivery_to"),
                     "bestEffort": bool(row.get("delivery_best_effort", 1))},
        "trigger": row.get("trigger_script")}


def _build(job: dict[str, Any]) -> HeldJob:
    if job.get("trigger"):
        return HeldJob(str(job.get("name"))[:200], None, "it waits for a "
                       "script; make it anew with claw cron add")
    payload = get(job, "payload")
    kind = get(payload, "kind")
    text = get(payload, "text") if kind == "systemEvent" \
        else get(payload, "message")
    is_main = job.get("sessionTarget") == "main"
    command = get(payload, "command") if kind == "command" else None
    more: dict[str, Any] = {} if command else {
        "model": _bare(get(payload, "model")),
        "session_target": "main" if is_main else "isolated"}
    schedule = read_schedule(job.get("schedule"))
    if get(schedule, "kind") == "cron" and not schedule.get("tz"):
        schedule["tz"] = local_zone()
    return build_job(
        job.get("name"), schedule,
        prompt=None if command else text, command=command,
        delivery=_delivery(job, payload),
        enabled=job.get("enabled") is not False,
        delete_after_run=job.get("deleteAfterRun") is True, **more)


def read_schedule(given: Any) -> Any:
    """A schedule of OpenClaw or nanobot as claw says it."""
    kind = get(given, "kind")
    if kind == "cron":
        return {"kind": kind, "expr": get(given, "expr"),
                "tz": get(given, "tz")}
    if kind == "every":
        return {"kind": kind, "every_ms": get(given, "everyMs")}
    if kind == "at":
        at = get(given, "at")
        millis = get(given, "atMs")
        if isinstance(millis, int | float):
            at = _from_millis(millis)
        elif isinstance(at, str):
            at = _with_zone(at)
        return {"kind": kind, "at": at}
    return given


def _from_millis(millis: float) -> str:
    """A time as RFC 3339; the number itself where it is none."""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return f"{millis!r:.40}"


def _with_zone(text: str) -> str:
    """A time without a zone is one of UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if moment.tzinfo else moment.replace(tzinfo=UTC).isoformat()


def _delivery(job: dict[str, Any], payload: Any) -> Any:
    given = get(job, "delivery")
    if isinstance(given, dict):
        is_sent = given.get("mode") == "announce"
        best_effort = given.get("bestEffort")
    else:  # before February 2026
        given, is_sent = payload, get(payload, "deliver") is True
        best_effort = get(payload, "bestEffortDeliver")
    channel = get(given, "channel")
    if not is_sent or channel in (None, "last"):
        return None
    return {"mode": "announce", "channel": channel, "to": get(given, "to"),
            "best_effort": best_effort is not False}


def _bare(model: Any) -> str | None:
    return model if isinstance(model, str) and model.strip() else None
