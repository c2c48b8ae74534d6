"""What happened in a turn of a channel: for `claw why` and the gateway's
page."""

from collections.abc import Iterator, Mapping
from typing import Any

from claw.config.places import Places
from claw.runtime.turn.trace_view import render_trace
from claw.storage.queue.reader import open_reader
from claw.wiring.workspace.place_names import queue_path


def find_trace(places: Places, turn: str | None) -> dict[str, Any] | None:
    """The trace of a turn (its id, the beginning of it, or a message's id;
    None: the last one), with "sends": what became of its answer. None where
    none is known."""
    path = queue_path(places)
    if not path.exists():
        return None
    with open_reader(path) as reader:
        found = reader.trace(turn)
        if found is None:
            return None
        parts = reader.outbox_rows(source=f"turn:{found['turn_id']}") \
            if found.get("turn_id") else []
    return {**found, "sends": [
        {"part": row.number, "state": row.state,
         "message_id": row.message_id, "attempts": row.attempts,
         "uncertain": row.uncertain, "error": row.error, "seen": row.seen}
        for row in parts]}


def write_trace(found: Mapping[str, Any]) -> Iterator[str]:
    """Its lines for people."""
    yield from render_trace(found)
    for send in found["sends"]:
        yield (f"Sent: part {send['part']} {send['state']}"
               + (f" as {send['message_id']}" if send["message_id"] else "")
               + (f", {send['seen']}" if send["seen"] else "")
               + (f", {send['attempts']} attempts" if send["attempts"]
                  else "")
               + (f" ({send['error']})" if send["error"] else ""))
