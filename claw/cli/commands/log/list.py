"""claw log list."""

from typing import Annotated

import typer

from claw.cli.commands.log.common import (
    LimitOption,
    ModelFilter,
    SessionFilter,
    build_filters,
    fit_lines,
    format_line,
    open_log,
    print_entries,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.times import SinceOption, UntilOption


@examples("claw log list", "claw log list --since today -n 50",
          "claw log list --refused",
          "claw log list --json | jq -r '.entries[].prompt'")
def list_(
        context: typer.Context,
        limit: LimitOption = 20,
        offset: Annotated[int, typer.Option(
            "--offset", metavar="N", min=0,
            help="Leave out so many.")] = 0,
        since: SinceOption = None,
        until: UntilOption = None,
        session: SessionFilter = None,
        model: ModelFilter = None,
        refused: Annotated[bool, typer.Option(
            "--refused", help="Only those in which a call wanted a yes and "
                              "nobody gave it.")] = False,
) -> None:
    """List questions and turns, the latest first.

    A line each: id, time, where it was asked, its first words. What was
    stopped, went wrong or is being answered says so. Everything but
    --no-log is kept, for 365 days and up to 500 MiB: settings log.enabled,
    log.keep_days, log.max_mb.
    """
    run = Invocation.of(context)
    filters = build_filters(since, until, session, model, refused=refused)
    entries, total = [], 0
    with open_log(run) as reader:
        if reader is not None:
            entries = reader.page(filters, limit, offset)
            total = reader.count(filters)
    if print_entries(run, entries, total=total):
        return
    if entries:
        run.out.result(fit_lines(
            run, (format_line(run, entry) for entry in entries)))
    end = offset + len(entries)
    if entries and end < total and run.out.on_terminal:
        run.out.note(f"{offset + 1}-{end} of {total:,}; next page: "
                     f"--offset {end}")
