"""claw doctor: one look at everything."""

from typing import Annotated

import typer

from claw.cli.check_list import report
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.wiring.checks.doctor import run_checks


@examples("claw doctor", "claw doctor --fix",
          "claw doctor --json | jq '.checks[] | select(.status != \"ok\")'")
def doctor(context: typer.Context,
           fix: Annotated[bool, typer.Option(
               "--fix", help="Mend what can be mended safely.")] = False,
           ) -> None:
    """Look at everything once and say what to do.

    Every line has a stable id and, unless all is well, the exact next step.
    Exits 1 when something fails; warnings do not count.
    """
    run = Invocation.of(context)
    checks = list(run_checks(run.places))
    mended = False
    for check in checks:
        if fix and check.repair and check.status != "ok":
            check.repair()
            run.out.note(f"mended: {check.detail}")
            mended = True
    if mended:
        checks = list(run_checks(run.places))
    raise typer.Exit(report(run, checks))
