"""claw template rm."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode, NotFoundError, RefusedError
from claw.wiring.templates import remove_template


@examples("claw template rm standup")
def rm(context: typer.Context,
       names: Annotated[list[str], typer.Argument(
           metavar="NAME...", help="Templates of yours.")]) -> None:
    """Remove templates of yours. Exits 1 when one is not there.

    Where yours stood before one of claw's own, that one counts again.
    """
    run = Invocation.of(context)
    removed: list[str] = []
    missing: list[NotFoundError | RefusedError] = []
    for name in names:
        try:
            remove_template(run.places, name)
            removed.append(name)
        except (NotFoundError, RefusedError) as error:
            missing.append(error)
    if run.as_json:
        run.out.document({"removed": removed, "missing": len(missing)})
    for name in removed:
        run.out.note(f"{name} is removed")
    for gap in missing:
        run.out.warn(f"{gap.message} ({gap.hint})")
    if missing:
        raise typer.Exit(ExitCode.NEGATIVE)
