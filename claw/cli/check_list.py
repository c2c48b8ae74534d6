"""A list of checks on the screen: doctor, channel doctor, listen --check."""

from collections.abc import Sequence
from typing import Any

from claw.cli.invocation import Invocation
from claw.cli.output import Output
from claw.wiring.checks.check import Check

_MARK = {"ok": ("ok  ", 32), "warn": ("warn", 33), "fail": ("FAIL", 31),
         "skip": ("skip", 2)}


def has_failure(checks: Sequence[Check]) -> bool:
    """Whether one of them fails; warnings do not count."""
    return any(c.status == "fail" for c in checks)


def report(run: Invocation, checks: Sequence[Check], **more: Any) -> int:
    """Print the checks, as JSON with `more` behind them; returns the exit
    code, 1 when one fails."""
    if run.as_json:
        run.out.document({"ok": not has_failure(checks),
                          "checks": [c.to_json() for c in checks], **more})
    else:
        show(checks, run.out)
    return int(has_failure(checks))


def show(checks: Sequence[Check], out: Output) -> None:
    """The checks by group, each ill one with its next step, and a count."""
    group = ""
    for check in checks:
        if check.group != group:
            group = check.group
            out.result(group)
        show_mark(check.status, out)
        out.result(f"{check.id}: {check.detail}")
        if check.hint and check.status != "ok":
            out.result(f"       -> {check.hint}")
    good, odd, bad = (sum(c.status == status for c in checks)
                      for status in ("ok", "warn", "fail"))
    out.result(f"{good} ok, {odd} warning{'' if odd == 1 else 's'}, "
               f"{bad} failure{'' if bad == 1 else 's'}")


def show_mark(status: str, out: Output) -> None:
    """How a line of a check begins."""
    mark, colour = _MARK[status]
    if out.colour:
        out.styled(f"  \x1b[{colour}m{mark}\x1b[0m ")
    else:
        out.piece(f"  {mark} ")
