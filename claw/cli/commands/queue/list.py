"""claw queue list: what waits, when it is tried next, and what went wrong."""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines
from claw.core.errors import ConfigError
from claw.core.minutes import format_span
from claw.core.times import rfc3339
from claw.runtime.message.keys import registered_name
from claw.storage.queue.model import InboxRow, OutboxRow
from claw.storage.queue.reader import open_reader
from claw.wiring.workspace.place_names import queue_path

_OPEN_IN = ("waiting", "running")
OPEN_OUT = ("waiting", "sending", "uncertain")


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
    path = queue_path(run.places)
    inbox: list[InboxRow] = []
    outbox: list[OutboxRow] = []
    if path.exists():
        with open_reader(path) as reader:
            inbox = reader.inbox_rows(
                states=_states(failed, everything, _OPEN_IN), limit=limit)
            outbox = reader.outbox_rows(
                states=_states(failed, everything, OPEN_OUT), limit=limit)
    gone = _find_gone(run, inbox, outbox)
    why_in = explain_inbox(inbox, gone)
    why_out = explain_outbox(outbox, gone, time.time())
    lines = [*map(_list_incoming, inbox, why_in),
             *map(_list_outgoing, outbox, why_out)]
    if run.as_json:
        run.out.document({
            "inbox": [{**_incoming(row), "why": why} for row, why
                      in zip(inbox, why_in, strict=True)],
            "outbox": [{**_outgoing(row), "why": why} for row, why
                       in zip(outbox, why_out, strict=True)],
            "total": len(lines)})
        return
    run.out.table(lines)
    if not lines:
        run.out.note("nothing waits")
    for name in map(join_lines, sorted(gone)):
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


def explain_inbox(rows: Sequence[InboxRow], gone: Collection[str]
                  ) -> list[str | None]:
    """What each row waits for, oldest first; why it ended. `gone` are
    channels that are not configured any more."""
    found: list[str | None] = []
    first: dict[str, int] = {}
    for row in rows:
        if row.state not in _OPEN_IN:
            found.append(row.reason)
            continue
        before = first.setdefault(row.conversation, row.seq)
        found.append(
            "the channel is not configured"
            if registered_name(row.message.channel) in gone
            else "it is being answered" if row.state == "running"
            else f"behind {before}" if before != row.seq else "the next")
    return found


def explain_outbox(rows: Sequence[OutboxRow], gone: Collection[str],
                   now: float) -> list[str | None]:
    """As `explain_inbox`; `now` is unix seconds."""
    found: list[str | None] = []
    first: dict[tuple[str, str, str | None], int] = {}
    for row in rows:
        if row.state not in OPEN_OUT:
            found.append(row.error)
            continue
        chat = (row.channel, row.message.recipient, row.message.thread_ts)
        before = first.setdefault(chat, row.seq)
        if registered_name(row.channel) in gone:
            found.append("the channel is not configured")
        elif row.state == "sending":
            found.append("it is being sent")
        elif before != row.seq:
            found.append(f"behind {before}")
        else:
            found.append(_next_try(row.next_at - now)
                         + (f": {row.error}" if row.error else ""))
    return found


def _next_try(seconds: float) -> str:
    return f"next try in {format_span(seconds)}" if seconds >= 1 \
        else "due now"


def _find_gone(run: Invocation, inbox: Sequence[InboxRow],
               outbox: Sequence[OutboxRow]) -> set[str]:
    """Channels that open or failed rows are for and that are not
    configured. Settings that can't be read say nothing of that."""
    names = {row.message.channel for row in inbox
             if row.state in (*_OPEN_IN, "failed")}
    names |= {row.channel for row in outbox
              if row.state in (*OPEN_OUT, "failed")}
    if names:
        from claw.wiring.channels.names import list_gone
        with suppress(ConfigError):
            return list_gone(run.settings, names)
    return set()


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
    waits = row.state in ("waiting", "uncertain") and row.next_at > 0
    return {"number": row.seq, "state": row.state, "source": row.source,
            "part": row.number, "channel": row.channel,
            "recipient": row.message.recipient, "text": row.part.text,
            "message_id": row.message_id, "uncertain": row.uncertain,
            "attempts": row.attempts, "error": row.error,
            "created_at": rfc3339(row.created_at),
            "next_at": rfc3339(row.next_at) if waits else None}


def _start(text: str) -> str:
    text = join_lines(text)
    return text if len(text) <= 60 else text[:60] + "..."
