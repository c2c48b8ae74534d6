"""Waiting for something that a person may stop."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from claw.core.errors import ClawError, ExitCode

T = TypeVar("T")


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

    The work has been cancelled and has ended when this raises.
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
        for waiting in (task, stop):
            waiting.cancel()
        await asyncio.gather(task, stop, return_exceptions=True)
