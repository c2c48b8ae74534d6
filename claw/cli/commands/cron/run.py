"""claw cron run: a job at once, in this process."""

import asyncio

import typer

from claw.cli.commands.cron import options as o
from claw.cli.commands.cron.common import find, open_store
from claw.cli.commands.cron.view import run_json
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.interrupt import interrupts_as_errors
from claw.core.errors import ExitCode
from claw.core.ledger import dollars
from claw.tools.offer.checked import Denial
from claw.wiring.jobs.run import run_job
from claw.wiring.workspace.trust import require_trust


@examples("claw cron run digest", "claw cron run digest --json | jq .run")
def run(context: typer.Context, job: o.JobArgument) -> None:
    """Run a job at once, here, and print what came of it.

    It runs as it would by itself: with its policy, and nobody to ask. Its
    schedule stays, and nothing is sent to its target. Exits 1 when the run
    fails, 6 when policy or a missing yes stops it.
    """
    invocation = Invocation.of(context)
    require_trust(invocation.use_workspace(asks=True))
    store = open_store(invocation)
    found = find(store, job)
    out = invocation.out
    with out.waiting("running"), interrupts_as_errors(invocation):
        result, cost_usd = asyncio.run(run_job(
            invocation.settings, found, out.note))
    kept = store.list_runs(found.id, 1)
    if invocation.as_json:
        out.document({"success": result.success, "output": result.output,
                      "error": result.error, "run": run_json(
                          kept[0], found) if kept else None})
    elif result.success:
        out.result(result.output)
    else:
        out.warn(result.error or "the run failed")
    if cost_usd:
        out.note(f"it cost {dollars(cost_usd)}")
    if not result.success:
        raise typer.Exit(ExitCode.DENIED if isinstance(result, Denial)
                         else ExitCode.NEGATIVE)
