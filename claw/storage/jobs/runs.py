"""Runs of jobs: plain functions on a connection, inside a transaction of the
caller.

A run is alive while its lease lasts. A lease that ends later than any may is
of a clock that was set back since, and over.
"""

import json
import sqlite3
from datetime import UTC, datetime

from claw.core.errors import UsageError
from claw.core.times import rfc3339
from claw.core.value import replace
from claw.storage.jobs.model import Job, Run
from claw.storage.jobs.schedule import next_run
from claw.storage.jobs.schema import RUN_COLUMNS, decode_run

LEASE_S = 20.0
MOST_LEASE_S = 300.0
LATE_S = 60.0  # a slot that is begun later than this was missed
MADE_UP_S = 7 * 86_400.0  # missed ones are made up for so far back
_SPANS = 8  # of slots that are kept; each jump of the clock makes one
_ALIVE = "lease_until > ? AND lease_until <= ?"
FREE = ("NOT EXISTS (SELECT 1 FROM cron_runs WHERE job_id = cron_jobs.id"
        f" AND status = 'running' AND {_ALIVE})")
INTERRUPTED = ("claw ended while this ran: it may have acted, and is not run "
               "again for this time")
SKIPPED = "its time passed while nobody ran it; it is not made up for"


def reckon_alive(now: float) -> tuple[str, str]:
    """The values of `FREE`."""
    return rfc3339(now), rfc3339(now + MOST_LEASE_S)


def find_next(job: Job, now: float) -> str | None:
    """The first time of a job's schedule past now that no run was begun
    for."""
    found = _follow(job, datetime.fromtimestamp(now, UTC))
    while found is not None:
        span = next((span for span in job.begun
                     if span[0] <= found <= span[1]), None)
        if span is None:
            return found
        found = _follow(job, datetime.fromisoformat(span[1]))
    return None


def begin(connection: sqlite3.Connection, job: Job, slot: str, now: float,
          lease_s: float) -> Run | None:
    recover(connection, now, job.id)
    if _is_running(connection, job.id) or (
            slot == job.next_run and not _take(connection, job, slot, now)):
        return None
    done = connection.execute(
        "INSERT INTO cron_runs (job_id, slot, started_at, status,"
        " lease_until, work_hash) VALUES (?, ?, ?, 'running', ?, ?)"
        " ON CONFLICT (job_id, slot) DO NOTHING",
        (job.id, slot, rfc3339(now), _end_lease(now, lease_s),
         job.spec.hash_work()))
    if done.rowcount == 0:
        return None
    run, = read(connection, "id = ?", done.lastrowid)
    return run


def renew(connection: sqlite3.Connection, run: Run, now: float,
          lease_s: float, turn_id: str | None) -> bool:
    return connection.execute(
        "UPDATE cron_runs SET lease_until = ?,"
        " turn_id = COALESCE(?, turn_id)"
        " WHERE id = ? AND status = 'running'",
        (_end_lease(now, lease_s), turn_id, run.id)).rowcount == 1


def list_lost(connection: sqlite3.Connection, now: float) -> list[Run]:
    """Runs whose lease is over."""
    return read(connection, f"status = 'running' AND ({_ALIVE}) IS NOT TRUE",
                *reckon_alive(now))


def recover(connection: sqlite3.Connection, now: float,
            job_id: str | None = None) -> list[Run]:
    """Interrupt the runs whose lease is over; what became of them is owed
    to the jobs' delivery targets."""
    found: list[Run] = []
    for run in list_lost(connection, now):
        if job_id in (None, run.job_id):
            (owed,) = connection.execute(
                "SELECT delivery ->> 'mode' = 'announce' FROM cron_jobs"
                " WHERE id = ?", (run.job_id,)).fetchone()
            end(connection, run, INTERRUPTED, "interrupted", now,
                owed=bool(owed))
            found += read(connection, "id = ?", run.id)
    return found


def end(connection: sqlite3.Connection, run: Run, output: str, status: str,
        now: float, *, cost_usd: float | None = None,
        turn_id: str | None = None, owed: bool = False) -> bool:
    started = datetime.fromisoformat(run.started_at).timestamp()
    ended = connection.execute(
        "UPDATE cron_runs SET status = ?, finished_at = ?, output = ?,"
        " duration_ms = ?, cost_usd = ?, turn_id = COALESCE(?, turn_id),"
        " lease_until = NULL, delivery = ?"
        " WHERE id = ? AND status = 'running'",
        (status, rfc3339(now), output, max(0, round((now - started) * 1000)),
         cost_usd, turn_id, "owed" if owed else None, run.id)).rowcount
    if not ended:
        return False
    connection.execute(
        "UPDATE cron_jobs SET last_run = ?, last_status = ? WHERE id = ?",
        (run.started_at, status, run.job_id))
    if status in ("ok", "skipped"):  # its precheck had nothing to do
        connection.execute("UPDATE cron_jobs SET quiet_since = ?"
                           " WHERE id = ?", (rfc3339(now), run.job_id))
    if cost_usd:
        charge(connection, run.job_id, cost_usd, now)
    if not owed:
        close(connection, run.job_id, status)
    return True


def charge(connection: sqlite3.Connection, job_id: str, cost_usd: float,
           now: float) -> None:
    """Count what a run cost; each month begins at nothing."""
    month = rfc3339(now)[:7]
    connection.execute(
        "UPDATE cron_jobs SET month_usd = CASE WHEN month = ?1"
        " THEN month_usd + ?2 ELSE ?2 END, month = ?1 WHERE id = ?3",
        (month, cost_usd, job_id))


def mark_delivery(connection: sqlite3.Connection, run: Run, state: str,
                  error: str | None) -> None:
    status = run.status if error is None else "error"
    connection.execute(
        "UPDATE cron_runs SET delivery = ?, status = ?,"
        " output = COALESCE(output || char(10) || ?, output) WHERE id = ?",
        (state, status, error, run.id))
    if status != run.status:
        connection.execute("UPDATE cron_jobs SET last_status = ?"
                           " WHERE id = ?", (status, run.job_id))
    if state != "awaited":
        close(connection, run.job_id, status)


def close(connection: sqlite3.Connection, job_id: str, status: str) -> None:
    """Of a job that is over, one that was to go goes where it succeeded."""
    over = "id = ? AND next_run IS NULL"
    if status == "ok":
        connection.execute(f"DELETE FROM cron_jobs WHERE {over}"
                           " AND delete_after_run", (job_id,))
    connection.execute(f"UPDATE cron_jobs SET enabled = 0 WHERE {over}",
                       (job_id,))


def prune(connection: sqlite3.Connection, job_id: str, most: int) -> None:
    """Keep the newest runs; those that are not over stay, too."""
    connection.execute(
        "DELETE FROM cron_runs WHERE job_id = ? AND status <> 'running'"
        " AND delivery IS NOT 'owed' AND delivery IS NOT 'awaited'"
        " AND id NOT IN (SELECT id FROM cron_runs WHERE job_id = ?"
        " ORDER BY id DESC LIMIT ?)", (job_id, job_id, most))


def _take(connection: sqlite3.Connection, job: Job, slot: str, now: float
          ) -> bool:
    """Move a job on past its next time; whether that one is to be run."""
    moment = datetime.fromisoformat(slot)
    if job.spec.missed == "skip" and now - moment.timestamp() > LATE_S:
        skip(connection, job, now)
        return False
    begun = job.begun
    if begun and _follow(job, datetime.fromisoformat(begun[-1][1])) == slot:
        begun = (*begun[:-1], (begun[-1][0], slot))
    else:
        begun = (*begun, (slot, slot))[-_SPANS:]
    job = replace(job, begun=begun)
    behind_s = MADE_UP_S if job.spec.missed == "all" else 0.0
    from_s = max(now - behind_s, moment.timestamp())
    _move(connection, job, find_next(job, from_s))
    return True


def _move(connection: sqlite3.Connection, job: Job, to: str | None) -> None:
    connection.execute(
        "UPDATE cron_jobs SET next_run = ?, begun = ? WHERE id = ?",
        (to, json.dumps(job.begun), job.id))


def skip(connection: sqlite3.Connection, job: Job, now: float) -> None:
    """Move a job on past what it missed, and note that."""
    _move(connection, job, find_next(job, now))
    connection.execute(
        "INSERT INTO cron_runs (job_id, slot, started_at, status,"
        " finished_at, output, duration_ms)"
        " VALUES (?, ?, ?, 'skipped', ?, ?, 0)"
        " ON CONFLICT (job_id, slot) DO NOTHING",
        (job.id, job.next_run, rfc3339(now), rfc3339(now), SKIPPED))
    connection.execute("UPDATE cron_jobs SET last_status = 'skipped'"
                       " WHERE id = ?", (job.id,))
    close(connection, job.id, "skipped")


def _follow(job: Job, after: datetime) -> str | None:
    try:
        moment = next_run(job.spec.schedule, after,
                          datetime.fromisoformat(job.created_at))
    except UsageError:  # no such zone on this machine: it holds up no other
        return None
    return None if moment is None else rfc3339(moment.timestamp())


def _is_running(connection: sqlite3.Connection, job_id: str) -> bool:
    return connection.execute(
        "SELECT 1 FROM cron_runs WHERE job_id = ? AND status = 'running'",
        (job_id,)).fetchone() is not None


def _end_lease(now: float, lease_s: float) -> str:
    return rfc3339(now + min(lease_s, MOST_LEASE_S))


def read(connection: sqlite3.Connection, where: str, *values: object
         ) -> list[Run]:
    return [decode_run(row) for row in connection.execute(
        f"SELECT {RUN_COLUMNS} FROM cron_runs WHERE {where} ORDER BY id",
        values)]
