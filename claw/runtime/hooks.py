"""The hooks that look on while the service works: sent messages, sessions,
the gateway, the heartbeat. None of them holds up what it hears of.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from claw.agent.background import BackgroundTasks, cancel_all, wait_within
from claw.agent.hooks.runner import HookRunner
from claw.core.errors import ClawError, describe
from claw.core.log import Log
from claw.runtime.message.parts import END_DRAFT
from claw.runtime.settings import HeartbeatSettings
from claw.storage.queue.model import OutboxRow, Queue

WAITING = 1000  # messages that hooks have yet to hear of
SESSIONS = 500  # open at once; the one that rested longest ends
PARTS = 10_000
END_S = 5.0

FindHooks = Callable[[], HookRunner]


class HookNotifier:
    """Tells hooks of what has happened, beside the work."""

    def __init__(self, hooks: FindHooks, queue: Queue, log: Log) -> None:
        self._hooks = hooks
        self._queue = queue
        self._log = log
        self._beside = BackgroundTasks(log)
        self._order = asyncio.Lock()

    def note_sent(self, row: OutboxRow) -> None:
        """A part is confirmed, and the store knows it."""
        if row.part.kind == END_DRAFT \
                or not self._hooks().find("on_message_sent"):
            return
        if len(self._beside.running) >= WAITING:
            self._log("hook_skipped", at="on_message_sent",
                      source=row.source, error="too many are waiting")
            return
        self._beside.start(self._tell_sent(row))

    async def _tell_sent(self, row: OutboxRow) -> None:
        """Once for a message: with the last of its parts, which goes when
        all others are out."""
        async with self._order:
            try:
                parts = await self._queue.outbox_rows(source=row.source,
                                                      limit=PARTS)
            except ClawError as error:
                self._log("hook_skipped", at="on_message_sent",
                          source=row.source, error=describe(error))
                return
            if all(part.state == "sent" and part.number <= row.number
                   for part in parts):
                await self._hooks().on_message_sent(row.channel, row.message)

    def serving(self, host: str, port: int) -> None:
        self._beside.start(self._hooks().on_gateway_start(host, port))

    def stopped_serving(self) -> None:
        self._beside.start(self._hooks().on_gateway_stop())

    async def finish(self, patience_s: float = END_S) -> None:
        """Let hooks end that have begun; what takes longer is ended."""
        if self._beside.running:
            _, left = await asyncio.wait(set(self._beside.running),
                                         timeout=patience_s)
            if left:
                self._log("hook_skipped", left=len(left),
                          error="they took too long at the end")
        await cancel_all(self._beside.running)


class Sessions:
    """The conversations that go on, by key, with their channels. One begins
    with the first message that is answered and ends with /new, with the
    service, or when it is the one of 500 that rested longest."""

    def __init__(self, hooks: FindHooks) -> None:
        self._hooks = hooks
        self._open: OrderedDict[str, str] = OrderedDict()

    async def begin(self, key: str, channel: str) -> None:
        is_new = key not in self._open
        self._open[key] = channel
        self._open.move_to_end(key)
        if is_new:
            await self._hooks().on_session_start(key, channel)
        if len(self._open) > SESSIONS:
            await self.end(next(iter(self._open)))

    async def end(self, key: str) -> None:
        channel = self._open.pop(key, None)
        if channel is not None:
            await self._hooks().on_session_end(key, channel)

    async def end_all(self, log: Log, patience_s: float = END_S) -> None:
        """All of them, in that time."""
        try:
            async with asyncio.timeout(patience_s):
                for key in list(self._open):
                    await self.end(key)
        except TimeoutError:
            log("hook_skipped", at="on_session_end", left=len(self._open),
                error="the service ends")
            self._open.clear()


async def run_heartbeat(settings: Callable[[], HeartbeatSettings],
                        hooks: FindHooks, changed: asyncio.Event) -> None:
    """A tick each interval while [heartbeat] is on; `changed` is set when
    the settings may be others. One that is missed is not made up for. An
    idle process wakes for nothing else."""
    clock = asyncio.get_running_loop().time
    last = clock()
    while True:
        changed.clear()
        now = settings()
        if not now.enabled:
            await changed.wait()
            last = clock()
            continue
        left = last + now.interval_s - clock()
        if left > 0 and await wait_within(changed, left):
            continue
        last = clock()
        await hooks().on_heartbeat_tick()
