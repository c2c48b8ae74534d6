"""A list of checks on the screen: doctor, channel doctor, listen --check."""

from collections.abc import Sequence

from claw.cli.output import Output
from claw.wiring.checks import Check

_MARK = {"ok": "ok  ", "warn": "warn", "fail": "FAIL", "skip": "skip"}
_COLOUR = {"ok": "32", "warn": "33", "fail": "31", "skip": "2"}


def failed(checks: Sequence[Check]) -> bool:
    """Whether one of them fails; warnings do not count."""
    return any(c.status == "fail" for c in checks)


def show(checks: Sequence[Check], out: Output) -> None:
    """The checks by group, each ill one with its next step, and a count."""
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
