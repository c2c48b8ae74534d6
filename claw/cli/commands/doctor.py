"""claw doctor: one look at everything."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.output import Output
from claw.wiring.checks import Check
from claw.wiring.doctor import examine

_MARK = {"ok": "ok  ", "warn": "warn", "fail": "FAIL", "skip": "skip"}
_COLOUR = {"ok": "32", "warn": "33", "fail": "31", "skip": "2"}


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
        run.out.document({"ok": not _failed(checks),
                          "checks": [c.to_json() for c in checks]})
    else:
        _print(checks, run.out)
    raise typer.Exit(1 if _failed(checks) else 0)


def _failed(checks: list[Check]) -> bool:
    return any(c.status == "fail" for c in checks)


def _mend(checks: list[Check], run: Invocation) -> list[Check]:
    """Repair what can be repaired, then look again."""
    ills = [c for c in checks if c.repair and c.status != "ok"]
    for check in ills:
        assert check.repair
        check.repair()
        run.out.note(f"mended: {check.detail}")
    return list(examine(run.places)) if ills else checks


def _print(checks: list[Check], out: Output) -> None:
    group = ""
    for check in checks:
        if check.group != group:
            group = check.group
            out.result(group)
        mark = _MARK[check.status]
        if out.colour:
            mark = f"\x1b[{_COLOUR[check.status]}m{mark}\x1b[0m"
            out.styled(f"  {mark} ")
        else:
            out.piece(f"  {mark} ")
        out.result(f"{check.id}: {check.detail}")
        if check.hint and check.status != "ok":
            out.result(f"       -> {check.hint}")
    counts = {s: sum(c.status == s for c in checks)
              for s in ("ok", "warn", "fail")}
    out.result(f"{counts['ok']} ok, {_number(counts['warn'], 'warning')}, "
               f"{_number(counts['fail'], 'failure')}")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
