"""A small life of the queue that ends at each of its failpoints in turn.

    python killed.py DIRECTORY

For each failpoint: a process dies there (nothing flushed), a second one
goes on to the end. Prints one JSON line for each: what the platforms were
told and what they got. No threads run in this process itself, so that it
may fork.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from claw.core import failpoint
from claw.core.channel import ChannelMessage, Part, SendMessage
from claw.storage.queue.model import Arrival, Completion, NewSend
from claw.storage.queue.sqlite import SqliteQueue

MESSAGES = ("1", "2")


def note(place, *words):
    """What a platform keeps: it is on the other side of the wire."""
    with (place / "platform").open("a", encoding="utf-8") as file:
        file.write(json.dumps(words) + "\n")


async def live(place):
    queue = SqliteQueue(place / "queue.db")
    lease = await queue.lease("listen", 30)
    assert lease is not None, "the dead process still holds the lease"
    await queue.recover(lease)
    for message_id in MESSAGES:  # the platform repeats what has no receipt
        await queue.accept(lease, [Arrival(ChannelMessage(
            message_id, "bob", "42", "hello", "telegram", 1), "bob")])
        note(place, "received", message_id)
    while claim := await queue.claim(lease, "bob"):
        source = f"turn:{claim.turn_id}"
        text = f"to {claim.rows[0].message.id}"
        await queue.complete(lease, claim, Completion("answered", sends=(
            NewSend(source, "telegram", SendMessage(text, "42"),
                    (Part("text", text),)),)))
    while rows := await queue.due("telegram", time.time(), 9):
        for row in rows:
            await queue.mark_sending(lease, row)
            queue.note_leaving(row)
            note(place, "sent", row.part.text, row.uncertain)
            await queue.mark_sent(lease, row, "id")
    counts = await queue.counts()
    note(place, "counts", {**counts.inbox}, {**counts.outbox})
    await queue.aclose()


def in_a_process(place, hook):
    """The exit code of a life with this hook at its failpoints."""
    child = os.fork()
    if child == 0:
        failpoint.install(hook)
        asyncio.run(live(place))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder):
    number = 0
    ended = failpoint.KILLED
    while ended == failpoint.KILLED:
        number += 1
        place = folder / str(number)
        place.mkdir()
        ended = in_a_process(place, failpoint.die_at(number))
        if ended == failpoint.KILLED:
            assert in_a_process(place, None) == 0
        words = (place / "platform").read_text("utf-8").splitlines()
        sys.stdout.write(json.dumps({
            "number": number, "ended": ended,
            "words": [json.loads(line) for line in words]}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
