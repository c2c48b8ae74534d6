"""The tables of jobs.db, and rows as values and back.

`cron_jobs` and `cron_runs` have the reference's columns, beside a number for
the order, the slot of a run, which no other run of the job has, and the
origin and policy of a job, and where it was made. What a job's last run said
stands in its run alone.
"""

import json
import sqlite3
from typing import Any

from claw.storage.jobs.model import Delivery, Job, JobSpec, Run
from claw.storage.jobs.schedule import Schedule

VERSION = 3
# What makes a file of the version before one of this.
CHANGES = {1: "ALTER TABLE cron_jobs ADD COLUMN policy TEXT",
           2: "ALTER TABLE cron_jobs ADD COLUMN made_in TEXT"}

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
    made_in TEXT
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
    UNIQUE (job_id, slot)
)""")

_SPEC = ("schedule", "job_type", "name", "command", "prompt", "model",
         "session_target", "allowed_tools", "delivery", "delete_after_run",
         "enabled", "source", "origin", "policy", "made_in")
_STATE = ("id", "created_at", "next_run", "last_run", "last_status")
JOB_COLUMNS = ", ".join(_SPEC + _STATE)
RUN_COLUMNS = ("id, job_id, slot, started_at, status, finished_at, output,"
               " duration_ms")


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Make a file of an older version one of this, in a transaction of the
    caller's."""
    for older in range(version, VERSION):
        connection.execute(CHANGES[older])
    connection.execute(f"PRAGMA user_version={VERSION}")


def encode_job(job: Job) -> dict[str, Any]:
    """The columns of a job's row."""
    spec = job.spec
    schedule = spec.schedule
    return {
        **{name: getattr(spec, name) for name in _SPEC},
        **{name: getattr(job, name) for name in _STATE},
        "expression": schedule.expr or schedule.at or str(schedule.every_ms),
        "schedule": _dump(schedule.to_dict()),
        "allowed_tools": None if spec.allowed_tools is None
        else _dump(spec.allowed_tools),
        "policy": None if spec.policy is None else _dump(spec.policy),
        "delivery": _dump({name: getattr(spec.delivery, name) for name in
                           ("mode", "channel", "to", "best_effort")})}


def decode_job(row: tuple[Any, ...]) -> Job:
    """A job of its JOB_COLUMNS. Raises ValueError or TypeError for what
    is none."""
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
    return Job(spec=JobSpec(**own),
               **dict(zip(_STATE, row[len(_SPEC):], strict=True)))


def decode_run(row: tuple[Any, ...]) -> Run:
    """A run of its RUN_COLUMNS."""
    return Run(*row)


def _read_policy(text: str) -> dict[str, Any]:
    """One that can't be read must not be taken for none."""
    policy = json.loads(text)
    if not isinstance(policy, dict):
        raise ValueError("a policy is no object")
    return policy


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
