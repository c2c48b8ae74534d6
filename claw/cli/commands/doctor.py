"""claw doctor: one look at everything."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.check_list import report
from claw.core.errors import UsageError
from claw.providers.check import PAID
from claw.wiring.checks.doctor import run_checks


@examples("claw doctor", "claw doctor --fix", "claw doctor --deep",
          "claw doctor --json | jq '.checks[] | select(.status != \"ok\")'")
def doctor(context: typer.Context,
           fix: Annotated[bool, typer.Option(
               "--fix", help="Repair what can be repaired safely.")] = False,
           deep: Annotated[bool, typer.Option(
               "--deep", help="Ask the model real questions too, as claw "
                              "provider test does; that may cost money."
           )] = False,
           ask: Annotated[bool, typer.Option("--ask", hidden=True)] = False,
           ) -> None:
    """Check everything once and say what to fix.

    Every check has a stable id and, if it does not pass, the exact next
    step. On a terminal passed checks are counted; -v shows each. Exits 1
    when a check fails; warnings do not count. Without --deep no model is
    called and nothing is paid.
    """
    if ask:
        raise UsageError("--ask is called --deep now",
                         hint="claw doctor --deep")
    run = Invocation.of(context)
    if fix:
        _mend(run, deep=deep)
    if deep and run.out.on_terminal:
        run.out.note(PAID)
    code = report(run, run_checks(run.places, asks=deep))
    if not deep and run.out.on_terminal:
        run.out.note("no model was asked and nothing was paid; claw doctor "
                     "--deep asks")
    raise typer.Exit(code)


def _mend(run: Invocation, *, deep: bool) -> None:
    """Mend what can be; what is done is shown while it lasts."""
    with run.out.waiting("looking for what can be fixed"):
        checks = list(run_checks(run.places, asks=deep))
    for check in checks:
        if check.repair and check.status != "ok":
            check.repair()
            run.out.note(f"fixed: {check.detail}")
