"""Waiting for something that a person may stop."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from claw.core.errors import ClawError, ExitCode

T = TypeVar("T")

# A person who says stop is answered within 100 ms.
GRACE_S = 0.05

# asyncio holds tasks weakly: these are still ending.
_ending: set["asyncio.Future[Any]"] = set()


class TurnCancelled(ClawError):
    """The turn was stopped through its context."""

    kind = "interrupted"
    exit_code = ExitCode.INTERRUPTED

    def __init__(self) -> None:
        super().__init__("the turn was stopped")


def check(cancel: asyncio.Event | None) -> None:
    """Raises TurnCancelled once `cancel` is set."""
    if cancel is not None and cancel.is_set():
        raise TurnCancelled


async def race(work: Coroutine[Any, Any, T],
               cancel: asyncio.Event | None) -> T:
    """The result of `work`, or TurnCancelled as soon as `cancel` is set.

    The work has been cancelled when this raises, and has 50 ms to end;
    what needs longer (a command that is being killed) ends by itself.
    """
    if cancel is None:
        return await work
    if cancel.is_set():
        work.close()
        raise TurnCancelled
    task = asyncio.ensure_future(work)
    stop = asyncio.ensure_future(cancel.wait())
    try:
        await asyncio.wait((task, stop),
                           return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise TurnCancelled
    finally:
        stop.cancel()
        if not task.done():
            task.cancel()
            _ending.add(task)
            task.add_done_callback(_ended)
            await asyncio.wait((task,), timeout=GRACE_S)
        else:
            _ended(task)


def _ended(task: "asyncio.Future[Any]") -> None:
    """Work that was cancelled is over; how it ended is nobody's concern."""
    _ending.discard(task)
    if not task.cancelled():
        task.exception()
