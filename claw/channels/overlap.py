"""Connections that take turns: before a platform leaves one, another one
serves beside it, and what came is answered over the connection that it came
by, beside what comes next.

A subclass serves one connection in `serve`, calls `start(overlaps=True)`
when the platform says that it will leave, and hands what has to be answered
to `answer_beside`. `run` keeps one connection going.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from claw.channels.connection import Connection
from claw.core.errors import UnavailableError

MOST = 64  # answers under way at once


class Connections:
    """The connections of one listener; `link` waits out what fails."""

    def __init__(self, link: Connection) -> None:
        self._link = link
        self._serving: set[asyncio.Task[None]] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._ended: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()

    async def serve(self, overlaps: bool) -> None:
        """One connection, from its beginning to its end. `overlaps`:
        another one serves beside it, and nothing was missed."""
        raise NotImplementedError

    async def run(self) -> None:
        """Receive until cancelled. Raises AuthError and what `put`
        raises."""
        try:
            while True:
                if not self._serving:
                    self.start(overlaps=False)
                await self._judge(await self._ended.get())
        finally:
            left = self._serving | self._answering
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)

    def start(self, *, overlaps: bool) -> None:
        """Open one more connection."""
        task = asyncio.create_task(self.serve(overlaps))
        self._serving.add(task)
        task.add_done_callback(self._ended.put_nowait)

    async def answer_beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Answer beside what comes next: a file that is slow holds up its
        own chat alone."""
        if len(self._answering) >= MOST:
            await asyncio.wait(self._answering,
                               return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(work)
        self._answering.add(task)
        task.add_done_callback(self._ended.put_nowait)

    async def _judge(self, task: asyncio.Task[None]) -> None:
        """What the end of a connection means, or of an answer: one that
        did not reach the platform is asked for again."""
        serves = task in self._serving
        self._serving.discard(task)
        self._answering.discard(task)
        try:
            task.result()
        except UnavailableError as error:
            if serves and not self._serving:
                await self._link.wait_out(error)
