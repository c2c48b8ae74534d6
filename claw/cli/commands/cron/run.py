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
from claw.wiring.jobs.run import run_job
from claw.wiring.workspace.trust import require_trust

_FINE = ("ok", "skipped")


@examples("claw cron run digest", "claw cron run digest --json | jq .run")
def run(context: typer.Context, job: o.JobArgument) -> None:
    """Run a job at once, here, and print what came of it.

    It runs as it would by itself: in its conversation, within its limits,
    and with nobody to ask. Its schedule stays, and nothing is sent to its
    target. Exits 1 when the run fails, 6 when policy, a limit or a missing
    yes stops it.
    """
    invocation = Invocation.of(context)
    require_trust(invocation.use_workspace(asks=True))
    found = find(open_store(invocation), job)
    out = invocation.out
    with out.waiting("running"), interrupts_as_errors(invocation):
        ended = asyncio.run(run_job(invocation.settings, found, out.note))
    invocation.print_result({"run": run_json(ended, found)},
                            ended.output or "")
    if ended.status == "skipped":
        out.note("skipped: there was nothing to do")
    elif ended.status != "ok":
        out.warn(f"the run ended with {ended.status}")
    if ended.cost_usd:
        out.note(f"it cost {dollars(ended.cost_usd)}")
    if ended.status not in _FINE:
        raise typer.Exit(ExitCode.DENIED if ended.status == "denied"
                         else ExitCode.NEGATIVE)
