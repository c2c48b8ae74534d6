"""What waits in the queue, as rows that say what each waits for: for
`claw queue list` and the gateway's page."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.errors import ConfigError
from claw.core.minutes import format_span
from claw.core.times import rfc3339
from claw.core.value import Value
from claw.runtime.message.keys import registered_name
from claw.storage.queue.model import InboxRow, OutboxRow
from claw.storage.queue.reader import open_reader
from claw.wiring.workspace.place_names import queue_path

OPEN_IN = ("waiting", "running")
OPEN_OUT = ("waiting", "sending", "uncertain")


class Rows(Value):
    """Messages and answers, each with what it waits for or why it ended;
    `gone` are channels of theirs that are not configured any more."""

    inbox: tuple[tuple[InboxRow, str | None], ...] = ()
    outbox: tuple[tuple[OutboxRow, str | None], ...] = ()
    gone: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Any]:
        return {"inbox": [{**_incoming(row), "why": why}
                          for row, why in self.inbox],
                "outbox": [{**_outgoing(row), "why": why}
                           for row, why in self.outbox],
                "total": len(self.inbox) + len(self.outbox)}


def read_rows(places: Places, tree: Callable[[], Tree], limit: int,
              states_in: Sequence[str] = OPEN_IN,
              states_out: Sequence[str] = OPEN_OUT) -> Rows:
    """At most `limit` of each, in these states (none: in any). `tree` is
    called where a row names a channel."""
    path = queue_path(places)
    if not path.exists():
        return Rows()
    with open_reader(path) as reader:
        inbox = reader.inbox_rows(states=states_in, limit=limit)
        outbox = reader.outbox_rows(states=states_out, limit=limit)
    gone = _find_gone(tree, inbox, outbox)
    return Rows(
        tuple(zip(inbox, explain_inbox(inbox, gone), strict=True)),
        tuple(zip(outbox, explain_outbox(outbox, gone, time.time()),
                  strict=True)), frozenset(gone))


def explain_inbox(rows: Sequence[InboxRow], gone: Collection[str]
                  ) -> list[str | None]:
    """What each row waits for, oldest first; why it ended. `gone` are
    channels that are not configured any more."""
    found: list[str | None] = []
    first: dict[str, int] = {}
    for row in rows:
        if row.state not in OPEN_IN:
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
            found.append(row.error or row.seen)
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
                         + (f", {row.seen}" if row.seen else "")
                         + (f": {row.error}" if row.error else ""))
    return found


def _next_try(seconds: float) -> str:
    return f"next try in {format_span(seconds)}" if seconds >= 1 \
        else "due now"


def _find_gone(tree: Callable[[], Tree], inbox: Sequence[InboxRow],
               outbox: Sequence[OutboxRow]) -> set[str]:
    """Channels that open or failed rows are for and that are not
    configured. Settings that can't be read say nothing of that."""
    names = {row.message.channel for row in inbox
             if row.state in (*OPEN_IN, "failed")}
    names |= {row.channel for row in outbox
              if row.state in (*OPEN_OUT, "failed")}
    if names:
        from claw.wiring.channels.names import list_gone
        with suppress(ConfigError):
            return list_gone(tree(), names)
    return set()


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
            "attempts": row.attempts, "error": row.error, "seen": row.seen,
            "created_at": rfc3339(row.created_at),
            "next_at": rfc3339(row.next_at) if waits else None}
