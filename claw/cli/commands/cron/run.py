"""claw cron run: a job at once, in this process."""

import asyncio

import typer

from claw.cli.commands.cron import options as o
from claw.cli.commands.cron.common import find, open_store
from claw.cli.commands.cron.view import run_json
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.interrupt import interrupts_as_errors
from claw.core.errors import DeniedError, ExitCode, UnavailableError
from claw.core.ledger import dollars
from claw.core.value import replace
from claw.tools.offer.checked import Denial
from claw.wiring.jobs.run import run_job
from claw.wiring.workspace.trust import require_trust

_FINE = ("ok", "skipped")  # its precheck said so


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
        result, turn_id, cost_usd = asyncio.run(run_job(
            invocation.settings, found, out.note))
    kept = next((each for each in store.list_runs(found.id)
                 if each.turn_id == turn_id), None)
    if kept is None:  # it never began
        raise (DeniedError if isinstance(result, Denial)
               else UnavailableError)(result.error or "it did not run")
    if kept.cost_usd is None and cost_usd:
        store.charge(kept, cost_usd)
        kept = replace(kept, cost_usd=cost_usd)
    invocation.print_result({"run": run_json(kept, found)},
                            kept.output or "")
    if kept.status == "skipped":
        out.note("skipped: so says its precheck")
    elif kept.status != "ok":
        out.warn(f"the run ended with {kept.status}")
    if kept.cost_usd:
        out.note(f"it cost {dollars(kept.cost_usd)}")
    if kept.status not in _FINE:
        raise typer.Exit(ExitCode.DENIED if kept.status == "denied"
                         else ExitCode.NEGATIVE)
