"""claw channel list: which channels there are and how they are."""

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.wiring.channels.states import states


@examples("claw channel list", "claw channel list --json")
def list_(context: typer.Context) -> None:
    """List the channels and their state, those set up first."""
    run = Invocation.of(context)
    rows = states(run.settings)
    lines = []
    for row in rows:
        line = f"{row.name:<12} {'set up' if row.configured else '-':<7}"
        if row.configured and row.status != "unknown":
            line += f" {row.status}, last receive {row.last_receive}"
        lines.append(line.rstrip())
        if row.rejected:
            lines.append("  goes on with the settings from before: "
                         + row.rejected)
        lines += [f"  {one.name} is {one.id}" + (
            f"; {one.refused} has the name too and is refused"
            if one.refused else "") for one in row.people]
    run.print_result({"channels": [row.to_json() for row in rows],
                      "total": len(rows)}, "\n".join(lines))
