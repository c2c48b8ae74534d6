"""claw doctor: one look at everything."""

from typing import Annotated

import typer

from claw.cli.check_list import failed, show
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.wiring.checks import Check
from claw.wiring.doctor import examine


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
    checks = list(examine(run.places))
    if fix:
        checks = _mend(checks, run)
    if run.as_json:
        run.out.document({"ok": not failed(checks),
                          "checks": [c.to_json() for c in checks]})
    else:
        show(checks, run.out)
    raise typer.Exit(1 if failed(checks) else 0)


def _mend(checks: list[Check], run: Invocation) -> list[Check]:
    """Repair what can be repaired, then look again."""
    ills = [c for c in checks if c.repair and c.status != "ok"]
    for check in ills:
        assert check.repair
        check.repair()
        run.out.note(f"mended: {check.detail}")
    return list(examine(run.places)) if ills else checks
