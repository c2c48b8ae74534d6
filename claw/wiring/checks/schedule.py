"""Doctor: the scheduled jobs. Can they be read, do they run, and does what
came of them arrive?"""

import shlex
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import takewhile

from claw.config.tree import Tree
from claw.core.errors import ClawError, StorageError
from claw.core.minutes import format_minute, format_span, write_span
from claw.core.times import rfc3339
from claw.storage.jobs.lookup import describe_job
from claw.storage.jobs.model import Job, Run
from claw.storage.jobs.settings import CronSettings
from claw.storage.jobs.store import SqliteJobs
from claw.text.plural import plural
from claw.tools.cron.base import check_commands
from claw.wiring.channels.names import list_configured
from claw.wiring.channels.states import read_running
from claw.wiring.checks.check import Check, Group
from claw.wiring.tools.build import build_policy
from claw.wiring.workspace.place_names import jobs_path

SCHEDULE = Group("schedule")
LATE_S = 120.0
_FAILED = ("error", "denied", "interrupted")
_REPEATED = 3
_NEXT = 3


@SCHEDULE.check
def check_schedule(tree: Tree) -> Iterator[Check]:
    """All of it, where there are jobs."""
    path = jobs_path(tree.places)
    if not path.exists() or not tree.places.trusted:
        return
    if not tree.decode("cron", CronSettings).enabled:
        yield Check("schedule.jobs", "skip", "off: cron.enabled is false",
                    "claw config set cron.enabled true")
        return
    store = SqliteJobs(path)
    try:
        store.check()
        jobs = store.list_jobs()
        runs = {job.id: store.list_runs(job.id) for job in jobs}
    except StorageError as error:
        quoted = shlex.quote(str(path))
        yield Check("schedule.jobs", "fail", error.message, error.hint
                    or f"mv {quoted} {quoted}.damaged")
        return
    now = time.time()
    is_running = read_running(tree.places) is not None
    yield _describe_all(jobs)
    late = [job for job in jobs if is_late(job, now)]
    if late and not is_running:
        yield Check(
            "schedule.listen", "warn",
            f"{plural(len(late), 'job')} should have run, and claw listen "
            "does not: " + ", ".join(map(describe_job, late[:_NEXT])),
            "claw listen, or: claw service install")
    channels = list_configured(tree)
    for job in jobs:
        yield from _check_job(tree, job, runs[job.id], channels, now,
                              is_running=is_running)


def is_late(job: Job, now: float) -> bool:
    """Whether a job should have begun by now."""
    return job.spec.enabled and job.next_run is not None \
        and job.next_run < rfc3339(now - LATE_S)


def _describe_all(jobs: Sequence[Job]) -> Check:
    coming = sorted((job for job in jobs if job.spec.enabled
                     and job.next_run), key=lambda job: str(job.next_run))
    text = plural(len(jobs), "job")
    if len(coming) < len(jobs):
        text += f", {len(coming)} of them on"
    return Check("schedule.jobs", "ok", text + ("; next: " + ", ".join(
        f"{describe_job(job)} ({format_minute(str(job.next_run))})"
        for job in coming[:_NEXT]) if coming else ""))


def _check_job(tree: Tree, job: Job, runs: Sequence[Run],
               channels: Collection[str], now: float, *, is_running: bool
               ) -> Iterator[Check]:
    """What is wrong with one job."""
    spec, name = job.spec, describe_job(job)
    word = shlex.quote(spec.name or job.id)

    def warn(what: str, text: str, hint: str) -> Check:
        return Check(f"schedule.{what}.{job.id}", "warn", f"{name}: {text}",
                     hint)
    if not spec.enabled:
        if job.next_run is None and job.last_status in _FAILED:
            yield warn("off", f"switched off, its one run ended with "
                       f"{job.last_status}", f"claw cron runs {word}")
        return
    if spec.delivery.mode == "announce" \
            and spec.delivery.channel not in channels:
        yield warn("channel", f"{spec.delivery.channel} is not set up any "
                   "more, so nobody hears what comes of it",
                   f"claw cron update {word} --to CHANNEL:RECIPIENT")
    failed = list(takewhile(lambda run: run.status in _FAILED, (
        run for run in runs if run.status not in ("running", "skipped"))))
    if len(failed) >= _REPEATED:
        yield warn("failing", f"its last {len(failed)} runs ended with "
                   f"{failed[0].status}", f"claw cron runs {word} -n 3")
    if job.silent:
        yield warn("silent", f"no success since "
                   f"{format_minute(job.quiet_since or '')}, and one was due "
                   f"within {write_span(spec.max_silence_s or 0)}",
                   f"claw cron runs {word}")
    if is_running and is_late(job, now):
        yield warn("late", "should have begun "
                   f"{_format_ago(str(job.next_run), now)} ago, though claw "
                   "listen runs", f"claw cron runs {word}; then the log of "
                   "claw listen")
    for run in runs:
        if run.status == "running" and (run.lease_until or "") < rfc3339(
                now - LATE_S):
            yield warn("wedged", "a run that began at "
                       f"{format_minute(run.started_at)} ended with its "
                       "process", "claw listen notes that when it starts; "
                       f"now: claw cron run {word}")
            break
    try:
        check_commands(build_policy(tree), spec)
    except ClawError as error:
        yield warn("refused", error.message, f"claw cron update {word}, or: "
                   "claw permission show")


def _format_ago(moment: str, now: float) -> str:
    return format_span(now - datetime.fromisoformat(moment).timestamp())
