"""claw queue list: what waits, when it is tried next, and what went wrong."""

from itertools import starmap
from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines
from claw.storage.queue.model import InboxRow, OutboxRow
from claw.wiring.status.waiting import OPEN_IN, OPEN_OUT, read_rows


@examples("claw queue list", "claw queue list --failed",
          "claw queue list --all -n 20 --json")
def list_(context: typer.Context,
          failed: Annotated[bool, typer.Option(
              "--failed", help="Print only what went wrong.")] = False,
          everything: Annotated[bool, typer.Option(
              "--all", help="List finished messages too.")] = False,
          limit: Annotated[int, typer.Option(
              "-n", "--limit", min=1, max=10_000, metavar="COUNT",
              help="Largest number of rows of each kind.")] = 50) -> None:
    """List messages waiting for an answer and answers waiting to be sent.

    Each line says what it waits for: the next try, an earlier row, or a
    channel that is no longer configured.
    """
    run = Invocation.of(context)
    rows = read_rows(run.places, lambda: run.settings, limit,
                     _states(failed, everything, OPEN_IN),
                     _states(failed, everything, OPEN_OUT))
    if run.as_json:
        run.out.document(rows.to_json())
        return
    lines = [*starmap(_list_incoming, rows.inbox),
             *starmap(_list_outgoing, rows.outbox)]
    run.out.table(lines)
    if not lines:
        run.out.note("nothing waits")
    for name in map(join_lines, sorted(rows.gone)):
        run.out.note(f"channel {name} is not configured any more; to drop "
                     f"what waits for it: claw queue purge --channel {name} "
                     "--yes")


def _list_incoming(row: InboxRow, why: str | None) -> list[str]:
    return ["in", str(row.seq), row.state, join_lines(row.message.id),
            f"{join_lines(row.message.sender)}: "
            f"{_start(row.message.content)}", join_lines(why or "")]


def _list_outgoing(part: OutboxRow, why: str | None) -> list[str]:
    return ["out", str(part.seq), part.state,
            f"{join_lines(part.channel)}:{join_lines(part.message.recipient)}",
            _start(part.part.text), join_lines(why or "")]


def _states(failed: bool, everything: bool,
            usual: tuple[str, ...]) -> tuple[str, ...]:
    if failed:
        return ("failed",)
    return () if everything else usual


def _start(text: str) -> str:
    text = join_lines(text)
    return text if len(text) <= 60 else text[:60] + "..."
