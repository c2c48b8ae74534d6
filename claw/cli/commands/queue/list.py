"""claw queue list: what waits and what went wrong."""

from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.times import rfc3339
from claw.storage.queue.model import InboxRow, OutboxRow
from claw.storage.queue.reader import open_reader
from claw.wiring.place_names import queue_path

_OPEN_IN = ("waiting", "running")
_OPEN_OUT = ("waiting", "sending", "uncertain")


@examples("claw queue list", "claw queue list --failed",
          "claw queue list --all -n 20 --json")
def list_(context: typer.Context,
          failed: Annotated[bool, typer.Option(
              "--failed", help="Only what went wrong.")] = False,
          everything: Annotated[bool, typer.Option(
              "--all", help="What is finished too.")] = False,
          limit: Annotated[int, typer.Option(
              "-n", "--limit", min=1, max=10_000, metavar="COUNT",
              help="Most rows of each kind.")] = 50) -> None:
    """List messages that wait for an answer and answers that wait to go.

    Exits 1 when there is none.
    """
    run = Invocation.of(context)
    path = queue_path(run.places)
    inbox: list[InboxRow] = []
    outbox: list[OutboxRow] = []
    if path.exists():
        with open_reader(path) as reader:
            inbox = reader.inbox_rows(
                states=_states(failed, everything, _OPEN_IN), limit=limit)
            outbox = reader.outbox_rows(
                states=_states(failed, everything, _OPEN_OUT), limit=limit)
    lines = [f"in   {row.seq}  {row.state}  {row.message.id}  "
             f"{row.message.sender}: {_start(row.message.content)}"
             for row in inbox]
    lines += [f"out  {part.seq}  {part.state}  {part.channel}:"
              f"{part.message.recipient}  {_start(part.part.text)}"
              + (f"  ({part.error})" if part.error else "")
              for part in outbox]
    run.print_result({"inbox": [_incoming(row) for row in inbox],
                      "outbox": [_outgoing(row) for row in outbox],
                      "total": len(lines)}, "\n".join(lines))
    if not inbox and not outbox:
        if not run.as_json:
            run.out.note("nothing waits")
        raise typer.Exit(1)


def _states(failed: bool, everything: bool,
            usual: tuple[str, ...]) -> tuple[str, ...]:
    if failed:
        return ("failed",)
    return () if everything else usual


def _incoming(row: InboxRow) -> dict[str, Any]:
    return {"number": row.seq, "state": row.state, "id": row.message.id,
            "channel": row.message.channel, "sender": row.message.sender,
            "text": row.message.content, "turn_id": row.turn_id,
            "received_at": rfc3339(row.received_at), "attempts": row.attempts,
            "reason": row.reason}


def _outgoing(row: OutboxRow) -> dict[str, Any]:
    return {"number": row.seq, "state": row.state, "source": row.source,
            "part": row.number, "channel": row.channel,
            "recipient": row.message.recipient, "text": row.part.text,
            "message_id": row.message_id, "uncertain": row.uncertain,
            "attempts": row.attempts, "error": row.error,
            "created_at": rfc3339(row.created_at)}


def _start(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:60] + "..."
