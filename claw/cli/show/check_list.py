"""A list of checks on the screen, each line as it is known: doctor, channel
doctor, listen --check.

On a terminal the sound ones of a group are folded into a count; -v shows
them, and so does a pipe, which a program reads.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from claw.cli.invocation import Invocation
from claw.cli.show.bars import wrap
from claw.cli.show.look import MARKS
from claw.cli.show.output import Output, visible
from claw.core.value import replace
from claw.text.plural import plural
from claw.wiring.checks.check import Check

_INDENT = " " * 7


def has_failure(checks: Sequence[Check]) -> bool:
    """Whether one of them fails; warnings do not count."""
    return any(c.status == "fail" for c in checks)


def report(run: Invocation, checks: Iterable[Check], **more: Any) -> int:
    """Print the checks, as JSON with `more` behind them; returns the exit
    code, 1 when one fails."""
    if run.as_json:
        found = list(checks)
        run.out.document({"ok": not has_failure(found),
                          "checks": [c.to_json() for c in found], **more})
    else:
        found = show(checks, run.out, folds=not run.verbose)
    return int(has_failure(found))


def show(checks: Iterable[Check], out: Output, *,
         folds: bool = False) -> list[Check]:
    """The checks by group, each ill one with its next step, and a count;
    returns them. With `folds` a terminal gets the sound ones as a count, and
    one that was left out for a reason that was told before."""
    if folds:
        checks = _fold_skipped(checks)
    folds = folds and out.on_terminal
    seen: list[Check] = []
    sound = 0
    told: set[str] = set()  # why something was left out
    for check in _wait_for(checks, out):
        begins = not seen or check.section != seen[-1].section
        if begins and folds and seen:
            _show_sound(seen, sound, out)
        if begins:
            sound = 0
            if not folds:
                out.result(check.section)
        seen.append(check)
        if folds and check.status == "ok":
            sound += 1
        elif not (folds and check.status == "skip" and check.detail in told):
            _show_check(check, out)
            if check.hint is None:
                told.add(check.detail)
    if folds and seen:
        _show_sound(seen, sound, out)
    good, odd, bad = (sum(c.status == status for c in seen)
                      for status in ("ok", "warn", "fail"))
    out.result(f"{good} ok, {plural(odd, 'warning')}, "
               f"{plural(bad, 'failure')}")
    return seen


def _fold_skipped(checks: Iterable[Check]) -> Iterator[Check]:
    """What was left out of one thing for one reason is one line."""
    held: Check | None = None
    for check in checks:
        if held is not None:
            begin, _, last = check.id.rpartition(".")
            if check.status == "skip" and (check.detail, check.hint) == (
                        held.detail, held.hint) \
                    and held.id.startswith(f"{begin}."):
                held = replace(held, id=f"{held.id}, {last}")
                continue
            yield held
        held = check if check.status == "skip" else None
        if held is None:
            yield check
    if held is not None:
        yield held


def _wait_for(checks: Iterable[Check], out: Output) -> Iterator[Check]:
    """The checks; what is looked for is said while it takes long."""
    left, done = iter(checks), ""
    while True:
        with out.waiting("looking" + done):
            check = next(left, None)
        if check is None:
            return
        done = f" ({check.group} is under way)"
        yield check


def _show_sound(seen: Sequence[Check], sound: int, out: Output) -> None:
    """How many of the last group are well."""
    if sound:
        section = seen[-1].section
        every = sum(check.section == section for check in seen)
        show_mark("ok", out)
        out.result(f"{section}: {plural(sound, 'check')}"
                   + ("" if every == sound else f" of {every}"))


def _show_check(check: Check, out: Output) -> None:
    show_line(check.status, f"{check.id}: {check.detail}", out)
    if check.hint and check.status != "ok":
        show_hint(check.hint, out)


def show_line(status: str, text: str, out: Output) -> None:
    """A mark and what is to be said, within the width of a terminal."""
    show_mark(status, out)
    out.result(_hang(text, _INDENT, out))


def show_hint(text: str, out: Output) -> None:
    """The next step under a line."""
    out.result(f"{_INDENT}-> " + _hang(text, _INDENT + "   ", out))


def _hang(text: str, indent: str, out: Output) -> str:
    text = visible(text)
    if not out.on_terminal:
        return text
    return f"\n{indent}".join(wrap(text, out.columns - len(indent)))


def show_mark(status: str, out: Output) -> None:
    """How a line of a check begins."""
    out.styled(f"  {out.paint(MARKS[status], status)} ")
