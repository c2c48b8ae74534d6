"""The time that a turn may take, waiting for the owner apart."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class Budget:
    """A time limit that stands still while somebody is asked."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._limit: asyncio.Timeout | None = None
        self._pauses = 0
        self._left = 0.0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Raises TimeoutError in the block once the time is over."""
        async with asyncio.timeout(self.seconds) as limit:
            self._limit = limit
            try:
                yield
            finally:
                self._limit = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The clock stands; blocks may overlap."""
        self._pauses += 1
        limit, loop = self._limit, asyncio.get_running_loop()
        if limit is not None and self._pauses == 1:
            self._left = (limit.when() or loop.time()) - loop.time()
            limit.reschedule(None)
        try:
            yield
        finally:
            self._pauses -= 1
            if limit is not None and self._pauses == 0 \
                    and not limit.expired():
                limit.reschedule(loop.time() + self._left)
