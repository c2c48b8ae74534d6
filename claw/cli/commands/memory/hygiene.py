"""claw memory hygiene: archive, retention, size, snapshot, now."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import NotFoundError, UnavailableError
from claw.memory.hygiene.report import Report
from claw.wiring.memory.hygiene import tidy

_SKIPPED = {
    "off": "memory.hygiene_enabled is false; --force runs it all the same",
    "not_due": "it was done in the last 12 hours; --force does it again",
}


@examples("claw memory hygiene --dry-run", "claw memory hygiene --force",
          "claw memory hygiene --force --json | jq .archived_session_files")
def hygiene(
        context: typer.Context,
        dry_run: Annotated[bool, typer.Option(
            "--dry-run",
            help="Print what would be done, and do nothing.")] = False,
        force: Annotated[bool, typer.Option(
            "--force",
            help="Run even when it ran in the last 12 hours or is turned "
                 "off.")] = False,
) -> None:
    """Archive old memories and remove expired ones.

    Moves daily files and sessions to their archives, removes old
    conversations and writes the snapshot, as the [memory] settings say. A
    running agent does this by itself, at most twice a day. Removals are
    announced a day before. Age counts from the day a memory was stored
    here; imported and pinned memories stay.
    """
    run = Invocation.of(context)
    if not run.places.workspace.is_dir():
        raise NotFoundError(
            f"there is no workspace at {run.places.workspace}",
            hint="claw config path says where it is looked for")
    with run.out.waiting("tidying the memory"):
        report = tidy(run.settings, run.out.note, force=force,
                      dry_run=dry_run, whole=True,
                      progress=run.out.progress)
    if report.skipped == "busy":
        raise UnavailableError("another process is tidying this memory",
                               hint="try again in a moment")
    if run.as_json:
        run.out.document(report.to_json())
    else:
        _print(run, report)
    if report.failures:
        raise typer.Exit(report.failures[0].code)


def _print(run: Invocation, report: Report) -> None:
    if report.skipped is not None:
        run.out.note(_SKIPPED[report.skipped])
        return
    would = "would be: " if report.dry_run else ""
    for line in report.lines():
        run.out.result(would + line)
    if report.dry_run:
        for done, path in report.files:
            run.out.note(f"would be {done}: {path}")
        run.out.note("nothing was changed (--dry-run)" if report.lines()
                     or report.files or report.announced
                     else "there is nothing to do")
    elif not report.lines() and not report.failures \
            and report.announced is None:
        run.out.note("there was nothing to do")
    if report.announcement is not None:
        run.out.note(report.announcement)
    if report.undo is not None:
        run.out.note(report.undo)
