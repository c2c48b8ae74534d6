"""A tap: one channel receives as under `claw listen`, and each message goes
to the far end in place of the agent.

Messages are committed before their platform hears "received", claimed in order
within a conversation, and completed, with the answer, once the far end has
said that they are handled. Whatever dies before that leaves them waiting. The
leader lease is that of `claw listen`: one of both works on a workspace.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from claw.agent.background import cancel_all, wait_within
from claw.core.channel import STRANGER, Channel, SendMessage
from claw.core.errors import (
    ClawError,
    LeaseLostError,
    UnavailableError,
    describe,
)
from claw.core.log import Log
from claw.runtime.inbox import BUS_SIZE, Bus, DurableInbox, ServesHttp
from claw.runtime.maintenance import maintain_queue, write_states
from claw.runtime.message.keys import command_word, registered_name
from claw.runtime.message.parts import split_parts
from claw.runtime.outbox import Sender
from claw.runtime.people.commands import EVERYTHING_STOPPED
from claw.runtime.process.health import Health, write_state
from claw.runtime.process.instance_lock import InstanceLock
from claw.runtime.process.supervisor import Backoff, Supervisor, close
from claw.runtime.service import (
    FLUSH_S,
    LEASE,
    LEASE_S,
    RENEW_S,
    STANDBY_S,
)
from claw.runtime.tap.wire import NotHandledError, Word
from claw.security.estop import EmergencyStop
from claw.storage.queue.model import (
    Claim,
    Completion,
    FileGoneError,
    InboxRow,
    Lease,
    NewSend,
    Queue,
)

PATIENCE_S = 3.0  # for a lease that `claw send` has for a moment
LOOK_S = 30.0
ESTOP_DRAIN_S = 0.5  # the emergency stop ends programs within a second
STORE_S = 1.0


class FarEnd(Protocol):
    """Who handles the messages: at most `limit` at once, and so many
    seconds more to end with."""

    @property
    def limit(self) -> int: ...

    @property
    def drain_s(self) -> float: ...

    async def run(self) -> None:
        """Returns when there is nobody any more; what is cancelled accepts
        nothing more."""

    async def handle(self, row: InboxRow) -> Word:
        """Raises NotHandledError, BrokenPipeError."""


@dataclass(slots=True)
class TapParts:
    """What a tap is made of; see wiring/listen/tap.py. `channels` are all
    that answers may go to; `name` is the one that receives."""

    name: str
    queue: Queue
    channels: Mapping[str, Channel]
    far_end: FarEnd
    health: Health
    gateway: ServesHttp
    log: Log
    state_file: Path
    backoff: Backoff
    instance_lock: InstanceLock
    estop: EmergencyStop
    tidy_files: Callable[[], Awaitable[object]]


@dataclass(slots=True)
class Tap:
    """The running tap. A message that is refused `tries` times ends as
    failed (0: it comes for ever)."""

    parts: TapParts
    tries: int = 0
    _lease: Lease | None = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _bus: Bus = field(default_factory=lambda: asyncio.Queue(BUS_SIZE))
    _senders: dict[str, Sender] = field(default_factory=dict)
    _working: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _waits: dict[str, "_Refused"] = field(default_factory=dict)
    _foreign: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Until a signal, the emergency stop, or the far end's end. Raises
        UnavailableError where another process works here, StoppedError."""
        parts = self.parts
        parts.estop.check()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        try:
            self._lease = await self._get_lease()
            if self._lease is not None:
                await self._work(await parts.queue.recover(self._lease))
        finally:
            for channel in parts.channels.values():
                await close(channel, parts.log)
        parts.estop.check()

    async def _get_lease(self) -> Lease | None:
        """None when told to stop meanwhile."""
        queue, left = self.parts.queue, PATIENCE_S / STANDBY_S
        while (lease := await queue.lease(LEASE, LEASE_S)) is None:
            if await wait_within(self._stop, STANDBY_S):
                break
            left -= 1
            if left <= 0:
                holder = await queue.holder(LEASE)
                raise UnavailableError(
                    "another claw works on this workspace"
                    + (f" (pid {holder.pid} on {holder.host})" if holder
                       else "") + f" and may receive {self.parts.name}",
                    hint="end it, or give the tap a workspace of its own: "
                         f"claw -w DIR tap {self.parts.name}; the other one "
                         "then listens without it: claw listen --channel "
                         "OTHER")
        return lease

    async def _work(self, recovered: int) -> None:
        parts, started = self.parts, time.monotonic()
        far_end = asyncio.ensure_future(parts.far_end.run())
        tasks = {far_end, *map(asyncio.ensure_future, self._list_work())}
        stop = asyncio.ensure_future(self._stop.wait())
        parts.log("started", channels=parts.name, recovered=recovered,
                  ms=round((time.monotonic() - started) * 1000))
        try:
            done, _ = await asyncio.wait(
                (stop, *tasks), return_when=asyncio.FIRST_COMPLETED)
            for task in done - {stop}:
                task.result()
            await cancel_all((far_end,))
            await self._drain()
            await cancel_all(tasks)
            await self._finish()
        finally:
            await cancel_all((stop, *tasks, *self._working.values()))
            for sender in self._senders.values():
                await sender.drop()

    def _list_work(self) -> Iterator[Coroutine[Any, Any, None]]:
        """What ends the tap when it ends."""
        parts = self.parts
        for name in parts.channels:
            self._senders[name] = Sender(
                name, partial(parts.channels.get, name), parts.queue,
                self._current_lease, parts.health, parts.log)
            yield self._senders[name].run()
        channel = parts.channels[parts.name]
        inbox = DurableInbox(
            parts.name, parts.queue, self._current_lease, self._bus,
            parts.health, parts.log, self._wake_sender,
            gateway=parts.gateway)
        supervisor = Supervisor(
            parts.name, lambda: channel, inbox,
            health=parts.health, log=parts.log, backoff=parts.backoff)
        yield parts.gateway.run(inbox)
        yield parts.instance_lock.run(lambda: channel, supervisor.run)
        yield parts.estop.wait()
        yield self._take_from_bus()
        yield self._pump()
        yield self._renew()
        yield write_states(parts.health, parts.state_file, parts.log,
                           asyncio.Event())
        yield maintain_queue(parts.queue, parts.tidy_files, parts.log)

    async def _drain(self) -> None:
        """Begin nothing more; what runs may end, and goes back into the
        queue where it does not."""
        self._stop.set()
        patience = (self.parts.far_end.drain_s
                    if self.parts.estop.read() is None else ESTOP_DRAIN_S)
        if self._working:
            self.parts.log("draining", running=len(self._working))
            await asyncio.wait(self._working.values(), timeout=patience)
        await cancel_all(self._working.values())

    async def _finish(self) -> None:
        parts = self.parts
        await asyncio.gather(*(sender.flush(FLUSH_S)
                               for sender in self._senders.values()))
        await parts.queue.yield_lease(self._current_lease())
        await asyncio.to_thread(write_state, parts.health, parts.state_file)
        parts.log("stopped")

    # -- from the queue to the far end

    async def _take_from_bus(self) -> None:
        """The queue says what waits; the bus only that something came."""
        while True:
            await self._bus.get()
            self._news.set()

    async def _pump(self) -> None:
        while True:
            self._news.clear()
            try:
                wait = await self._start_waiting()
            except LeaseLostError:
                raise
            except ClawError as error:
                self.parts.log("tap.store", error=describe(error),
                               hint=error.hint)
                wait = STORE_S
            for task in [t for t in self._working.values() if t.done()]:
                task.result()
            await wait_within(self._news, wait)

    async def _start_waiting(self) -> float:
        """Begin what may begin; seconds until more may."""
        now = asyncio.get_running_loop().time()
        wait = LOOK_S
        for conversation in await self.parts.queue.waiting():
            if self._stop.is_set() \
                    or len(self._working) >= self.parts.far_end.limit:
                break
            held = self._waits.get(conversation)
            if held is not None and held.until > now:
                wait = min(wait, held.until - now)
            elif conversation not in self._working \
                    and conversation not in self._foreign:
                task = self._working[conversation] = asyncio.ensure_future(
                    self._handle(conversation))
                task.add_done_callback(partial(self._end, conversation))
        return wait

    def _end(self, conversation: str, task: "asyncio.Task[None]") -> None:
        """Forget a task, but for one whose fault `_pump` is to raise."""
        if task.cancelled() or task.exception() is None:
            self._working.pop(conversation, None)
        self._news.set()

    async def _handle(self, conversation: str) -> None:
        """One message of a conversation."""
        try:
            claim = await self.parts.queue.claim(
                self._current_lease(), conversation)
            if claim is not None:
                await self._hand_over(claim)
        except BrokenPipeError:  # the reader is gone
            self._stop.set()
        except ClawError as error:
            if isinstance(error, LeaseLostError | FileGoneError):
                raise
            self.parts.log("tap.store", error=describe(error),
                           hint=error.hint)
            self._put_off(conversation, STORE_S)

    async def _hand_over(self, claim: Claim) -> None:
        row = claim.rows[0]
        message, conversation = row.message, row.conversation
        if registered_name(message.channel) != self.parts.name:
            self._foreign.add(conversation)  # it waits for a claw listen
            await self._unclaim(claim)
            return
        try:
            completion = Completion("answered", "tap", sends=self._answer(
                claim, await self._ask(claim)))
        except NotHandledError as error:
            refused = self._refuse(conversation, row.turn_id)
            self.parts.log("tap.refused", id=row.turn_id,
                           error=error.message, times=refused.times)
            if refused.times != self.tries:
                await self._unclaim(claim)
                return
            completion = Completion("failed", error.message)
        except BaseException:
            await asyncio.shield(self._unclaim(claim))
            raise
        self._waits.pop(conversation, None)
        await self._complete(claim, completion)

    async def _ask(self, claim: Claim) -> str | None:
        """The answer of the far end. The emergency stop is not its to
        say."""
        message = claim.rows[0].message
        if command_word(message.content) == "/estop" \
                and STRANGER not in message.labels:
            self.parts.estop.set(
                f"/estop of {message.channel}:{message.sender}")
            return EVERYTHING_STOPPED
        word = await self.parts.far_end.handle(claim.rows[0])
        return word.reply

    def _answer(self, claim: Claim, text: str | None
                ) -> tuple[NewSend, ...]:
        """Keyed by the message's own id: it can't be sent twice. Words of
        the far end may be those of strangers, so they name no files."""
        message = claim.rows[0].message
        if text is None or not text.strip():
            return ()
        reply = SendMessage(text, message.reply_target, files=False,
                            thread_ts=message.thread_ts, answers=message.id)
        parts = split_parts(self.parts.channels[self.parts.name], reply)
        return (NewSend(f"turn:{claim.turn_id}", message.channel, reply,
                        parts),) if parts else ()

    async def _complete(self, claim: Claim, completion: Completion) -> None:
        """Again until the disk takes it: the far end has done its work."""
        while True:
            try:
                await self.parts.queue.complete(
                    self._current_lease(), claim, completion)
                break
            except (LeaseLostError, FileGoneError):
                raise
            except ClawError as error:
                self.parts.log("tap.store", error=describe(error),
                               hint=error.hint)
                await asyncio.sleep(STORE_S)
        self.parts.log("turn", turn=claim.turn_id,
                       outcome=completion.outcome, reason=completion.reason)
        self._wake_sender(claim.rows[0].message.channel)

    async def _unclaim(self, claim: Claim) -> None:
        await self.parts.queue.unclaim(self._current_lease(), claim)

    def _refuse(self, conversation: str, turn_id: str) -> "_Refused":
        held = self._waits.get(conversation)
        if held is None or held.turn_id != turn_id:
            held = self._waits[conversation] = _Refused(
                turn_id, self.parts.backoff.waits())
        held.times += 1
        held.until = asyncio.get_running_loop().time() + next(held.waits)
        return held

    def _put_off(self, conversation: str, seconds: float) -> None:
        self._waits[conversation] = _Refused(
            "", iter(()), until=asyncio.get_running_loop().time() + seconds)

    # -- small things

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await self.parts.queue.renew(self._current_lease(), LEASE_S)
            except (LeaseLostError, FileGoneError):
                raise
            except ClawError as error:
                self.parts.log("lease.error", error=describe(error))

    def _current_lease(self) -> Lease:
        assert self._lease is not None
        return self._lease

    def _wake_sender(self, channel: str) -> None:
        sender = self._senders.get(registered_name(channel))
        if sender is not None:
            sender.wake()


@dataclass(slots=True)
class _Refused:
    """A message that the far end refused `times` times; `until` is the
    loop's time at which it comes again."""

    turn_id: str
    waits: Iterator[float]
    times: int = 0
    until: float = 0.0
