"""What a service that leads does beside its messages: session files, the
state for other processes, retention, the memory, the service manager.

Each is a loop that outlives a store that fails for a while.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from pathlib import Path

from claw.agent.background import run_in_background, wait_within
from claw.core.errors import ClawError, describe
from claw.core.log import Log
from claw.core.times import until_tick
from claw.runtime.process.health import Health, write_state
from claw.runtime.process.heap import give_back
from claw.runtime.process.notify import Notifier, watchdog_interval_s
from claw.runtime.turn.histories import Histories
from claw.storage.queue.model import Queue

STATE_S = 4.0
SAME_STATE_S = 24.0  # a state that stays is written so often
TEND_S = 600.0
PULSE_S = 5.0
TOGETHER_S = 0.05
MEMORY_FIRST_S = 1.0  # the channels come first
MEMORY_S = 3600.0
MEMORY_END_S = 1.0

# Tidies the memory; what it is given are the sessions in use, by key.
Tidy = Callable[[Collection[str]], object]


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


async def write_states(health: Health, path: Path, log: Log,
                       news: asyncio.Event) -> None:
    """Say how the parts are, soon after it has changed, at once when
    `news` is set, and now and then that it is still so."""
    written: object = None
    due = 0.0
    while True:
        news.clear()
        seen, now = health.snapshot(), health.clock()
        parts = seen["components"], seen["settings_tried"]
        if parts != written or now >= due:
            try:
                await asyncio.to_thread(write_state, health, path)
                written, due = parts, now + SAME_STATE_S
            except ClawError as error:
                log("state.error", error=describe(error))
        await wait_within(news, until_tick(STATE_S))


async def maintain_queue(queue: Queue, tidy_files: Callable[
        [], Awaitable[object]], log: Log) -> None:
    """Retention every ten minutes, and memory that lies free goes back to
    the system; files of sends that are over go at the start too."""
    while True:
        await _try(tidy_files, log)
        await asyncio.sleep(TEND_S)
        await _try(queue.tend, log)
        await asyncio.to_thread(give_back)


async def _try(work: Callable[[], Awaitable[object]], log: Log) -> None:
    try:
        await work()
    except ClawError as error:
        log("tend.error", error=describe(error))


async def maintain_memory(tidy: Tidy, in_use: Callable[[], Collection[str]],
                      log: Log) -> None:
    """Hygiene of the memory, soon after the start and every hour; that it
    is due it finds out by itself. It may be killed at any point, so the
    end of the service waits for it only a moment."""
    await asyncio.sleep(MEMORY_FIRST_S)
    while True:
        try:
            await run_in_background(partial(tidy, tuple(in_use())),
                        patience_s=MEMORY_END_S)
        except Exception as error:  # no reason to answer nobody
            log("memory.error", error=describe(error))
        await asyncio.sleep(MEMORY_S)


async def beat(notifier: Notifier) -> None:
    """Tell the service manager that the loop turns, where it listens."""
    interval_s = watchdog_interval_s()
    if interval_s is None:  # nobody waits: an idle process sleeps
        await asyncio.get_running_loop().create_future()
        return
    while True:
        notifier.watchdog()
        await asyncio.sleep(min(interval_s, PULSE_S))
