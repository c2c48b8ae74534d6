"""claw config apply: a whole config.toml, tried before it counts."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from claw.cli.commands.config.changes import (
    format_changes,
    record_change,
    say_applied,
    say_checks,
)
from claw.cli.commands.config.unfinished import take_back_unfinished
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.stdin import NAME, note_wait, read_past
from claw.config.parse import MOST_BYTES, read_file
from claw.config.store import current
from claw.config.tree import Tree
from claw.core.errors import ConfigError, ExitCode, UsageError
from claw.core.value import replace
from claw.text.plural import plural
from claw.wiring.checks.check import Check
from claw.wiring.checks.config import run_settings_checks
from claw.wiring.checks.health import (
    run_health_checks,
    run_health_checks_deep,
)
from claw.wiring.config.apply import Applied, apply_text, check_text

DRY_RUN = Annotated[bool, typer.Option(
    "--dry-run", help="Show what would change and what is found; write "
                      "nothing.")]
NO_PROBE = Annotated[bool, typer.Option(
    "--no-probe", help="Ask no server: neither the model's nor those of the "
                       "channels.")]


@examples("claw config apply new.toml", "claw config apply new.toml --dry-run",
          "ssh host cat .claw/config.toml | claw config apply -",
          "claw config apply new.toml --json | jq '.changes[].key'")
def apply(context: typer.Context,
          file: Annotated[str, typer.Argument(
              metavar="FILE|-", help="A config.toml; - is standard input.")],
          dry_run: DRY_RUN = False, no_probe: NO_PROBE = False,
          deep: Annotated[bool, typer.Option(
              "--deep", help="Ask the model a real question too; that may "
                             "cost money.")] = False) -> None:
    """Put a whole config.toml in place, if it holds.

    It is checked before anything is written, then tried in place: the
    model's server is asked for its list, each channel for its token, and a
    running claw listen must take it over. When one of these fails, and did
    not before, config.toml is again what it was (exit 3): also for a host
    that does not exist, and a port at which nothing listens. Where the
    network is away, or a server has too much to do, nothing can be told:
    the settings stay, and the exit code is 5. Secrets in plain are
    encrypted. The earlier text is kept:
    claw config undo.
    """
    if deep and no_probe:
        raise UsageError("--deep and --no-probe exclude each other")
    run = Invocation.of(context)
    data = _read(run, file)
    raise typer.Exit(put(run, data, NAME if file == "-" else file,
                         dry_run=dry_run, no_probe=no_probe, deep=deep))


def put(run: Invocation, data: bytes, name: str, *, dry_run: bool,
        no_probe: bool, deep: bool = False, forced: bool = False) -> int:
    """Apply a text and say what became of it; the exit code. `name` is
    what errors call it."""
    places = run.places
    take_back_unfinished(run)
    before = current(places)
    if dry_run:
        changes, found = check_text(places, data, before, name=name,
                                    forced=forced)
        done = Applied(None, changes, found, ())
    else:
        probe = (run_settings_checks if no_probe else _tell(
            run, deep=deep))
        with run.out.waiting("trying the settings"):
            done = apply_text(places, data, expected=before, probe=probe,
                              name=name, forced=forced)
    code = _report(run, done, dry_run=dry_run)
    run.forget_warnings([check.detail for check in done.checks])
    return code


def _tell(run: Invocation, *, deep: bool) -> Any:
    checks = run_health_checks_deep if deep else run_health_checks

    def probe(tree: Tree) -> Iterator[Check]:
        yield from run_settings_checks(tree)
        for check in checks(tree):
            hints = filter(None, (check.hint, "to ask no server: --no-probe"))
            yield replace(check, hint="; ".join(hints)) \
                if check.status == "fail" else check
    return probe


def _read(run: Invocation, file: str) -> bytes:
    """The bytes of a file, a pipe or standard input. Nothing at all is
    what a command that failed before the pipe gives."""
    name = NAME if file == "-" else file
    path = Path(file)
    if file == "-":
        with note_wait(run.out.note):
            data = read_past(sys.stdin.buffer, MOST_BYTES)
    elif path.is_fifo():
        with path.open("rb") as stream:
            data = read_past(stream, MOST_BYTES)
    else:
        data = read_file(path)[0]
    if not data.strip():
        raise ConfigError(
            f"{name} is empty, and would remove every setting",
            hint="to begin anew move config.toml away: mv "
                 f"{shlex.quote(str(run.places.config_file))} old.toml")
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{name} holds more than 1 MiB, which no settings "
                          "do", hint="give the config.toml alone")
    return data


def _report(run: Invocation, done: Applied, *, dry_run: bool) -> int:
    untold = [check for check in done.checks if check.status == "skip"]
    if run.as_json:
        run.out.document({
            "applied": bool(done.changes or done.version) and not dry_run,
            "version": done.version,
            "changes": [record_change(c) for c in done.changes],
            "total": len(done.changes), "sealed": list(done.sealed),
            "checks": [c.to_json() for c in done.checks]})
    elif done.changes:
        run.out.result("\n".join(format_changes(done.changes)))
    if dry_run:
        say_checks(run, done.checks)
        run.out.note(f"{plural(len(done.changes), 'setting')} would change; "
                     "nothing was written")
    else:
        say_applied(run, done)
    if untold and not dry_run:
        run.out.warn("the settings are in place, and not everything about "
                     "them could be tried: claw config undo takes them back")
        return ExitCode.UNAVAILABLE
    return ExitCode.DONE
