"""claw channel list: which channels there are and how they are."""

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines
from claw.wiring.channels.states import ChannelState, states


@examples("claw channel list", "claw channel list --json")
def list_(context: typer.Context) -> None:
    """List the channels and their state, those set up first."""
    run = Invocation.of(context)
    rows = states(run.settings)
    if not run.print_json_rows("channels", [row.to_json() for row in rows]):
        run.out.table(list(map(_list_cells, rows)))


def _list_cells(row: ChannelState) -> list[str]:
    """Name, state, and what is to be known of it."""
    known = [f"goes on with the settings from before: {row.rejected}"] \
        if row.rejected else []
    known += [f"{one.name} is {one.id}" + (
        f", {one.refused} has the name too and is refused"
        if one.refused else "") for one in row.people]
    return [row.name, "set up" if row.configured else "-",
            f"{row.status}, last receive {row.last_receive}"
            if row.configured and row.status != "unknown" else "",
            join_lines("; ".join(known))]
