"""Buttons of questions that nobody waits for: they leave the chat.

A question is over when it was answered (by a button or typed), has expired,
or its turn has ended. Its buttons would still invite a press. The queue
knows which messages have them, so what a kill or an outage left is cleared
at the next start, or ten minutes later.
"""

import asyncio
from collections.abc import Callable

from claw.agent.background import wait_within
from claw.core.abilities import ClearsButtons
from claw.core.channel import Channel
from claw.core.errors import (
    ClawError,
    LeaseLostError,
    RequestRefusedError,
    describe,
)
from claw.core.log import Log
from claw.runtime.message.keys import registered_name
from claw.storage.queue.model import Lease, OutboxRow, Queue

EVERY_S = 600.0
AT_ONCE = 50


async def maintain_buttons(queue: Queue, lease: Callable[[], Lease],
                           find_channel: Callable[[str], Channel | None],
                           settled: asyncio.Event, log: Log) -> None:
    """Clear them whenever `settled` is set."""
    while True:
        await wait_within(settled, EVERY_S)
        settled.clear()
        try:
            for row in await queue.stale_questions(AT_ONCE):
                channel = find_channel(registered_name(row.channel))
                if channel is not None and await _clear(channel, row, log):
                    await queue.mark_cleared(lease(), row)
        except LeaseLostError:
            raise
        except ClawError as error:
            log("buttons.error", error=describe(error))


async def _clear(channel: Channel, row: OutboxRow, log: Log) -> bool:
    """Whether nothing is left to do for this message."""
    if not isinstance(channel, ClearsButtons) or row.message_id is None:
        return True
    try:
        await channel.clear_buttons(row.message.recipient, row.message_id)
    except RequestRefusedError as error:  # it is gone, or too old
        log("buttons.left", channel=row.channel, id=row.message_id,
            error=describe(error))
    except ClawError as error:
        log("buttons.error", channel=row.channel, id=row.message_id,
            error=describe(error))
        return False
    return True
