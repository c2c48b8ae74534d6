"""claw security audit: what holds on this machine."""

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.check_list import report
from claw.wiring.checks.audit.run import run_audit


@examples("claw security audit", "claw security audit --json",
          "claw security audit > audit.txt || echo 'look at claw'")
def audit(context: typer.Context) -> None:
    """Test the defences of this machine and say what does not hold.

    Tries each layer of the sandbox in a real command, and checks file
    modes, autonomy, allow-lists, ports, keys in plain text and plug-ins.
    Uses no network and no model, and changes nothing. Exits 1 when
    something does not hold; each such line says how to fix it. Warnings do
    not count.
    """
    run = Invocation.of(context)
    raise typer.Exit(report(run, run_audit(run.places)))
