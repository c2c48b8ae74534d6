"""The tables of jobs.db, and rows as values and back.

`cron_jobs` and `cron_runs` have the reference's columns, beside a number for
the order, the slot of a run, which no other run of the job has, and what
claw knows of a job and a run besides (model.py). What a job's last run said
stands in its run alone.
"""

import json
import sqlite3
from datetime import datetime
from typing import Any

from claw.storage.jobs.model import Delivery, Job, JobSpec, Run
from claw.storage.jobs.schedule import Schedule

VERSION = 5
# The few runs that are not over, and those that are to be told.
_OPEN = ("CREATE INDEX cron_runs_open ON cron_runs (job_id)"
         " WHERE status = 'running'",
         "CREATE INDEX cron_runs_owed ON cron_runs (id)"
         " WHERE delivery IN ('owed', 'awaited')")
# What makes a file of the version before one of this.
CHANGES = {
    1: ("ALTER TABLE cron_jobs ADD COLUMN policy TEXT",),
    2: ("ALTER TABLE cron_jobs ADD COLUMN made_in TEXT",),
    3: ("ALTER TABLE cron_jobs ADD COLUMN missed TEXT NOT NULL"
        " DEFAULT 'once'",
        "ALTER TABLE cron_jobs ADD COLUMN precheck TEXT",
        "ALTER TABLE cron_jobs ADD COLUMN max_silence_s INTEGER",
        "ALTER TABLE cron_jobs ADD COLUMN timeout_s INTEGER",
        "ALTER TABLE cron_jobs ADD COLUMN monthly_cents REAL",
        "ALTER TABLE cron_jobs ADD COLUMN begun TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE cron_jobs ADD COLUMN quiet_since TEXT",
        "ALTER TABLE cron_jobs ADD COLUMN silent INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE cron_jobs ADD COLUMN month TEXT",
        "ALTER TABLE cron_jobs ADD COLUMN month_usd REAL NOT NULL DEFAULT 0",
        "ALTER TABLE cron_jobs ADD COLUMN declared TEXT",
        "ALTER TABLE cron_runs ADD COLUMN cost_usd REAL",
        "ALTER TABLE cron_runs ADD COLUMN turn_id TEXT",
        "ALTER TABLE cron_runs ADD COLUMN lease_until TEXT",
        "ALTER TABLE cron_runs ADD COLUMN delivery TEXT",
        "UPDATE cron_jobs SET quiet_since = created_at",
        *_OPEN),
    4: ("ALTER TABLE cron_runs ADD COLUMN work_hash TEXT",)}

TABLES = (
    """
CREATE TABLE cron_jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    expression TEXT NOT NULL,
    schedule TEXT NOT NULL,
    job_type TEXT NOT NULL,
    name TEXT,
    command TEXT,
    prompt TEXT,
    model TEXT,
    session_target TEXT NOT NULL,
    allowed_tools TEXT,
    delivery TEXT NOT NULL,
    delete_after_run INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    source TEXT NOT NULL,
    origin TEXT,
    created_at TEXT NOT NULL,
    next_run TEXT,
    last_run TEXT,
    last_status TEXT,
    policy TEXT,
    made_in TEXT,
    missed TEXT NOT NULL,
    precheck TEXT,
    max_silence_s INTEGER,
    timeout_s INTEGER,
    monthly_cents REAL,
    begun TEXT NOT NULL,
    quiet_since TEXT,
    silent INTEGER NOT NULL,
    month TEXT,
    month_usd REAL NOT NULL,
    declared TEXT
)""",
    "CREATE INDEX cron_jobs_due ON cron_jobs (next_run) WHERE enabled",
    """
CREATE TABLE cron_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL REFERENCES cron_jobs (id) ON DELETE CASCADE,
    slot TEXT NOT NULL,
    started_at TEXT NOT NULL,
    status TEXT NOT NULL,
    finished_at TEXT,
    output TEXT,
    duration_ms INTEGER,
    cost_usd REAL,
    turn_id TEXT,
    lease_until TEXT,
    delivery TEXT,
    work_hash TEXT,
    UNIQUE (job_id, slot)
)""", *_OPEN)

_SPEC = ("schedule", "job_type", "name", "command", "prompt", "model",
         "session_target", "allowed_tools", "delivery", "delete_after_run",
         "enabled", "source", "origin", "policy", "made_in", "missed",
         "precheck", "max_silence_s", "timeout_s", "monthly_cents")
_STATE = ("id", "created_at", "next_run", "last_run", "last_status",
          "begun", "quiet_since", "silent", "month", "month_usd", "declared")
JOB_COLUMNS = ", ".join(_SPEC + _STATE)
_RUN = ("id", "job_id", "slot", "started_at", "status", "finished_at",
        "output", "duration_ms", "cost_usd", "turn_id", "lease_until",
        "delivery", "work_hash")
RUN_COLUMNS = ", ".join(_RUN)
# Any other column holds text.
_NUMBERS = frozenset((
    "id", "delete_after_run", "enabled", "max_silence_s", "timeout_s",
    "monthly_cents", "silent", "month_usd", "duration_ms", "cost_usd"))
_TIMES = frozenset(("created_at", "next_run", "last_run", "quiet_since",
                    "started_at", "finished_at", "lease_until"))


class DamagedRowError(ValueError):
    """A row that is no job, or no run."""


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Make a file of an older version one of this, in a transaction of the
    caller's."""
    for older in range(version, VERSION):
        for change in CHANGES[older]:
            connection.execute(change)
    connection.execute(f"PRAGMA user_version={VERSION}")


def encode_job(job: Job) -> dict[str, Any]:
    """The columns of a job's row."""
    spec = job.spec
    schedule = spec.schedule
    return {
        **{name: getattr(spec, name) for name in _SPEC},
        **{name: getattr(job, name) for name in _STATE},
        "begun": _dump(job.begun),
        "expression": schedule.expr or schedule.at or str(schedule.every_ms),
        "schedule": _dump(schedule.to_dict()),
        "allowed_tools": None if spec.allowed_tools is None
        else _dump(spec.allowed_tools),
        "policy": None if spec.policy is None else _dump(spec.policy),
        "delivery": _dump({name: getattr(spec.delivery, name) for name in
                           ("mode", "channel", "to", "best_effort")})}


def decode_job(row: tuple[Any, ...]) -> Job:
    """A job of its JOB_COLUMNS. Raises DamagedRowError."""
    try:
        _check_kinds(_SPEC + _STATE, row, _NUMBERS - {"id"})
        return _build_job(row)
    except (ValueError, TypeError) as error:
        raise DamagedRowError(f"a job can't be read: {error}") from error


def _build_job(row: tuple[Any, ...]) -> Job:
    own = dict(zip(_SPEC, row, strict=False))
    tools = own["allowed_tools"]
    own |= {
        "schedule": Schedule(**json.loads(own["schedule"])),
        "allowed_tools": None if tools is None else tuple(json.loads(tools)),
        "delivery": Delivery(**json.loads(own["delivery"])),
        "policy": None if own["policy"] is None else _read_policy(
            own["policy"]),
        "delete_after_run": bool(own["delete_after_run"]),
        "enabled": bool(own["enabled"])}
    state = dict(zip(_STATE, row[len(_SPEC):], strict=True))
    state |= {"silent": bool(state["silent"]), "begun": tuple(
        (first, last) for first, last in json.loads(state["begun"]))}
    return Job(spec=JobSpec(**own), **state)


def decode_run(row: tuple[Any, ...]) -> Run:
    """A run of its RUN_COLUMNS. Raises DamagedRowError."""
    try:
        _check_kinds(_RUN, row, _NUMBERS)
    except (ValueError, TypeError) as error:
        raise DamagedRowError(f"a run can't be read: {error}") from error
    return Run(*row)


def _check_kinds(names: tuple[str, ...], row: tuple[Any, ...],
                 numbers: frozenset[str]) -> None:
    """Raises ValueError: SQLite keeps any kind of value in any column."""
    for name, value in zip(names, row, strict=True):
        if value is None:
            continue
        if not isinstance(value, (int, float) if name in numbers else str):
            raise ValueError(f"{name} is {value!r:.40}")
        if name in _TIMES:
            datetime.fromisoformat(str(value))


def _read_policy(text: str) -> dict[str, Any]:
    """One that can't be read must not be taken for none."""
    policy = json.loads(text)
    if not isinstance(policy, dict):
        raise ValueError("a policy is no object")
    return policy


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
