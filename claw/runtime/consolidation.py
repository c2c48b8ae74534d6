"""What turns left for the memory, put there in batches.

A turn's completion commits it (Completion.notes), so no kill loses it. One
model call takes the turns of a conversation that wait, up to BATCH_BYTES of
them: what comes while a call is under way goes together into the next. A
call that fails leaves them waiting, until the next turn or the next look.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from claw.agent.memory.consolidation.consolidate import (
    TURN_BYTES,
    Exchange,
    render_turn,
)
from claw.agent.memory.recall import build_source
from claw.core.channel import ChannelMessage
from claw.core.errors import ClawError
from claw.core.log import Log
from claw.core.memory import Source
from claw.runtime.message.keys import history_key
from claw.storage.queue.model import PendingNotes, Queue

BATCH_BYTES = 5 * TURN_BYTES
LIMIT = 200

Consolidate = Callable[[Sequence[Exchange]], Awaitable[None]]


def build_notes(turn_id: str, message: ChannelMessage, said: str,
                answer: str, now: datetime) -> Mapping[str, Any]:
    """What a completion keeps of a turn for the memory."""
    source = build_source(message)
    return {"turn": turn_id, "said": said, "answer": answer,
            "date": now.date().isoformat(),
            "session": history_key(message), "sender": source.sender,
            "message": source.message, "origin": source.origin}


class Consolidator:
    """Puts what waits into the memory, one batch after the other.

    `consolidate` makes the model call; `least` turns of a conversation have
    to wait for one, but for `flush`.
    """

    def __init__(self, queue: Queue, consolidate: Consolidate,
                 least: Callable[[], int], log: Log) -> None:
        self._queue = queue
        self._consolidate = consolidate
        self._least = least
        self._log = log
        self._alone = asyncio.Lock()

    async def flush(self) -> None:
        """All that waits."""
        await self.run(least=1)

    async def run(self, *, least: int | None = None) -> None:
        """The conversations of which enough waits. Raises StorageError
        where the queue fails; a model that fails is told to the log."""
        async with self._alone:
            waiting = await self._queue.read_notes(LIMIT)
            for batch in _split(waiting, least or self._least()):
                try:
                    await self._consolidate([_read(one) for one in batch])
                except (ClawError, TimeoutError) as error:
                    self._log("consolidation.error", error=str(error),
                              turn=str(batch[0].data.get("turn")))
                    continue
                await self._queue.drop_notes([one.seq for one in batch])


def _split(waiting: Sequence[PendingNotes], least: int
           ) -> list[list[PendingNotes]]:
    """By conversation, the longest waiting first, each as much as goes
    into a call."""
    sessions: dict[str, list[PendingNotes]] = {}
    for one in waiting:
        sessions.setdefault(str(one.data.get("session")), []).append(one)
    batches: list[list[PendingNotes]] = []
    for rows in sessions.values():
        if len(rows) < least:
            continue
        size = BATCH_BYTES
        for row in rows:
            bytes_ = len(render_turn(_read(row)).encode())
            if size + bytes_ > BATCH_BYTES:
                batches.append([])
                size = 0
            batches[-1].append(row)
            size += bytes_
    return batches


def _read(pending: PendingNotes) -> Exchange:
    data = pending.data
    return Exchange(
        str(data.get("turn")), str(data.get("said")),
        str(data.get("answer")), str(data.get("date")), data.get("session"),
        Source(data.get("sender"), data.get("message"), data.get("origin")))
