"""claw doctor: one look at everything."""

from typing import Annotated

import typer

from claw.cli.check_list import report
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.wiring.checks.check import Check
from claw.wiring.checks.doctor import run_checks


@examples("claw doctor", "claw doctor --fix", "claw doctor --ask",
          "claw doctor --json | jq '.checks[] | select(.status != \"ok\")'")
def doctor(context: typer.Context,
           fix: Annotated[bool, typer.Option(
               "--fix", help="Mend what can be mended safely.")] = False,
           ask: Annotated[bool, typer.Option(
               "--ask", help="Ask the model real questions too, as claw "
                             "provider test does; that may cost money."
           )] = False) -> None:
    """Look at everything once and say what to do.

    Every line has a stable id and, unless all is well, the exact next step.
    Exits 1 when something fails; warnings do not count. Without --ask no
    model is called and nothing is paid.
    """
    run = Invocation.of(context)
    with run.out.waiting("looking"):
        checks = _look(run, asks=ask)
    mended = False
    for check in checks:
        if fix and check.repair and check.status != "ok":
            check.repair()
            run.out.note(f"mended: {check.detail}")
            mended = True
    if mended:
        with run.out.waiting("looking again"):
            checks = _look(run, asks=ask)
    raise typer.Exit(report(run, checks))


def _look(run: Invocation, *, asks: bool) -> list[Check]:
    """The checks; what is done is shown while it lasts."""
    found = []
    for check in run_checks(run.places, asks=asks):
        run.out.progress(f"looking ({check.group} is done)")
        found.append(check)
    return found
