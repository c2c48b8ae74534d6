"""claw estop: the emergency stop."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode, UsageError
from claw.security.estop import EmergencyStop


@examples("claw estop", 'claw estop --reason "it writes to strangers"',
          "claw estop --status || claw estop --lift")
def estop(
        context: typer.Context,
        reason: Annotated[str, typer.Option(
            "--reason", metavar="TEXT", help="What those read who meet the "
                                             "stop.")] = "",
        lift: Annotated[bool, typer.Option(
            "--lift", help="Let claw run again.")] = False,
        status: Annotated[bool, typer.Option(
            "--status", help="Change nothing; exit 1 while it is stopped."
        )] = False,
) -> None:
    """Stop everything at once, and keep claw shut until you lift it.

    Running turns and the commands they started are ended within a second,
    in every claw of this home; claw listen ends. Until claw estop --lift no
    turn begins, no tool runs and nothing is sent. Messages that come in
    meanwhile wait for their platform or in the inbox. In a chat /estop does
    the same.
    """
    run = Invocation.of(context)
    if lift + status + bool(reason) > 1:
        raise UsageError("--reason, --lift and --status exclude each other")
    stop = EmergencyStop(run.places.home)
    before = stop.read()
    if lift:
        stop.lift()
    elif not status:
        stop.set(reason)
    why = stop.read()
    run.print_result(
        {"stopped": why is not None, "why": why,
         "changed": (before is None) is not (why is None)},
        f"stopped: {why}" if why else
        "lifted" if lift and before is not None else "not stopped")
    if status and why:
        raise typer.Exit(ExitCode.NEGATIVE)
