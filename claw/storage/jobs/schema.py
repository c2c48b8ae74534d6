"""The tables of jobs.db, and rows as values and back.

`cron_jobs` and `cron_runs` have the reference's columns, beside a number for
the order, the slot of a run, which no other run of the job has, and the
origin of a job. What a job's last run said stands in its run alone.
"""

import json
from typing import Any

from claw.storage.jobs.model import Delivery, Job, JobSpec, Run
from claw.storage.jobs.schedule import Schedule

VERSION = 1

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
    last_status TEXT
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
         "enabled", "source", "origin")
_STATE = ("id", "created_at", "next_run", "last_run", "last_status")
JOB_COLUMNS = ", ".join(_SPEC + _STATE)
RUN_COLUMNS = ("id, job_id, slot, started_at, status, finished_at, output,"
               " duration_ms")


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
        "delete_after_run": bool(own["delete_after_run"]),
        "enabled": bool(own["enabled"])}
    return Job(spec=JobSpec(**own),
               **dict(zip(_STATE, row[len(_SPEC):], strict=True)))


def decode_run(row: tuple[Any, ...]) -> Run:
    """A run of its RUN_COLUMNS."""
    return Run(*row)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
