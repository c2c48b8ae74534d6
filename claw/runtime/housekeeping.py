"""What a service in office does beside its messages: session files, the
state for other processes, retention, the service manager.

Each is a loop that outlives a store that fails for a while.
"""

import asyncio
from pathlib import Path

from claw.core.errors import ClawError, describe
from claw.core.log import Log
from claw.runtime.health import Health, write_state
from claw.runtime.histories import Histories
from claw.runtime.notify import Notifier, watchdog_interval_s
from claw.storage.queue.model import Queue

STATE_S = 5.0
TEND_S = 600.0
PULSE_S = 5.0
TOGETHER_S = 0.05


async def write_histories(histories: Histories, wrote: asyncio.Event,
                          log: Log) -> None:
    """Put committed turns into the session files, each time `wrote` is
    set; what ends together goes together."""
    while True:
        await wrote.wait()
        wrote.clear()
        try:
            await histories.write_out()
        except ClawError as error:
            log("session.error", error=describe(error))
        await asyncio.sleep(TOGETHER_S)


async def write_states(health: Health, path: Path, log: Log) -> None:
    """Say how the parts are, every few seconds."""
    while True:
        try:
            await asyncio.to_thread(write_state, health, path)
        except ClawError as error:
            log("state.error", error=describe(error))
        await asyncio.sleep(STATE_S)


async def tend(queue: Queue, log: Log) -> None:
    """Retention, every ten minutes."""
    while True:
        await asyncio.sleep(TEND_S)
        try:
            await queue.tend()
        except ClawError as error:
            log("tend.error", error=describe(error))


async def pulse(notifier: Notifier) -> None:
    """Tell the service manager that the loop turns."""
    wait = min(watchdog_interval_s() or PULSE_S, PULSE_S)
    while True:
        notifier.watchdog()
        await asyncio.sleep(wait)
