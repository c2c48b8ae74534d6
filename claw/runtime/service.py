"""`claw listen`: every channel supervised, one dispatcher, one sender for
each channel, and the house kept in order, until a signal.

One service works on a workspace. Another one stands by and takes over when
the first one ends, is killed, or stands still for longer than its lease.
"""

import asyncio
import signal
import time
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from claw.core.channel import Channel
from claw.core.errors import (
    ClawError,
    LeaseLostError,
    UnavailableError,
    describe,
)
from claw.core.log import Log
from claw.runtime.alone import Alone
from claw.runtime.desk import Desk
from claw.runtime.dispatcher import Dispatcher, in_flight_limit
from claw.runtime.health import Health, write_state
from claw.runtime.housekeeping import (
    Tidy,
    pulse,
    tend,
    tend_memory,
    write_histories,
    write_states,
)
from claw.runtime.inbox import BUS_SIZE, Bus, DurableInbox
from claw.runtime.live import Live
from claw.runtime.notify import Notifier
from claw.runtime.outbox import Sender
from claw.runtime.outcomes import Finished
from claw.runtime.supervisor import Backoff, Supervisor, close
from claw.storage.queue.model import FileGoneError, Lease, Queue

LEASE = "listen"
LEASE_S = 15.0
RENEW_S = 4.0
STANDBY_S = 0.5
DRAIN_S = 25.0
FLUSH_S = 10.0
RETIRE_S = 1200.0  # the longest turn


@dataclass(slots=True)
class Parts:
    """What the service is made of; see wiring/runtime.py.

    `desk_of(lease, posted, reload)` makes the desk of one term of office.
    `reload` takes changed settings over and says whether it did; `watch`
    calls what it is given whenever they may have changed. `tidy` looks
    after the memory. `ends` are channels whose input can end; when all
    have, the service ends.
    """

    queue: Queue
    live: Callable[[], Live]
    desk_of: Callable[[Callable[[], Lease], Callable[[str], None],
                       Callable[[], Awaitable[object]]], Desk]
    after: Callable[[Finished], Awaitable[None]]
    reload: Callable[[], Awaitable[bool]]
    watch: Callable[[Callable[[], Awaitable[object]]], Awaitable[None]]
    health: Health
    log: Log
    state_file: Path
    backoff: Backoff
    notifier: Notifier
    alone: Alone
    tidy: Tidy
    ends: Sequence[str] = ()


@dataclass(slots=True)
class Service:
    """The running service. `run` returns after a drain."""

    parts: Parts
    lease_s: float = LEASE_S
    drain_s: float = DRAIN_S
    _lease: Lease | None = None
    _senders: dict[str, Sender] = field(default_factory=dict)
    _supervisors: dict[str, tuple[Supervisor, asyncio.Task[None]]] = field(
        default_factory=dict)
    _dispatcher: Dispatcher | None = None
    _inboxes: dict[str, DurableInbox] = field(default_factory=dict)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _crew: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _bus: Bus = field(default_factory=lambda: asyncio.Queue(BUS_SIZE))
    _wrote: asyncio.Event = field(default_factory=asyncio.Event)
    _errands: set[asyncio.Task[None]] = field(default_factory=set)
    _retired: list[Channel] = field(default_factory=list)
    _desk: Desk | None = None
    _in_office: bool = False

    def stop(self) -> None:
        """Drain and end."""
        self._stop.set()

    async def run(self) -> None:
        """Take office, work, and drain when told; stand by whenever
        another one holds the office."""
        self._hear_signals()
        while not self._stop.is_set():
            lease = await self._take_office()
            if lease is None:
                break
            try:
                await self._term(lease)
                break
            except LeaseLostError as error:
                self.parts.log("lease.lost", error=describe(error))
        self.parts.notifier.stopping()

    # -- office

    async def _take_office(self) -> Lease | None:
        """The lease; None when told to stop meanwhile."""
        parts, said = self.parts, False
        while not self._stop.is_set():
            try:
                lease = await parts.queue.lease(LEASE, self.lease_s)
            except UnavailableError as error:
                # Locked: its holder may be stopped in the midst of a commit.
                parts.log("standby.error", error=describe(error),
                          hint=error.hint)
                await self._pause(STANDBY_S)
                continue
            if lease is not None:
                return lease
            if not said:
                said = True
                holder = await parts.queue.holder(LEASE)
                parts.log("standby", pid=holder.pid if holder else None,
                          host=holder.host if holder else None)
                parts.notifier.ready()
                parts.notifier.status("standing by")
            await self._pause(STANDBY_S)
        return None

    async def _term(self, lease: Lease) -> None:
        """From taking office to leaving it."""
        parts = self.parts
        self._lease = lease
        started = time.monotonic()
        recovered = await parts.queue.recover(lease)
        desk = parts.desk_of(self._held, self._posted, self._reload)
        self._desk = desk
        await desk.histories.write_out(looking=True)
        self._bus = asyncio.Queue(BUS_SIZE)
        self._dispatcher = Dispatcher(
            desk, self._bus, limit=in_flight_limit(len(parts.live().rooms)),
            after=self._after)
        parts.log("started", channels=",".join(parts.live().rooms),
                  recovered=recovered,
                  ms=round((time.monotonic() - started) * 1000))
        self._hire(desk)
        parts.notifier.ready()
        parts.notifier.status(", ".join(parts.live().rooms))
        try:
            await self._until_over()
        except BaseException:  # a lost lease, a fault, a cancel
            await self._leave(desk, office=False)
            raise
        await self._leave(desk, office=True)

    def _hire(self, desk: Desk) -> None:
        assert self._dispatcher is not None
        parts, self._in_office = self.parts, True
        self._crew = {name: asyncio.ensure_future(work) for name, work in (
            ("dispatcher", self._dispatcher.run()),
            ("renewer", self._renew()),
            ("history", write_histories(desk.histories, self._wrote,
                                        parts.log)),
            ("state", write_states(parts.health, parts.state_file,
                                   parts.log)),
            ("tender", tend(parts.queue, parts.log)),
            ("pulse", pulse(parts.notifier)),
            ("watch", parts.watch(self._reload)),
            # A conversation that is archived all the same comes back with
            # its next message.
            ("memory", tend_memory(parts.tidy, lambda: desk.last,
                                   parts.log)))}
        self._staff()

    def _staff(self) -> None:
        """A supervisor and a sender for each channel that is configured,
        none for others."""
        parts, rooms = self.parts, self.parts.live().rooms
        for name in [n for n in self._supervisors if n not in rooms]:
            self._supervisors.pop(name)[1].cancel()
            parts.health.parts.pop(f"channel:{name}", None)
            parts.log("channel.removed", channel=name)
        for name in rooms:
            if name not in self._senders:
                self._senders[name] = Sender(
                    name, partial(self._channel, name), parts.queue,
                    self._held, parts.health, parts.log)
                self._crew[f"sender:{name}"] = asyncio.ensure_future(
                    self._senders[name].run())
            if name not in self._supervisors:
                self._supervisors[name] = self._supervised(name)

    def _supervised(self, name: str
                    ) -> tuple[Supervisor, asyncio.Task[None]]:
        parts = self.parts
        inbox = self._inboxes[name] = DurableInbox(
            name, parts.queue, self._held, self._bus, parts.health,
            parts.log)
        supervisor = Supervisor(
            name, lambda: self._needed(name), inbox, health=parts.health,
            log=parts.log, backoff=parts.backoff,
            ends=name in parts.ends)
        return supervisor, asyncio.ensure_future(
            parts.alone.run(lambda: self._needed(name), supervisor.run))

    async def _until_over(self) -> None:
        """Ends at a signal or when all inputs have ended; raises what
        ends the term otherwise."""
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            while not self._stop.is_set():
                tasks = [*self._crew.values(),
                         *(task for _, task in self._supervisors.values())]
                await asyncio.wait([stop, *tasks], timeout=1,
                                   return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    if task.done() and not task.cancelled():
                        task.result()
                if self._supervisors and all(
                        task.done() for _, task in
                        self._supervisors.values()) and self.parts.ends:
                    await self._finish_input()
                    return
        finally:
            stop.cancel()
            await asyncio.gather(stop, return_exceptions=True)

    async def _finish_input(self) -> None:
        """The input has ended (stdin): answer what came, then go."""
        assert self._dispatcher is not None
        while await self.parts.queue.waiting() or self._dispatcher.busy \
                or not self._bus.empty():
            if self._stop.is_set():
                return
            await self._pause(0.02)

    async def _leave(self, desk: Desk, *, office: bool) -> None:
        """Stop receiving; in office, let turns and sends end too."""
        parts = self.parts
        self._in_office = False
        for _, task in self._supervisors.values():
            task.cancel()
        await asyncio.gather(*(t for _, t in self._supervisors.values()),
                             return_exceptions=True)
        if self._dispatcher is not None:
            if office:
                parts.log("draining", running=self._dispatcher.busy)
            await self._dispatcher.drain(self.drain_s if office else 0)
        for task in self._crew.values():
            task.cancel()
        await asyncio.gather(*self._crew.values(), return_exceptions=True)
        if office:
            await self._last_things(desk)
        for sender in self._senders.values():
            await sender.drop()
        await desk.settle()
        for errand in list(self._errands):
            errand.cancel()
        await asyncio.gather(*self._errands, return_exceptions=True)
        for channel in [*self._retired, *(
                room.channel for room in parts.live().rooms.values())]:
            await close(channel, parts.log)
        self._retired.clear()
        self._supervisors.clear()
        self._senders.clear()
        self._crew.clear()

    async def _last_things(self, desk: Desk) -> None:
        parts = self.parts
        try:
            await asyncio.gather(*(
                sender.flush(FLUSH_S) for sender in self._senders.values()))
            await desk.histories.write_out()
            await parts.queue.yield_lease(self._held())
            await asyncio.to_thread(write_state, parts.health,
                                    parts.state_file)
        except ClawError as error:
            parts.log("drain.error", error=describe(error))
        parts.log("stopped")

    # -- the crew

    async def _renew(self) -> None:
        """Hold the office. A store that can't be written for a moment is
        no reason to leave it; another holder is, and so is a file that
        was taken away: what starts anew finds what is there."""
        while True:
            await asyncio.sleep(min(RENEW_S, self.lease_s / 3))
            try:
                await self.parts.queue.renew(self._held(), self.lease_s)
            except (LeaseLostError, FileGoneError):
                raise
            except ClawError as error:
                self.parts.log("lease.error", error=describe(error))

    async def _after(self, finished: Finished) -> None:
        """What follows a committed turn."""
        self._wrote.set()
        await self.parts.after(finished)

    async def _reload(self) -> None:
        """Take new settings over: channels that changed start anew."""
        before: Mapping[str, Channel] = {
            name: room.channel
            for name, room in self.parts.live().rooms.items()}
        if not await self.parts.reload() or not self._in_office:
            return  # who stands by hires nobody
        assert self._dispatcher is not None
        self._dispatcher.limit = in_flight_limit(
            len(self.parts.live().rooms))
        rooms = self.parts.live().rooms
        for name, room in rooms.items():
            held = self._supervisors.get(name)
            if held is not None and before.get(name) is not room.channel:
                held[0].renew()
        self._staff()
        old = [channel for name, channel in before.items()
               if name not in rooms or rooms[name].channel is not channel]
        self._retired += old
        self._beside(self._retire(old))

    async def _told_to_reload(self) -> None:
        """SIGHUP: the service manager may wait for both words."""
        self.parts.notifier.reloading()
        try:
            await self._reload()
        finally:
            self.parts.notifier.ready()

    async def _retire(self, channels: Sequence[Channel]) -> None:
        """Close channels that others took the place of, once the turns
        and sends that began with them have ended."""
        if self._dispatcher is not None:
            await self._dispatcher.settled(RETIRE_S)
        for sender in list(self._senders.values()):
            await sender.settled(FLUSH_S)
        if self._desk is not None:
            await self._desk.settle()
        for channel in channels:
            await close(channel, self.parts.log)
            self._retired.remove(channel)

    # -- small things

    def _held(self) -> Lease:
        assert self._lease is not None
        return self._lease

    def _posted(self, channel: str) -> None:
        sender = self._senders.get(channel) or self._senders.get(
            channel.partition(":")[0])
        if sender is not None:
            sender.wake()

    def _channel(self, name: str) -> Channel | None:
        room = self.parts.live().rooms.get(name)
        return room.channel if room else None

    def _needed(self, name: str) -> Channel:
        return self.parts.live().room(name).channel

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return

    def _hear_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        loop.add_signal_handler(signal.SIGINT, self._stop.set)
        loop.add_signal_handler(
            signal.SIGHUP,
            lambda: self._beside(self._told_to_reload()))

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._errands.add(task)
        task.add_done_callback(self._ended_beside)

    def _ended_beside(self, task: "asyncio.Task[None]") -> None:
        """Nobody waits for it: an error of it is told."""
        self._errands.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.parts.log("beside.error", error=describe(error))
