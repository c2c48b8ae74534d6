"""Work on threads, for callers that may be cancelled."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def make_on_thread(make: Callable[[], T],
                         undo: Callable[[T], object]) -> T:
    """What `make` returns, on a thread. A caller that is cancelled
    meanwhile waits for it and undoes it: a thread can't be stopped, and
    what it makes (a folder, a lock) would belong to nobody."""
    work = asyncio.ensure_future(asyncio.to_thread(make))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        if not work.cancelled() and work.exception() is None:
            await asyncio.to_thread(undo, work.result())
        raise
