"""claw channel doctor: what is wrong with a channel."""

from typing import Annotated

import typer

from claw.cli.check_list import failed, show
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.wiring.channel_checks import channel_checks
from claw.wiring.channel_states import states


@examples("claw channel doctor", "claw channel doctor telegram",
          "claw channel doctor --json")
def doctor(context: typer.Context,
           names: Annotated[list[str] | None, typer.Argument(
               metavar="[NAME]...", help="Channels; none: all.")] = None
           ) -> None:
    """Look at each channel step by step and say what to do.

    Name server, connection, certificate, token, other pollers, clock,
    allow-list, and how long ago something was received and sent. Exits 1
    when something fails.
    """
    run = Invocation.of(context)
    with run.out.waiting("looking at the channels"):
        checks = list(channel_checks(run.settings, names or ()))
    if run.as_json:
        run.out.document({
            "ok": not failed(checks),
            "checks": [check.to_json() for check in checks],
            "channels": [row.to_json() for row in states(run.settings)
                         if row.configured]})
    else:
        show(checks, run.out)
    raise typer.Exit(1 if failed(checks) else 0)
