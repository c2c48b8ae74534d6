"""claw queue: what waits, what went wrong, and what to do about it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import NotFoundError, UsageError
from claw.core.registry import load_dotted
from claw.storage.queue.model import InboxRow, OutboxRow
from claw.storage.queue.reader import open_reader
from claw.wiring.place_names import queue_path

T = TypeVar("T")

_QUEUE = "claw.storage.queue.sqlite:SqliteQueue"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
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
    if run.as_json:
        run.out.document({
            "inbox": [_incoming(row) for row in inbox],
            "outbox": [_outgoing(row) for row in outbox],
            "total": len(inbox) + len(outbox)})
    else:
        for row in inbox:
            run.out.result(f"in   {row.seq}  {row.state}  "
                           f"{row.message.id}  {row.message.sender}: "
                           f"{_start(row.message.content)}")
        for part in outbox:
            run.out.result(f"out  {part.seq}  {part.state}  {part.channel}:"
                           f"{part.message.recipient}  "
                           f"{_start(part.part.text)}"
                           + (f"  ({part.error})" if part.error else ""))
    if not inbox and not outbox:
        if not run.as_json:
            run.out.note("nothing waits")
        raise typer.Exit(1)


@examples("claw queue retry", "claw queue retry 17 18")
def retry(context: typer.Context,
          numbers: Annotated[list[int] | None, typer.Argument(
              metavar="[NUMBER]...",
              help="Numbers of `claw queue list`; none: all that "
                   "failed.")] = None) -> None:
    """Send again what could not be sent. Exits 1 when nothing failed."""
    run = Invocation.of(context)
    count = _changed(run, lambda queue: queue.retry(numbers or []))
    _said(run, "retried", count)


@examples("claw queue purge", "claw queue purge --older-than 7d",
          "claw queue purge --failed --yes")
def purge(context: typer.Context,
          older_than: Annotated[str, typer.Option(
              "--older-than", metavar="30d",
              help="Age, e.g. 12h or 30d.")] = "7d",
          failed: Annotated[bool, typer.Option(
              "--failed", help="Also what failed, whatever its age.")
          ] = False,
          yes: Annotated[bool, typer.Option(
              "--yes", help="Do it; without it nothing is removed.")
          ] = False) -> None:
    """Remove finished rows. What waits is never removed.

    Ids stay known for 30 days, so that a message that is delivered again
    is still recognised.
    """
    run = Invocation.of(context)
    seconds = seconds_of(older_than)
    if not yes:
        raise UsageError("this removes rows for good",
                         hint="say --yes to do it; see them with: claw "
                              "queue list --all")

    async def work(queue: Any) -> int:
        done: int = await queue.purge(older_than_s=seconds)
        if failed:
            done += await queue.purge(older_than_s=0, states=("failed",))
        return done
    _said(run, "purged", _changed(run, work), empty_is_fine=True)


def seconds_of(text: str) -> float:
    """ "90s", "12h" or "30d" in seconds. Raises UsageError."""
    number, unit = text.strip()[:-1], text.strip()[-1:].lower()
    if unit not in _UNITS or not number.isdigit():
        raise UsageError(f"--older-than: {text!r} is no age",
                         hint="a number and s, m, h or d, e.g. 30d")
    return float(int(number) * _UNITS[unit])


def _changed(run: Invocation, work: Callable[[Any], Awaitable[T]]) -> T:
    path = queue_path(run.places)
    if not path.exists():
        raise NotFoundError("there is no queue yet",
                            hint="claw listen makes it")

    async def with_queue() -> T:
        queue = load_dotted(_QUEUE)(path)
        try:
            return await work(queue)
        finally:
            await queue.aclose()
    return asyncio.run(with_queue())


def _said(run: Invocation, what: str, count: int, *,
          empty_is_fine: bool = False) -> None:
    if run.as_json:
        run.out.document({what: count})
    else:
        run.out.result(f"{what} {count}")
    if not count and not empty_is_fine:
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
            "received_at": row.received_at, "attempts": row.attempts,
            "reason": row.reason}


def _outgoing(row: OutboxRow) -> dict[str, Any]:
    return {"number": row.seq, "state": row.state, "source": row.source,
            "part": row.number, "channel": row.channel,
            "recipient": row.message.recipient, "text": row.part.text,
            "message_id": row.message_id, "uncertain": row.uncertain,
            "attempts": row.attempts, "error": row.error,
            "created_at": row.created_at}


def _start(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:60] + "..."
