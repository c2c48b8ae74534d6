"""What a person is told, and asked, before a job is enabled."""

from collections.abc import Callable
from datetime import UTC, datetime

from claw.cli.commands.cron.common import say_idle
from claw.cli.commands.cron.view import describe_times
from claw.cli.invocation import Invocation
from claw.cli.terminal.prompt import confirm, may_ask
from claw.core.errors import DeniedError
from claw.storage.jobs.model import Job, JobSpec, Run
from claw.storage.jobs.store import SqliteJobs
from claw.wiring.jobs.forecast import Forecast, forecast

OFTEN = ("it comes more often than every five minutes, and each run asks a "
         "model")


def foresee(run: Invocation, spec: JobSpec, past: list[Run] | None = None,
            created_at: str | None = None) -> Forecast:
    """What it will cost, said on stderr."""
    found = forecast(
        run.settings, spec, past or (), since=None if created_at is None
        else datetime.fromisoformat(created_at))
    if found.runs:
        run.out.note(found.describe())
    if found.is_often:
        run.out.warn(OFTEN)
    for limit in found.exceeds:
        run.out.warn(f"that is above {limit}")
    return found


def confirm_cost(run: Invocation, found: Forecast, *, yes: bool) -> None:
    """Raises DeniedError where a forecast is above a limit and nobody says
    yes to it."""
    if not found.exceeds or yes:
        return
    if not may_ask():
        raise DeniedError(
            "its forecast is above " + " and ".join(found.exceeds),
            hint="--yes enables it all the same (a run that would pass a "
                 "limit is not made); or add it with --disabled")
    if not confirm(run.out, "Enable it all the same?", default=False):
        raise DeniedError("it is not enabled")


def say_when(run: Invocation, job: Job) -> None:
    """The first times, and whether anything runs them."""
    if not job.spec.enabled:
        run.out.note(f"it is paused (claw cron resume {job.id})")
        return
    run.out.note(describe_times(job.spec.schedule, datetime.now(UTC),
                                datetime.fromisoformat(job.created_at)))
    say_idle(run)


def check_name(store: SqliteJobs, name: str | None,
               fail: Callable[[Job], Exception], own: str = "") -> None:
    """Raises what `fail` makes of another job of that name."""
    for job in store.list_jobs() if name else ():
        if job.spec.name == name and job.id != own:
            raise fail(job)
