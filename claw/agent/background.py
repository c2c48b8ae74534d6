"""Work beside the work: tasks that nobody waits for, and a thread that the
end of the program does not wait for.

asyncio.to_thread is for what is short: a program ends only after its
threads. What may take long and bears being killed goes to
`run_in_background`.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from claw.core.errors import describe
from claw.core.log import Log


class BackgroundTasks:
    """Tasks that nobody waits for: an error of one is logged."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.running: set[asyncio.Future[None]] = set()

    def start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self.running.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Future[None]") -> None:
        self.running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._log("beside.error", error=describe(error))


async def cancel_all(tasks: "Iterable[asyncio.Future[Any]]") -> None:
    """Cancel tasks and wait for their end, however each ends."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def wait_within(event: asyncio.Event, seconds: float) -> bool:
    """Whether the event comes within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def run_in_background(work: Callable[[], object], *,
                            patience_s: float = 0) -> None:
    """Run `work` on a thread of its own until it ends. Raises what it
    raises. Who is cancelled meanwhile waits `patience_s` more and leaves it
    to itself."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    # An error that comes when nobody waits any more is nobody's.
    done.add_done_callback(lambda ended: ended.exception())

    def ended(error: Exception | None) -> None:
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failed: Exception | None = None
        try:
            work()
        except Exception as error:  # raised where it is waited for
            failed = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(ended, failed)

    threading.Thread(target=run, name="background", daemon=True).start()
    try:
        await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait([done], timeout=patience_s)
        raise
