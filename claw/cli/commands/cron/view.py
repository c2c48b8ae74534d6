"""Jobs, their runs and their times as people and programs read them."""

import time
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from claw.cli.show.output import join_lines
from claw.core.ledger import dollars
from claw.core.minutes import format_minute, format_span, write_span
from claw.core.times import rfc3339
from claw.storage.jobs.model import Job, JobSpec, Run
from claw.storage.jobs.schedule import Schedule, list_runs

HEAD = ("id", "name", "when", "next", "last", "what")
RUNS_HEAD = ("started", "job", "status", "took", "cost", "said")
_SHOWN_TIMES = 3
_TEXT_CHARS = 48


def job_json(job: Job, **more: Any) -> dict[str, Any]:
    """All of a job but its state inside the store; names as the tools of
    the agent have them."""
    spec, delivery = job.spec, job.spec.delivery
    announced = delivery.mode == "announce"
    return {
        "id": job.id, "name": spec.name, "job_type": spec.job_type,
        "schedule": spec.schedule.to_dict(), "command": spec.command,
        "prompt": spec.prompt, "model": spec.model,
        "session_target": spec.session_target,
        "allowed_tools": None if spec.allowed_tools is None
        else list(spec.allowed_tools),
        "delivery": {"channel": delivery.channel, "to": delivery.to,
                     "best_effort": delivery.best_effort}
        if announced else None,
        "policy": None if spec.policy is None else dict(spec.policy),
        "precheck": spec.precheck, "missed": spec.missed,
        "max_silence_s": spec.max_silence_s, "timeout_s": spec.timeout_s,
        "monthly_limit_usd": None if spec.monthly_cents is None
        else round(spec.monthly_cents / 100, 6),
        "delete_after_run": spec.delete_after_run, "enabled": spec.enabled,
        "source": spec.source, "origin": spec.origin,
        "created_at": job.created_at, "next_run": job.next_run,
        "last_run": job.last_run, "last_status": job.last_status, **more}


def run_json(run: Run, job: Job) -> dict[str, Any]:
    return {"id": run.id, "job_id": run.job_id, "job_name": job.spec.name,
            "scheduled_for": run.slot, "started_at": run.started_at,
            "finished_at": run.finished_at, "status": run.status,
            "duration_ms": run.duration_ms, "cost_usd": run.cost_usd,
            "turn_id": run.turn_id, "output": run.output}


def job_cells(job: Job, *, short: bool) -> list[str]:
    """A line of the list; `short` for a person."""
    spec = job.spec
    when = write_schedule(spec.schedule)
    if short:
        upcoming = "paused" if not spec.enabled else \
            "over" if job.next_run is None else write_next(job)
        last = "-" if job.last_status is None else job.last_status if \
            job.last_run is None else \
            f"{job.last_status} {format_minute(job.last_run)}"
        return [job.id, join_lines(spec.name or "-"), when, upcoming, last,
                shorten(what_text(spec))]
    state = "enabled" if spec.enabled else "paused"
    return [job.id, join_lines(spec.name or ""), when, state,
            job.next_run or "", job.last_status or "", job.last_run or "",
            join_lines(what_text(spec))]


def write_next(job: Job, *, zone: bool = False) -> str:
    """Its next time; where that has passed, that it is due."""
    moment = job.next_run or ""
    is_due = job.spec.enabled and moment < rfc3339(time.time())
    return ("due since " if is_due else "") + format_minute(moment,
                                                            zone=zone)


def run_cells(run: Run, job: Job, *, short: bool) -> list[str]:
    """A line of the runs."""
    took = "-" if run.duration_ms is None else \
        f"{run.duration_ms / 1000:.1f} s" if run.duration_ms < 120_000 \
        else format_span(run.duration_ms / 1000)
    cost = "-" if run.cost_usd is None else dollars(run.cost_usd)
    said = join_lines(run.output or "")
    if short:
        return [format_minute(run.started_at, zone=True),
                join_lines(job.spec.name or job.id), run.status, took, cost,
                shorten(said)]
    return [run.started_at, job.id, run.status, str(run.duration_ms or ""),
            "" if run.cost_usd is None else f"{run.cost_usd:g}", said]


def job_rows(job: Job) -> list[tuple[str, str]]:
    """All that was said of a job, for a person."""
    spec, delivery = job.spec, job.spec.delivery
    policy = spec.policy or {}
    target = f"{delivery.channel}:{delivery.to}" + (
        "" if delivery.best_effort else " (or the run has failed)")
    tools = spec.allowed_tools
    rows = [
        ("id", job.id), ("name", spec.name),
        ("when", write_schedule(spec.schedule)),
        ("state", "enabled" if spec.enabled else "paused"),
        ("next", job.next_run and write_next(job, zone=True)),
        ("last", job.last_status and " ".join(filter(None, (
            job.last_status, format_minute(job.last_run or "",
                                           zone=True))))),
        ("prompt", spec.prompt), ("command", spec.command),
        ("precheck", spec.precheck), ("model", spec.model),
        ("conversation", spec.session_target
         if spec.job_type == "agent" else None),
        ("tools", None if tools is None else ", ".join(tools) or "none"),
        *((name.replace("_", " "), _join(value))
          for name, value in policy.items() if value not in (None, [], ())),
        ("to", target if delivery.mode == "announce" else None),
        ("missed times", spec.missed),
        ("notice after", spec.max_silence_s
         and write_span(spec.max_silence_s)),
        ("at most", spec.timeout_s and write_span(spec.timeout_s)),
        ("a month", spec.monthly_cents
         and dollars(spec.monthly_cents / 100)),
        ("after its run", "it goes" if spec.delete_after_run else None),
        ("from", "config.toml" if spec.source == "declarative"
         else spec.origin and f"a turn that had read: {spec.origin}"),
        ("made", format_minute(job.created_at, zone=True))]
    return [(name, join_lines(str(value))) for name, value in rows if value]


def _join(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) \
        else str(value)


def what_text(spec: JobSpec) -> str:
    """The command or the prompt."""
    return f"$ {spec.command}" if spec.job_type == "shell" \
        else spec.prompt or ""


def shorten(text: str) -> str:
    text = join_lines(text)
    return text if len(text) <= _TEXT_CHARS else text[:_TEXT_CHARS - 1] + "…"


def write_schedule(schedule: Schedule) -> str:
    """A schedule in few words."""
    if schedule.every_ms is not None:
        return f"every {write_span(schedule.every_ms / 1000)}"
    if schedule.at is not None:
        return f"at {format_minute(schedule.at, zone=True)}"
    return f"{schedule.expr} {schedule.tz or 'UTC'}"


def describe_times(schedule: Schedule, now: datetime, since: datetime
                   ) -> str:
    """The first times in the zone of the schedule, and what a clock here
    shows then where that is another."""
    times = list(islice(list_runs(schedule, now, since), _SHOWN_TIMES))
    if not times:
        return "it never comes"
    zone = find_zone(schedule)
    return "runs " + ", ".join(
        describe_moment(moment, zone) for moment in times) + (
        ", ..." if schedule.at is None else "")


def find_zone(schedule: Schedule) -> str | None:
    """The zone that a schedule is written in."""
    return (schedule.tz or "UTC") if schedule.expr else None


def describe_moment(moment: datetime, tz: str | None) -> str:
    """"Mon 2026-11-30 09:00 Europe/Berlin (here 08:00)"; without a zone what
    a clock here shows."""
    here = moment.astimezone()
    form = "%a %Y-%m-%d %H:%M" + (":%S" if moment.second else "")
    if tz is None:
        return here.strftime(form + " %Z")
    from zoneinfo import ZoneInfo
    there = moment.astimezone(ZoneInfo(tz))
    text = f"{there.strftime(form)} {tz}"
    if here.utcoffset() == there.utcoffset():
        return text
    day = "" if here.date() == there.date() else "%a "
    return f"{text} (here {here.strftime(day + '%H:%M')})"


def merge_runs(runs: Sequence[tuple[Run, Job]], limit: int
               ) -> list[tuple[Run, Job]]:
    """The newest of several jobs' runs."""
    return sorted(runs, key=lambda pair: pair[0].id, reverse=True)[:limit]
