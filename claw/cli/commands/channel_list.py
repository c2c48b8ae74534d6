"""claw channel list: which channels there are and how they are."""

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.wiring.channel_states import states


@examples("claw channel list", "claw channel list --json")
def list_(context: typer.Context) -> None:
    """List the channels, those that are set up first, and how they are."""
    run = Invocation.of(context)
    rows = states(run.settings)
    if run.as_json:
        run.out.document({"channels": [row.to_json() for row in rows],
                          "total": len(rows)})
        return
    for row in rows:
        mark = "set up" if row.configured else "-"
        line = f"{row.name:<12} {mark:<7}"
        if row.configured and row.status != "unknown":
            line += f" {row.status}, last receive {row.last_receive}"
        run.out.result(line.rstrip())
