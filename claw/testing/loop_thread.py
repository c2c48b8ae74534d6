"""An event loop in a thread of its own, for the fakes of platforms that
speak over sockets."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """It may be started again after it was stopped."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def running(self) -> bool:
        return self._loop is not None

    def start(self) -> None:
        loop = self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, daemon=True,
                                        name=self._name)
        self._thread.start()

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for its end."""
        assert self._loop is not None, "it is not started"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def call(self, work: Callable[[], T]) -> T:
        """Have something done on the loop and wait for what it gives."""
        async def run() -> T:
            return work()
        return self.run(run())

    def call_soon(self, work: Callable[[], Any]) -> None:
        """Have something done on the loop, whoever asks."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(work)
