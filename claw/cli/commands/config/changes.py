"""Settings before and after, as config apply, history and undo show them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from claw.cli.invocation import Invocation
from claw.cli.show.output import to_json, visible
from claw.config.display import to_toml
from claw.text.plural import plural
from claw.wiring.checks.check import Check
from claw.wiring.config.apply import Applied, Change


def record_change(change: Change) -> dict[str, Any]:
    return {"key": change.key, "before": change.before,
            "after": change.after}


def format_changes(changes: Sequence[Change]) -> Iterator[str]:
    """"- key = old" and "+ key = new", secrets masked."""
    for change in changes:
        for sign, value in (("-", change.before), ("+", change.after)):
            if value is not None:
                yield visible(f"{sign} {change.key} = {_render(value)}")


def say_checks(run: Invocation, checks: Iterable[Check]) -> None:
    """Findings that are new, each with its next step."""
    for check in checks:
        hint = f" ({check.hint})" if check.hint else ""
        run.out.warn(f"{check.detail}{hint}")


def say_applied(run: Invocation, done: Applied) -> None:
    """What was encrypted, what was found, and the way back."""
    for name in done.sealed:
        run.out.note(f"{name} is stored encrypted")
    say_checks(run, done.checks)
    if not done.changes and done.version is None:
        run.out.note("nothing to change")
        return
    run.out.note(f"{run.places.config_file}: "
                 f"{plural(len(done.changes), 'setting')} changed" + (
                     "; back: claw config undo" if done.version else ""))


def _render(value: Any) -> str:
    try:
        return to_toml(value)
    except ValueError:
        return to_json(value)
