"""claw doctor: one look at everything."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.check_list import report
from claw.config.history import list_versions
from claw.core.errors import ClawError, StorageError, UsageError
from claw.providers.check import PAID
from claw.wiring.checks.check import Check
from claw.wiring.checks.doctor import run_checks
from claw.wiring.checks.repairs import refuse_foreign_home


@examples("claw doctor", "claw doctor --fix", "claw doctor --fix --dry-run",
          "claw doctor --deep",
          "claw doctor --json | jq '.checks[] | select(.status != \"ok\")'")
def doctor(context: typer.Context,
           fix: Annotated[bool, typer.Option(
               "--fix", help="Repair what can be repaired safely: each step "
                              "is shown, with what takes it back.")] = False,
           dry_run: Annotated[bool, typer.Option(
               "--dry-run", help="With --fix: show the steps and do "
                                 "nothing.")] = False,
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
    if dry_run and not fix:
        raise UsageError("--dry-run goes with --fix",
                         hint="claw doctor --fix --dry-run")
    if fix:
        _mend(run, deep=deep, dry_run=dry_run)
    if deep and run.out.on_terminal:
        run.out.note(PAID)
    code = report(run, run_checks(run.places, asks=deep))
    if not deep and run.out.on_terminal:
        run.out.note("no model was asked and nothing was paid; claw doctor "
                     "--deep asks")
    raise typer.Exit(code)


def _mend(run: Invocation, *, deep: bool, dry_run: bool) -> None:
    """Mend what can be: each step is said, done, and what takes it back is
    said. One that fails keeps no other from being done."""
    refuse_foreign_home(run.places)
    with run.out.waiting("looking for what can be fixed"):
        checks = list(run_checks(run.places, asks=deep))
    found = [c for c in checks if c.repair and c.status != "ok"]
    kept = len(list_versions(run.places))
    for check in found:
        what = check.fix or check.detail
        back = f"back: {check.undo}" if check.undo \
            else "this can't be taken back"
        if dry_run:
            run.out.note(f"{check.id}: would {what} ({back})")
            continue
        run.out.note(f"{check.id}: {what}")
        try:
            _repair(check)
        except ClawError as error:
            run.out.error(error)
        else:
            run.out.note(f"fixed: {check.id}; {back}")
    kept = len(list_versions(run.places)) - kept
    if kept > 1:
        run.out.note("config.toml as it was before all of these: claw config "
                     f"undo {kept} --force")
    if not found:
        run.out.note("there is nothing that --fix can repair")


def _repair(check: Check) -> None:
    try:
        if check.repair:
            check.repair()
    except OSError as error:
        raise StorageError(f"{check.id}: {error}") from error
