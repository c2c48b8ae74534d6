"""claw cron list, runs, next."""

from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from typing import Annotated

import typer

from claw.cli.commands.cron import options as o
from claw.cli.commands.cron.common import find, open_store, say_idle
from claw.cli.commands.cron.times import parse_expression, read_zone
from claw.cli.commands.cron.view import (
    HEAD,
    RUNS_HEAD,
    describe_moment,
    find_zone,
    job_cells,
    job_json,
    merge_runs,
    run_cells,
    run_json,
    write_next,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import NotFoundError, UsageError
from claw.core.times import rfc3339
from claw.storage.jobs.model import Job
from claw.storage.jobs.schedule import Schedule, list_runs

_MADE = 'claw cron add "0 9 * * MON-FRI" --prompt "..." makes one'


@examples("claw cron list", "claw cron list --json | jq -r '.jobs[].id'")
def list_(context: typer.Context) -> None:
    """List the scheduled jobs, in the order they were made.

    A line each: id, name, schedule, next time, last outcome, and what it
    does.
    """
    run = Invocation.of(context)
    jobs = open_store(run).list_jobs()
    if run.print_json_rows("jobs", map(job_json, jobs)):
        return
    short = run.out.on_terminal
    run.out.table([job_cells(job, short=short) for job in jobs], head=HEAD)
    if not jobs:
        run.out.note(f"there are no jobs ({_MADE})")
    if any(write_next(job).startswith("due") for job in jobs):
        say_idle(run)


@examples("claw cron runs", "claw cron runs digest -n 5",
          "claw cron runs digest -n 1 --output",
          "claw cron runs --json | jq '.runs[] | .status, .cost_usd'")
def runs(context: typer.Context,
         job: Annotated[str | None, typer.Argument(
             metavar="[JOB]", show_default=False,
             help="A job's name or id, or how one begins.")] = None,
         limit: o.CountOption = 20,
         output: Annotated[bool, typer.Option(
             "--output", help="Print whole what the runs said, and nothing "
                              "else.")] = False) -> None:
    """List the runs of a job or of all: status, time, cost, what they said.

    A status is ok, error, skipped (its precheck or --missed said so),
    denied (a limit or a missing yes), interrupted or running.
    """
    run = Invocation.of(context)
    store = open_store(run)
    jobs = store.list_jobs() if job is None else [find(store, job)]
    pairs = merge_runs([(each, own) for own in jobs
                        for each in store.list_runs(own.id, limit)], limit)
    if run.print_json_rows("runs", (run_json(*pair) for pair in pairs)):
        return
    if output:
        run.out.result("\n".join(each.output or "" for each, _ in pairs))
    else:
        short = run.out.on_terminal
        run.out.table([run_cells(*pair, short=short) for pair in pairs],
                      head=RUNS_HEAD, right=[3, 4])
    if not pairs:
        run.out.note("nothing has run yet" if jobs
                     else f"there are no jobs ({_MADE})")


@examples("claw cron next", "claw cron next digest -n 3",
          'claw cron next "*/5 9-17 * * *" --tz Europe/Berlin -n 5')
def next_(context: typer.Context,
          words: Annotated[list[str] | None, typer.Argument(
              metavar="[JOB|EXPRESSION]", show_default=False,
              help="A job, or a cron expression in quotes.")] = None,
          tz: o.ZoneOption = None, limit: o.CountOption = 5) -> None:
    """Print the next times of all jobs, of one, or of an expression.

    Exits 1 when nothing comes.
    """
    run = Invocation.of(context)
    now = datetime.now(UTC)
    if words and (len(words) > 1 or " " in words[0].strip()
                  or words[0].startswith("@")):
        schedule = parse_expression(words, tz and read_zone(tz))
        coming: Iterator[_Row] = (
            (moment, schedule, None) for moment in list_runs(schedule, now,
                                                             now))
    else:
        if tz:
            raise UsageError("--tz is of an expression; a job has its own")
        store = open_store(run)
        jobs = [find(store, words[0])] if words else [
            job for job in store.list_jobs() if job.spec.enabled]
        for job in jobs:
            if not job.spec.enabled:
                run.out.note("it is paused, and runs at none of these times "
                             f"(claw cron resume {job.id})")
        coming = merge(*(_follow(job, now) for job in jobs),
                       key=lambda row: row[0])
    rows = list(islice(coming, limit))
    if not run.print_json_rows("next", ({
            "at": rfc3339(moment.timestamp()),
            "local": moment.astimezone().isoformat(),
            "job_id": job and job.id, "job_name": job and job.spec.name}
            for moment, _, job in rows)):
        run.out.table([_write_row(row, short=run.out.on_terminal)
                       for row in rows])
    if not rows:
        raise NotFoundError("nothing comes", hint=_MADE)


_Row = tuple[datetime, Schedule, Job | None]


def _follow(job: Job, now: datetime) -> Iterator[_Row]:
    since = datetime.fromisoformat(job.created_at)
    return ((moment, job.spec.schedule, job)
            for moment in list_runs(job.spec.schedule, now, since))


def _write_row(row: _Row, *, short: bool) -> list[str]:
    moment, schedule, job = row
    name = [] if job is None else [job.spec.name or job.id]
    return [describe_moment(moment, find_zone(schedule)) if short
            else rfc3339(moment.timestamp()), *name]
