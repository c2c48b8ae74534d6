"""claw why: what happened in a turn."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import NotFoundError
from claw.runtime.turn.trace_view import render_trace
from claw.storage.queue.reader import open_reader
from claw.wiring.workspace.place_names import queue_path


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
    path = queue_path(run.places)
    found, parts = None, []
    if path.exists():
        with open_reader(path) as reader:
            found = reader.trace(turn)
            if found is not None and found.get("turn_id"):
                parts = reader.outbox_rows(
                    source=f"turn:{found['turn_id']}")
    if found is None:
        raise NotFoundError(
            f"no turn {turn!r} is known" if turn else "no turn is known yet",
            hint="turns of claw listen are kept for 30 days; see: claw "
                 "queue list --all")
    sends = [{"part": row.number, "state": row.state,
              "message_id": row.message_id, "attempts": row.attempts,
              "uncertain": row.uncertain, "error": row.error}
             for row in parts]
    run.print_result({**found, "sends": sends}, "\n".join([
        *render_trace(found),
        *(f"Sent: part {send['part']} {send['state']}"
          + (f" as {send['message_id']}" if send["message_id"] else "")
          + (f", {send['attempts']} attempts" if send["attempts"] else "")
          + (f" ({send['error']})" if send["error"] else "")
          for send in sends)]))
