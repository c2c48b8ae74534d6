"""claw cron remove, pause, resume."""

import typer

from claw.cli.commands.cron import options as o
from claw.cli.commands.cron.common import find, open_store
from claw.cli.commands.cron.enable import confirm_cost, foresee, say_when
from claw.cli.commands.cron.view import job_json, what_text
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import UsageError
from claw.core.value import replace
from claw.cron.heartbeat import ID as HEARTBEAT
from claw.storage.jobs.model import Job


@examples("claw cron remove digest", "claw cron remove 3f2a 9c01")
def remove(context: typer.Context, jobs: o.JobsArgument) -> None:
    """Remove jobs and what is kept of their runs.

    A run that has begun goes on to its end. claw cron pause keeps a job.
    """
    run = Invocation.of(context)
    store = open_store(run)
    found = [find(store, word) for word in dict.fromkeys(jobs)]
    for job in found:
        _refuse_declared(job)
    gone = [store.remove(job.id) for job in found]
    run.print_result({"removed": [job.id for job in gone],
                      "total": len(gone)},
                     "\n".join(job.id for job in gone))


@examples("claw cron pause digest")
def pause(context: typer.Context, jobs: o.JobsArgument) -> None:
    """Keep jobs from running until they are resumed."""
    run = Invocation.of(context)
    store = open_store(run)
    found = [find(store, word) for word in dict.fromkeys(jobs)]
    paused = [store.update(job.id, lambda spec: replace(spec, enabled=False))
              for job in found]
    _print_all(run, paused)


@examples("claw cron resume digest", "claw cron resume digest --yes")
def resume(context: typer.Context, jobs: o.JobsArgument,
           yes: o.YesFlag = False) -> None:
    """Let jobs run again, from their next time on.

    Forecasts on stderr what a month will cost; where that is above a limit
    you are asked (--yes: not).
    """
    run = Invocation.of(context)
    run.out.show_for_approval()
    store = open_store(run)
    found = [find(store, word) for word in dict.fromkeys(jobs)]
    forecasts = []
    for job in found:
        run.out.note(f"{job.spec.name or job.id} runs: "
                     f"{what_text(job.spec)}")
        forecasts.append(foresee(run, job.spec, store.list_runs(job.id),
                                 job.created_at))
        confirm_cost(run, forecasts[-1], yes=yes)
    resumed = [store.update(job.id, lambda spec: replace(spec, enabled=True))
               for job in found]
    if not run.print_json_rows("jobs", (
            job_json(job, forecast=forecast.to_json()) for job, forecast
            in zip(resumed, forecasts, strict=True))):
        run.out.result("\n".join(job.id for job in resumed))
    for job in resumed:
        say_when(run, job)


def _print_all(run: Invocation, jobs: list[Job]) -> None:
    if not run.print_json_rows("jobs", map(job_json, jobs)):
        run.out.result("\n".join(job.id for job in jobs))


def _refuse_declared(job: Job) -> None:
    """Raises UsageError for a job of the settings: the next start of claw
    listen would undo the change."""
    if job.spec.source == "declarative":
        raise UsageError(f"{job.spec.name or job.id} stands in config.toml",
                         hint="claw config set heartbeat.enabled false"
                         if job.id == HEARTBEAT
                         else "claw config edit removes it")
