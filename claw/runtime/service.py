"""`claw listen`: every channel supervised, one dispatcher, one sender for
each channel, and what is kept in order beside them, until a signal.

One service works on a workspace. Another one stands by and takes over when
the first one ends, is killed, or stands still for longer than its lease.
"""

import asyncio
import signal
import time
from collections.abc import (
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from claw.agent.background import BackgroundTasks, cancel_all, wait_within
from claw.agent.hooks.runner import HookRunner
from claw.core.channel import Channel
from claw.core.errors import (
    ClawError,
    LeaseLostError,
    UnavailableError,
    describe,
)
from claw.core.log import Log
from claw.core.times import until_tick
from claw.runtime.dispatcher import Dispatcher, in_flight_limit
from claw.runtime.hooks import HookNotifier, run_heartbeat
from claw.runtime.inbox import BUS_SIZE, Bus, DurableInbox, ServesHttp
from claw.runtime.jobs import RunsJobs
from claw.runtime.live import Live
from claw.runtime.maintenance import (
    Tidy,
    beat,
    maintain_memory,
    maintain_queue,
    write_histories,
    write_states,
)
from claw.runtime.message.keys import CONTROL
from claw.runtime.outbox import Sender
from claw.runtime.people.buttons import maintain_buttons
from claw.runtime.process.health import Health, write_state
from claw.runtime.process.instance_lock import InstanceLock
from claw.runtime.process.notify import Notifier
from claw.runtime.process.supervisor import Backoff, Supervisor, close
from claw.runtime.turn.desk import Desk
from claw.runtime.turn.outcomes import Finished
from claw.security.estop import EmergencyStop
from claw.storage.queue.model import FileGoneError, Lease, Queue

LEASE = "listen"
LEASE_S = 15.0
RENEW_S = 4.0
STANDBY_S = 0.5
DRAIN_S = 25.0
ESTOP_DRAIN_S = 2.0
FLUSH_S = 10.0
RETIRE_S = 1200.0  # the longest turn


@dataclass(slots=True)
class Parts:
    """What the service is made of; see wiring/listen/service.py.

    `build_desk(lease, wake_sender, reload)` makes the desk of one term,
    from getting the leader lease to giving it up.
    `reload` takes changed settings over and says whether it did; `watch`
    calls what it is given whenever they may have changed. `tidy` looks
    after the memory, `tidy_files` after copies of what was sent. `ends` are
    channels whose input can end; when all have, the service ends. `gateway`
    serves what is served over HTTP, `jobs` runs scheduled ones.
    """

    queue: Queue
    live: Callable[[], Live]
    build_desk: Callable[[Callable[[], Lease], Callable[[str], None],
                       Callable[[], Awaitable[object]]], Desk]
    after: Callable[[Finished], Awaitable[None]]
    reload: Callable[[], Awaitable[bool]]
    watch: Callable[[Callable[[], Awaitable[object]]], Awaitable[None]]
    health: Health
    log: Log
    state_file: Path
    backoff: Backoff
    notifier: Notifier
    instance_lock: InstanceLock
    estop: EmergencyStop
    tidy: Tidy
    tidy_files: Callable[[], Awaitable[object]]
    ends: Sequence[str] = ()
    gateway: ServesHttp | None = None
    jobs: RunsJobs | None = None


@dataclass(slots=True)
class Service:
    """The running service. `run` returns after a drain; it raises
    StoppedError at the emergency stop."""

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
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _bus: Bus = field(default_factory=lambda: asyncio.Queue(BUS_SIZE))
    _wrote: asyncio.Event = field(default_factory=asyncio.Event)
    _followed: asyncio.Event = field(default_factory=asyncio.Event)
    _retired: list[Channel] = field(default_factory=list)
    _reloaded: asyncio.Event = field(default_factory=asyncio.Event)
    _tried: asyncio.Event = field(default_factory=asyncio.Event)
    _beside: BackgroundTasks = field(init=False)
    _hook_notifier: HookNotifier = field(init=False)
    _desk: Desk | None = None
    _leads: bool = False

    def __post_init__(self) -> None:
        self._beside = BackgroundTasks(self.parts.log)
        self._hook_notifier = HookNotifier(
            self._hooks, self.parts.queue, self.parts.log)

    def stop(self) -> None:
        """Drain and end."""
        self._stop.set()

    async def run(self) -> None:
        """Get the lease, work, and drain when told; stand by whenever
        another one holds it."""
        self.parts.estop.check()
        self._handle_signals()
        watch = asyncio.ensure_future(self._watch_estop())
        try:
            await self._run_terms()
        finally:
            await cancel_all([watch])
        self.parts.estop.check()

    async def _run_terms(self) -> None:
        while not self._stop.is_set():
            lease = await self._get_lease()
            if lease is None:
                break
            try:
                await self._lead(lease)
                break
            except LeaseLostError as error:
                self.parts.log("lease.lost", error=describe(error))
        self.parts.notifier.stopping()

    async def _watch_estop(self) -> None:
        """The emergency stop ends the turns as /stop does, and then us.
        Messages wait in the inbox."""
        await self.parts.estop.wait()
        self.parts.log("estop", text=self.parts.estop.read())
        self.drain_s = min(self.drain_s, ESTOP_DRAIN_S)
        if self._dispatcher is not None:
            self._dispatcher.stop_all()
        if self.parts.jobs is not None:
            self.parts.jobs.stop_all()
        self._stop.set()

    # -- the leader lease

    async def _get_lease(self) -> Lease | None:
        """The lease; None when told to stop meanwhile."""
        parts, waits = self.parts, False
        while not self._stop.is_set():
            try:
                lease = await parts.queue.lease(LEASE, self.lease_s)
            except UnavailableError as error:
                # Locked: its holder may be stopped in the midst of a commit.
                parts.log("standby.error", error=describe(error),
                          hint=error.hint)
                await wait_within(self._stop, STANDBY_S)
                continue
            if lease is not None:
                return lease
            if not waits:
                waits = True
                holder = await parts.queue.holder(LEASE)
                parts.log("standby", pid=holder.pid if holder else None,
                          host=holder.host if holder else None)
                parts.notifier.ready()
                parts.notifier.status("standing by")
            await wait_within(self._stop, STANDBY_S)
        return None

    async def _lead(self, lease: Lease) -> None:
        """One term: from getting the lease to giving it up."""
        parts = self.parts
        self._lease = lease
        started = time.monotonic()
        recovered = await parts.queue.recover(lease)
        desk = parts.build_desk(self._current_lease, self._wake_sender,
                                self._reload)
        self._desk = desk
        await desk.histories.write_out(looking=True)
        await desk.carry_over()  # before anybody can come with a name
        self._bus = asyncio.Queue(BUS_SIZE)
        self._dispatcher = Dispatcher(
            desk, self._bus, limit=in_flight_limit(len(parts.live().channels)),
            after=self._after)
        parts.log("started", channels=",".join(parts.live().channels),
                  recovered=recovered,
                  ms=round((time.monotonic() - started) * 1000))
        self._start_work(desk)
        parts.notifier.ready()
        parts.notifier.status(", ".join(parts.live().channels))
        try:
            await self._until_over()
        except BaseException:  # a lost lease, a fault, a cancel
            await self._end(desk, orderly=False)
            raise
        await self._end(desk, orderly=True)

    def _start_work(self, desk: Desk) -> None:
        assert self._dispatcher is not None
        parts, self._leads = self.parts, True
        self._tasks = {name: asyncio.ensure_future(work) for name, work in (
            ("dispatcher", self._dispatcher.run()),
            ("renewer", self._renew()),
            ("history", write_histories(desk.histories, self._wrote,
                                        parts.log)),
            ("state", write_states(parts.health, parts.state_file,
                                   parts.log, self._tried)),
            ("queue", maintain_queue(parts.queue, parts.tidy_files,
                                     parts.log)),
            ("buttons", maintain_buttons(
                parts.queue, self._current_lease, self._channel,
                desk.approver.settled, parts.log)),
            ("beat", beat(parts.notifier)),
            ("watch", parts.watch(self._reload)),
            ("heartbeat", run_heartbeat(lambda: parts.live().heartbeat,
                                      self._hooks, self._reloaded)),
            # A conversation that is archived all the same comes back with
            # its next message.
            ("memory", maintain_memory(parts.tidy, lambda: desk.last,
                                       parts.log)))}
        if parts.gateway is not None:
            self._tasks["gateway"] = asyncio.ensure_future(
                parts.gateway.run(self._hook_notifier))
        if parts.jobs is not None:
            self._tasks["jobs"] = asyncio.ensure_future(parts.jobs.run(desk))
        self._follow_channels()

    def _follow_channels(self) -> None:
        """A supervisor and a sender for each channel that is configured,
        none for others."""
        parts, channels = self.parts, self.parts.live().channels
        for name in [n for n in self._supervisors if n not in channels]:
            self._supervisors.pop(name)[1].cancel()
            parts.health.parts.pop(f"channel:{name}", None)
            parts.log("channel.removed", channel=name)
        for name in channels:
            if name not in self._senders:
                self._senders[name] = Sender(
                    name, partial(self._channel, name), parts.queue,
                    self._current_lease, parts.health, parts.log,
                    on_sent=self._hook_notifier.note_sent)
                self._tasks[f"sender:{name}"] = asyncio.ensure_future(
                    self._senders[name].run())
            if name not in self._supervisors:
                self._supervisors[name] = self._supervise(name)
        self._followed.set()

    def _supervise(self, name: str
                   ) -> tuple[Supervisor, asyncio.Task[None]]:
        parts = self.parts

        def get_channel() -> Channel:
            return parts.live().channel(name).channel
        inbox = self._inboxes[name] = DurableInbox(
            name, parts.queue, self._current_lease, self._bus, parts.health,
            parts.log, self._wake_sender, self._hook_notifier,
            parts.gateway, lambda message: self._desk is not None
            and self._desk.approver.is_meant(message))
        supervisor = Supervisor(
            name, get_channel, inbox, health=parts.health, log=parts.log,
            backoff=parts.backoff, ends=name in parts.ends)
        return supervisor, asyncio.ensure_future(
            parts.instance_lock.run(get_channel, supervisor.run))

    async def _until_over(self) -> None:
        """Ends at a signal or when all inputs have ended; raises what
        ends the term otherwise."""
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            while not self._stop.is_set():
                self._followed.clear()
                tasks = [*self._tasks.values(),
                         *(task for _, task in self._supervisors.values())]
                followed = asyncio.ensure_future(self._followed.wait())
                await asyncio.wait(
                    [stop, followed, *(t for t in tasks if not t.done())],
                    return_when=asyncio.FIRST_COMPLETED)
                followed.cancel()
                for task in tasks:
                    if task.done() and not task.cancelled():
                        task.result()
                if self._supervisors and all(
                        task.done() for _, task in
                        self._supervisors.values()) and self.parts.ends:
                    await self._finish_input()
                    return
        finally:
            await cancel_all([stop])

    async def _finish_input(self) -> None:
        """The input has ended (stdin): answer what came, then go. Once all
        of it is taken, nobody is there who could say yes."""
        assert self._dispatcher is not None
        assert self._desk is not None
        while (waiting := await self.parts.queue.waiting()) \
                or self._dispatcher.busy or not self._bus.empty():
            if self._stop.is_set():
                return
            if self._bus.empty() and not any(
                    one.startswith(CONTROL) for one in waiting):
                self._desk.approver.close()
            await wait_within(self._stop, 0.02)

    async def _end(self, desk: Desk, *, orderly: bool) -> None:
        """Stop receiving; while the lease is ours, let turns and sends end
        too."""
        parts = self.parts
        self._leads = False
        await cancel_all(task for _, task in self._supervisors.values())
        gateway = self._tasks.pop("gateway", None)
        ending = asyncio.ensure_future(  # what it answers may end, too
            cancel_all([gateway] if gateway else []))
        patience_s = self.drain_s if orderly else 0
        jobs = asyncio.ensure_future(parts.jobs.drain(patience_s)) \
            if parts.jobs is not None else None
        if self._dispatcher is not None:
            if orderly:
                parts.log("draining", running=self._dispatcher.busy)
            await self._dispatcher.drain(patience_s)
        if jobs is not None:
            await jobs
        await ending
        await cancel_all(self._tasks.values())
        if orderly:
            await self._finish_orderly(desk)
        for sender in self._senders.values():
            await sender.drop()
        await desk.wait_for_signs()
        await desk.sessions.end_all(parts.log)
        await self._hook_notifier.finish()
        await cancel_all(self._beside.running)
        for channel in [*self._retired, *(
                found.channel for found in parts.live().channels.values())]:
            await close(channel, parts.log)
        self._retired.clear()
        self._supervisors.clear()
        self._senders.clear()
        self._tasks.clear()

    async def _finish_orderly(self, desk: Desk) -> None:
        parts = self.parts
        try:
            await asyncio.gather(*(
                sender.flush(FLUSH_S) for sender in self._senders.values()))
            await desk.histories.write_out()
            await parts.queue.yield_lease(self._current_lease())
            await asyncio.to_thread(write_state, parts.health,
                                    parts.state_file)
        except ClawError as error:
            parts.log("drain.error", error=describe(error))
        parts.log("stopped")

    # -- beside the turns

    async def _renew(self) -> None:
        """Hold the lease. A store that can't be written for a moment is
        no reason to give it up; another holder is, and so is a file that
        was taken away: what starts anew finds what is there."""
        while True:
            await asyncio.sleep(until_tick(min(RENEW_S, self.lease_s / 3)))
            try:
                await self.parts.queue.renew(self._current_lease(),
                                             self.lease_s)
            except (LeaseLostError, FileGoneError):
                raise
            except ClawError as error:
                self.parts.log("lease.error", error=describe(error))

    async def _after(self, finished: Finished) -> None:
        """What follows a committed turn."""
        self._wrote.set()
        self.parts.health.note_turn()
        await self.parts.after(finished)

    async def _reload(self) -> None:
        """Take new settings over: channels that changed start anew."""
        before: Mapping[str, Channel] = {
            name: found.channel
            for name, found in self.parts.live().channels.items()}
        done = await self.parts.reload()
        self._tried.set()  # claw config apply waits to read of it
        if not done or not self._leads:
            return  # who stands by starts nothing
        self._reloaded.set()
        assert self._dispatcher is not None
        self._dispatcher.limit = in_flight_limit(
            len(self.parts.live().channels))
        now = self.parts.live().channels
        for name, found in now.items():
            held = self._supervisors.get(name)
            if held is not None and before.get(name) is not found.channel:
                held[0].renew()
        self._follow_channels()
        old = [channel for name, channel in before.items()
               if name not in now or now[name].channel is not channel]
        self._retired += old
        self._beside.start(self._retire(old))

    async def _reload_on_signal(self) -> None:
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
            await self._dispatcher.wait_for_current(RETIRE_S)
        for sender in list(self._senders.values()):
            await sender.wait_for_current(FLUSH_S)
        if self._desk is not None:
            await self._desk.wait_for_signs()
        for channel in channels:
            await close(channel, self.parts.log)
            self._retired.remove(channel)

    # -- small things

    def _hooks(self) -> HookRunner:
        return self.parts.live().hooks

    def _current_lease(self) -> Lease:
        assert self._lease is not None
        return self._lease

    def _wake_sender(self, channel: str) -> None:
        sender = self._senders.get(channel) or self._senders.get(
            channel.partition(":")[0])
        if sender is not None:
            sender.wake()

    def _channel(self, name: str) -> Channel | None:
        found = self.parts.live().channels.get(name)
        return found.channel if found else None

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        loop.add_signal_handler(signal.SIGINT, self._stop.set)
        loop.add_signal_handler(
            signal.SIGHUP,
            lambda: self._beside.start(self._reload_on_signal()))

