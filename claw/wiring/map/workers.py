"""Many inputs, a few at a time, and what comes of them in their order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

from claw.wiring.map.pace import Pace, Stopped
from claw.wiring.map.task import Input, Outcome

# Inputs that are read ahead of the first one that is not shown yet: so much
# is held in memory, and one slow answer holds so many others up.
AHEAD = 1000

Answers: TypeAlias = Callable[[int, Input], Awaitable[Outcome]]
_Waiting: TypeAlias = "asyncio.Future[Outcome | None]"


class Workers:
    """`answer` gets the worker's number and an input; it may raise
    Stopped."""

    def __init__(self, count: int, pace: Pace, answer: Answers,
                 ahead: int = AHEAD) -> None:
        self._count = count
        self._pace = pace
        self._answer = answer
        self._todo: asyncio.Queue[
            tuple[Input, _Waiting] | None] = asyncio.Queue()
        self._shown: asyncio.Queue[_Waiting] = asyncio.Queue(ahead)

    async def run(self, inputs: AsyncIterator[Input],
                  show: Callable[[Outcome], None]) -> bool:
        """Show each outcome as soon as those before it are shown. False
        where the work was stopped before the last input; requests that
        are under way then are waited for, since they are paid for. Raises
        what reading, answering and showing raise."""
        feeding = asyncio.create_task(self._feed(inputs))
        tasks = [asyncio.create_task(self._work(number))
                 for number in range(self._count)]
        try:
            while (outcome := await (await self._shown.get())) is not None:
                show(outcome)
            feeding.cancel()
            for _ in tasks:
                self._todo.put_nowait(None)
            await asyncio.gather(*tasks)
            return not self._pace.is_stopped
        finally:
            for task in (feeding, *tasks):
                task.cancel()
            await asyncio.gather(feeding, *tasks, return_exceptions=True)

    async def _feed(self, inputs: AsyncIterator[Input]) -> None:
        """Inputs to the workers, and behind them that there are no more."""
        loop = asyncio.get_running_loop()
        last: _Waiting = loop.create_future()
        try:
            async for one in inputs:
                if self._pace.is_stopped:
                    break
                waiting: _Waiting = loop.create_future()
                await self._shown.put(waiting)
                self._todo.put_nowait((one, waiting))
            last.set_result(None)
        except Exception as error:
            _fail(last, error)
        await self._shown.put(last)

    async def _work(self, number: int) -> None:
        while (found := await self._todo.get()) is not None:
            one, waiting = found
            try:
                waiting.set_result(await self._answer(number, one))
            except Stopped:
                waiting.set_result(None)
            except Exception as error:
                _fail(waiting, error)


def _fail(waiting: _Waiting, error: Exception) -> None:
    """Whoever shows it raises it; where nobody does, another one was
    raised before."""
    waiting.set_exception(error)
    waiting.exception()
