"""claw security review: files that a command changed wait for a yes."""

from pathlib import Path
from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.prompt import confirm, may_ask
from claw.core.errors import ExitCode, NotFoundError, StorageError, UsageError
from claw.security.watched.diff import hash_change, render_change
from claw.security.watched.record import Held, accept, list_held, refuse


@examples("claw security review", "claw security review --no USER.md",
          "claw security review --json | jq -r '.waiting[].name'")
def review(context: typer.Context,
           names: Annotated[list[str] | None, typer.Argument(
               metavar="[NAME]...", show_default=False,
               help="Files to decide on (default: all that wait).")] = None,
           yes: Annotated[bool, typer.Option(
               "--yes", help="Accept the changes.")] = False,
           no: Annotated[bool, typer.Option(
               "--no", help="Restore what was there before.")] = False,
           ) -> None:
    """Show files of the prompt that a command changed, and decide on them.

    AGENTS.md and similar files are part of every prompt, and
    MEMORY_SNAPSHOT.md may become memories. What a command changes in them
    takes effect only after your yes. Refused changes are kept in
    state/held/refused of the workspace. Exits 1 while something waits.
    """
    run = Invocation.of(context)
    run.out.show_for_approval()
    if yes and no:
        raise UsageError("--yes and --no exclude each other",
                         hint="decide on some files at a time: claw "
                              "security review --no NAME")
    take = yes if yes or no else None
    waiting = _select(list_held(run.places.workspace), names or [])
    left = [held for held in waiting if not _decide(run, held, take)]
    if not run.print_json_rows("waiting", map(_to_json, left)) \
            and not waiting:
        run.out.note("nothing waits for a decision")
    if left:
        if not run.as_json:
            run.out.note("decide with: claw security review --yes (or --no) "
                         + " ".join(held.name for held in left))
        raise typer.Exit(ExitCode.NEGATIVE)


def _decide(run: Invocation, held: Held, take: bool | None) -> bool:
    """Show a file, and settle it where that is known or the person says
    so; whether it is settled."""
    if not run.as_json:
        run.out.result("\n".join(render_change(held)))
    if take is None and not run.as_json and may_ask() and confirm(
            run.out, f"Let {held.name} count?", default=False):
        take = True
    if take is None:
        return False
    _settle(run.places.workspace, held, take=take)
    run.out.note(f"{held.name}: " + ("it counts from now on" if take
                                     else "it is as it was before"))
    return True


def _select(waiting: list[Held], names: list[str]) -> list[Held]:
    known = {held.name: held for held in waiting}
    for name in names:
        if name not in known:
            raise NotFoundError(
                f"{name} does not wait for a decision",
                hint="list what does with: claw security review")
    return [held for held in waiting if not names or held.name in names]


def _settle(workspace: Path, held: Held, *, take: bool) -> None:
    decide = accept if take else refuse
    if not decide(workspace, held.name, held.now):
        raise StorageError(f"{held.name} changed again meanwhile",
                           hint="look anew with: claw security review")


def _to_json(held: Held) -> dict[str, object]:
    return {"name": held.name, "hash": hash_change(held),
            "diff": render_change(held)}
