"""claw queue retry, purge: send again, clear away."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import NotFoundError, UsageError
from claw.storage.queue.model import OutboxRow
from claw.text.plural import plural
from claw.wiring.channels.names import list_gone
from claw.wiring.status.waiting import OPEN_OUT, explain_outbox
from claw.wiring.workspace.place_names import queue_path

T = TypeVar("T")

_SHOWN = 5  # rows of a note
_LAST = 2**63 - 1  # no row has this number, and the store takes it
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@examples("claw queue retry", "claw queue retry 17 18")
def retry(context: typer.Context,
          numbers: Annotated[list[int] | None, typer.Argument(
              metavar="[NUMBER]...",
              help="Numbers of `claw queue list`; none: all that "
                   "failed.")] = None) -> None:
    """Send again what could not be sent. Exits 1 when nothing failed.

    A message that failed itself, as its model did, is not asked again: its
    sender was told, and may write again.
    """
    run = Invocation.of(context)

    async def work(queue: Any) -> tuple[int, list[OutboxRow], int]:
        number: int = await queue.retry([
            min(max(number, 0), _LAST) for number in numbers or []])
        if number:
            return number, [], 0
        failed = await queue.inbox_rows(states=["failed"])
        return 0, await queue.outbox_rows(states=OPEN_OUT), len(failed)
    number, open_rows, failed = _run_on_queue(run, work)
    if failed:
        run.out.note(f"{plural(failed, 'message')} failed before there was "
                     "an answer to send: who wrote was told, and may write "
                     "again (to clear them: claw queue purge --failed --yes)")
    if open_rows:
        why = explain_outbox(open_rows, list_gone(run.settings, {
            row.channel for row in open_rows}), time.time())
        run.out.note("what waits is sent by itself: " + "; ".join(
            f"{row.seq} ({text})" for row, text
            in zip(open_rows[:_SHOWN], why, strict=False))
            + ("; ..." if len(open_rows) > _SHOWN else ""))
    _report(run, "retried", number)


@examples("claw queue purge --yes", "claw queue purge --older-than 30d --yes",
          "claw queue purge --failed --yes",
          "claw queue purge --channel discord --yes")
def purge(context: typer.Context,
          older_than: Annotated[str, typer.Option(
              "--older-than", metavar="30d",
              help="Age, e.g. 12h or 30d.")] = "7d",
          failed: Annotated[bool, typer.Option(
              "--failed", help="Remove failed messages of any age too.")
          ] = False,
          channel: Annotated[str | None, typer.Option(
              "--channel", metavar="NAME",
              help="Only what waits or failed for this channel, which must "
                   "not be configured any more.")] = None,
          yes: Annotated[bool, typer.Option(
              "--yes", help="Remove them; without it nothing is removed.")
          ] = False) -> None:
    """Remove finished rows, or those of a channel that is gone.

    What waits for a channel that is configured is never removed. Ids stay
    known for 30 days, so that a message that is delivered again is still
    recognised.
    """
    run = Invocation.of(context)
    seconds = parse_age(older_than)
    if not yes:
        raise UsageError("this removes rows for good",
                         hint="say --yes to do it; see them with: claw "
                              "queue list --all")
    if channel is not None:
        _check_gone(run, channel)

    async def work(queue: Any) -> int:
        if channel is not None:
            dropped: int = await queue.purge_channel(channel)
            return dropped
        done: int = await queue.purge(older_than_s=seconds)
        if failed:
            done += await queue.purge(older_than_s=0, states=("failed",))
        return done
    _report(run, "purged", _run_on_queue(run, work), empty_is_fine=True)


def _check_gone(run: Invocation, channel: str) -> None:
    """Raises UsageError for a channel that is configured."""
    if not list_gone(run.settings, [channel]):
        raise UsageError(
            f"channel {channel!r} is configured: what waits for it is "
            "answered and sent",
            hint=f"to drop it, remove [channels_config.{channel}] from "
                 "config.toml first")


def parse_age(text: str) -> float:
    """ "90s", "12h" or "30d" in seconds. Raises UsageError."""
    number, unit = text.strip()[:-1], text.strip()[-1:].lower()
    if unit not in _UNITS or not number.isdigit():
        raise UsageError(f"--older-than: {text!r} is no age",
                         hint="a number and s, m, h or d, e.g. 30d")
    return float(int(number) * _UNITS[unit])


def _run_on_queue(run: Invocation, work: Callable[[Any], Awaitable[T]]) -> T:
    path = queue_path(run.places)
    if not path.exists():
        raise NotFoundError("there is no queue yet",
                            hint="claw listen makes it")

    async def with_queue() -> T:
        from claw.storage.queue.sqlite import SqliteQueue
        queue = SqliteQueue(path)
        try:
            return await work(queue)
        finally:
            await queue.aclose()
    return asyncio.run(with_queue())


def _report(run: Invocation, what: str, count: int, *,
          empty_is_fine: bool = False) -> None:
    run.print_result({what: count}, f"{what} {count}")
    if not count and not empty_is_fine:
        raise typer.Exit(1)
