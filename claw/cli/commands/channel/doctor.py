"""claw channel doctor: what is wrong with a channel."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.check_list import report
from claw.wiring.channels.states import states
from claw.wiring.checks.channels import channel_checks


@examples("claw channel doctor", "claw channel doctor telegram",
          "claw channel doctor --json")
def doctor(context: typer.Context,
           names: Annotated[list[str] | None, typer.Argument(
               metavar="[NAME]...", help="Channels; none: all.")] = None
           ) -> None:
    """Check each channel step by step and say what to fix.

    Name server, connection, certificate, token, other pollers, clock,
    allow-list, and how long ago something was received and sent. On a
    terminal the sound steps are counted, and shown with -v. Exits 1 when
    something fails.
    """
    run = Invocation.of(context)
    more = {"channels": [row.to_json() for row in states(run.settings)
                         if row.configured]} if run.as_json else {}
    raise typer.Exit(report(
        run, channel_checks(run.settings, names or ()), **more))
