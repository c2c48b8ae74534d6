"""claw cron show."""

import typer

from claw.cli.commands.cron import options as o
from claw.cli.commands.cron.common import find, open_store
from claw.cli.commands.cron.enable import foresee
from claw.cli.commands.cron.view import job_json, job_rows
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples


@examples("claw cron show digest", "claw cron show digest --json | jq "
          ".forecast.month_usd")
def show(context: typer.Context, job: o.JobArgument) -> None:
    """Show all of one job, and forecast what a month of it will cost."""
    run = Invocation.of(context)
    run.out.show_for_approval()
    store = open_store(run)
    found = find(store, job)
    forecast = foresee(run, found.spec, store.list_runs(found.id),
                       found.created_at)
    if run.as_json:
        run.out.document(job_json(found, forecast=forecast.to_json()))
        return
    run.out.table(job_rows(found))
