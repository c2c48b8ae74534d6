"""claw migrate."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from claw.cli.commands.migrate.view import (
    list_next,
    list_undo,
    render,
    to_json,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.prompt import confirm, may_ask
from claw.core.errors import ExitCode, UsageError
from claw.wiring.setup.migrate import AGENTS, PARTS, Part
from claw.wiring.setup.migrate.carry import carry_out
from claw.wiring.setup.migrate.find import find_one
from claw.wiring.setup.migrate.plan import Plan, check_parts
from claw.wiring.setup.migrate.plan import plan as make_plan
from claw.wiring.setup.migrate.unfinished import end


@examples("claw migrate zeroclaw --dry-run",
          "claw migrate openclaw --only memories,skills",
          "claw migrate hermes /mnt/old/.hermes --yes --json")
def migrate(context: typer.Context,
            agent: Annotated[str, typer.Argument(
                metavar="zeroclaw|openclaw|nanobot|hermes",
                help="Whose things are brought.")],
            path: Annotated[str | None, typer.Argument(
                metavar="[PATH]", help="Its folder; default: where that "
                "agent keeps it, ~/.NAME.")] = None,
            dry_run: Annotated[bool, typer.Option(
                "--dry-run", help="Count what would be brought, and write "
                "nothing.")] = False,
            only: Annotated[str | None, typer.Option(
                "--only", metavar="PARTS", help="Some of: settings, files, "
                "memories, skills, sessions, jobs; commas between.")] = None,
            loosen: Annotated[bool, typer.Option(
                "--loosen", help="Bring also the settings that are held "
                "back: addresses, people, programs, more autonomy."
                )] = False,
            yes: Annotated[bool, typer.Option(
                "--yes", help="Do it without asking.")] = False) -> None:
    """Bring settings, memories, skills and jobs of another agent to claw.

    The other agent's files are only read. What claw has already stays: a
    setting keeps its value, a file of another text comes beside it, a
    memory under a key of its own. Keys and tokens are kept encrypted,
    skills are not accepted, commands of jobs come switched off. It may be
    run again, also after it was interrupted.
    """
    run = Invocation.of(context)
    if agent not in AGENTS:
        raise UsageError(f"claw can't take over from {agent!r:.40}",
                         hint="it can from: " + ", ".join(AGENTS))
    parts = _split(only)
    found = find_one(agent, path, Path(os.path.expanduser("~")), os.environ)
    if os.path.realpath(found.home) == os.path.realpath(run.places.home):
        raise UsageError(f"{found.home} is claw's own folder",
                         hint=f"name {agent}'s")
    asks = not (yes or dry_run)
    if asks and (run.as_json or not may_ask()):
        raise UsageError("nobody can be asked here",
                         hint="--dry-run counts what would be brought, "
                         "--yes brings it")
    with run.out.waiting(f"reading {found.home}"):
        planned = make_plan(found, run.places, only=parts, loosening=loosen,
                            notify=run.out.progress)
    if planned.is_empty and not dry_run:
        end(found, run.places)
    if dry_run or planned.is_empty:
        _show(run, planned, planned.parts, planned.notes, dry_run=dry_run)
        _end(planned.parts)
        return
    if asks and not _ask(run, planned):
        run.out.note("nothing was brought")
        raise typer.Exit(ExitCode.DENIED)
    run.use_workspace()
    with run.out.waiting("bringing it over"):
        done = carry_out(planned, notify=run.out.progress)
    _show(run, planned, done.parts, done.notes, dry_run=False, brief=asks)
    if done.error is not None:
        raise typer.Exit(done.error.exit_code)
    _end(done.parts)


def _split(only: str | None) -> Sequence[str]:
    if only is None:
        return PARTS
    names = [name.strip() for name in only.split(",") if name.strip()]
    check_parts(names)
    if not names:
        raise UsageError("--only names no part",
                         hint="the parts are: " + ", ".join(PARTS))
    return names


def _ask(run: Invocation, planned: Plan) -> bool:
    run.out.interrupt_waiting()
    for line in render(planned.found, planned.parts, planned.notes):
        sys.stderr.write(f"{run.out.redact(line)}\n")
    return confirm(run.out, "Bring this to claw?", default=False)


def _show(run: Invocation, planned: Plan, parts: Sequence[Part],
          notes: Sequence[str], *, dry_run: bool, brief: bool = False
          ) -> None:
    found = planned.found
    steps = [] if dry_run or planned.is_empty else list_next(
        found, parts, shlex.quote(str(found.home)))
    lines = render(found, parts, notes, brief=brief)
    if planned.is_empty:
        lines.append("there is nothing new to bring")
    run.print_result(to_json(found, parts, notes, dry_run=dry_run,
                             next=steps), "\n".join(lines))
    if dry_run or planned.is_empty:
        return
    for line in list_undo(parts):
        run.out.note(f"to take it back, {line}")
    run.out.note(f"{found.agent} was left as it was: end it before claw "
                 "listens to the same channels")
    for step in steps:
        run.out.note(f"next: {step}")


def _end(parts: Sequence[Part]) -> None:
    """A part that could not be looked at is a negative answer."""
    if any(part.problem for part in parts):
        raise typer.Exit(ExitCode.NEGATIVE)
