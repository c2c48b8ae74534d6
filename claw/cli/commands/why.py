"""claw why: what happened in a turn."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import NotFoundError
from claw.wiring.status.why import find_trace, write_trace


@examples("claw why", "claw why 3f2a", "claw why telegram_1001_17 --json")
def why(context: typer.Context,
        turn: Annotated[str | None, typer.Argument(
            metavar="[TURN]", help="A turn's id (or its beginning), or a "
                                   "message's id; none: the last turn."
        )] = None) -> None:
    """Show what happened in a turn of a channel.

    Shows the message, the recalled memories with their scores, the size of
    each part of the prompt, model and tool calls, approvals, and what
    became of the answer. Exits 1 when the turn is not known.
    """
    run = Invocation.of(context)
    found = find_trace(run.places, turn)
    if found is None:
        raise NotFoundError(
            f"no turn {turn!r} is known" if turn else "no turn is known yet",
            hint="turns of claw listen are kept for 30 days; see: claw "
                 "queue list --all")
    run.print_result(found, "\n".join(write_trace(found)))
