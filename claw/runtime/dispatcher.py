"""From the bus to the turns: in order within a conversation, fair between
conversations, with a bound on how many run at once.

Stop words and pressed buttons pass order and bound. A turn that ends puts
its conversation at the end of the line, so somebody who writes ten thousand
messages delays nobody else.
"""

import asyncio
from collections.abc import Awaitable, Callable

from claw.agent.background import BackgroundTasks, cancel_all
from claw.core.channel import STRANGER, ChannelMessage, SendMessage
from claw.core.errors import ClawError, LeaseLostError, UsageError, describe
from claw.core.value import replace
from claw.runtime.inbox import Bus
from claw.runtime.message.keys import (
    CONTROL,
    command_word,
    history_key,
    scope_key,
)
from claw.runtime.message.parts import split_parts
from claw.runtime.people.commands import (
    EVERYTHING_STOPPED,
    NOTHING_TO_STOP,
    OWNERS_ONLY,
    STOPPED,
    parse,
)
from claw.runtime.turn.desk import Desk, Running, ShuttingDown
from claw.runtime.turn.draft_message import end_draft
from claw.runtime.turn.outcomes import Finished, error_text
from claw.runtime.turn.steps import process
from claw.storage.queue.model import (
    Claim,
    Completion,
    InboxRow,
    NewSend,
    OutboxRow,
)

BURST = 50
RETRY_S = (0.5, 1.0, 2.0, 5.0, 10.0)


def in_flight_limit(channels: int) -> int:
    """How many turns run at once."""
    return max(8, min(64, channels * 4))


class Dispatcher:
    """Runs the turns of one service."""

    def __init__(self, desk: Desk, bus: Bus, *, limit: int,
                 after: Callable[[Finished], Awaitable[None]]) -> None:
        self._desk = desk
        self._bus = bus
        self.limit = limit
        self._after = after
        self._ready: dict[str, None] = {}
        self._due: dict[str, float] = {}
        self._working: dict[str, asyncio.Task[None]] = {}
        self._scopes: dict[str, list[Running]] = {}
        self._newest: dict[str, int] = {}
        self._beside = BackgroundTasks(desk.log)
        self._stopping = False
        self._lost: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Until cancelled. Raises LeaseLostError."""
        self._lost = asyncio.get_running_loop().create_future()
        for conversation in await self._desk.queue.waiting():
            self._queue_up(conversation)
        take = asyncio.ensure_future(self._take_from_bus())
        try:
            await asyncio.wait((take, self._lost),
                               return_when=asyncio.FIRST_COMPLETED)
            for task in (self._lost, take):
                if task.done():
                    task.result()
        finally:
            await cancel_all([take])

    @property
    def busy(self) -> int:
        """Turns under way."""
        return len(self._working)

    async def wait_for_current(self, patience_s: float) -> None:
        """Wait until the turns that run now have ended."""
        if self._working:
            await asyncio.wait(self._working.values(), timeout=patience_s)

    def stop_all(self) -> None:
        """Start nothing more, and end all turns as /stop does."""
        self._stopping = True
        for running in [r for scope in self._scopes.values() for r in scope]:
            running.stop("stop")

    async def drain(self, patience_s: float) -> None:
        """Start nothing more; let turns end, and after `patience_s` put
        those that run back into the queue."""
        self._stopping = True
        tasks = [*self._working.values(), *self._beside.running]
        if tasks:
            await asyncio.wait(tasks, timeout=patience_s)
        for running in [r for scope in self._scopes.values() for r in scope]:
            running.stop("shutdown")
        left = [*self._working.values(), *self._beside.running]
        if left:
            _, stuck = await asyncio.wait(left, timeout=5)
            await cancel_all(stuck)

    # -- arrivals

    async def _take_from_bus(self) -> None:
        while True:
            row = await self._bus.get()
            self._note_interrupt(row)
            live = self._desk.live()
            channel = live.find(row.message.channel)
            self._queue_up(row.conversation,
                           live.wait_s(channel) if channel else 0.0)

    def _queue_up(self, conversation: str, wait_s: float = 0.0) -> None:
        if conversation.startswith(CONTROL):
            self._beside.start(self._control(conversation))
            return
        self._ready[conversation] = None
        if wait_s > 0:
            loop = asyncio.get_running_loop()
            self._due[conversation] = loop.time() + wait_s
            loop.call_later(wait_s + 0.001, self._start_ready)
        self._start_ready()

    def _interrupts(self, row: InboxRow) -> bool:
        channel = self._desk.live().find(row.message.channel)
        return bool(channel and channel.options.interrupt)

    def _note_interrupt(self, row: InboxRow) -> None:
        """A newer message of the same scope ends the turn under way."""
        if row.conversation.startswith(CONTROL) or not self._interrupts(row):
            return
        scope = scope_key(row.message)
        self._newest[scope] = row.seq
        for running in self._scopes.get(scope, ()):
            # One that was claimed with this very message is not older.
            if running.claim.rows[-1].seq < row.seq:
                running.stop("interrupt")

    async def _carry_over(self) -> None:
        """Whoever wrote may just have become known by his id: what waits
        under his name does so under that now."""
        for conversation in await self._desk.carry_over():
            self._queue_up(conversation)

    # -- the line

    def _start_ready(self) -> None:
        if self._stopping:
            return
        now = asyncio.get_running_loop().time()
        for conversation in list(self._ready):
            if len(self._working) >= self.limit:
                return
            if conversation in self._working \
                    or self._due.get(conversation, 0.0) > now:
                continue
            del self._ready[conversation]
            self._due.pop(conversation, None)
            self._working[conversation] = asyncio.ensure_future(
                self._work(conversation))

    async def _work(self, conversation: str) -> None:
        """One turn of a conversation; then it stands in line again."""
        again, wait_s = False, 0.0
        try:
            again = await self._run_turn(conversation)
        except LeaseLostError as error:
            self._lose_lease(error)
        except ClawError as error:  # the store: the row waits there
            self._desk.log("turn.store", conversation=conversation,
                           error=describe(error), hint=error.hint)
            again, wait_s = True, RETRY_S[1]
        finally:
            self._working.pop(conversation, None)
            if again:
                self._ready.pop(conversation, None)  # behind the others
                self._queue_up(conversation, wait_s)
            else:
                self._start_ready()

    async def _run_turn(self, conversation: str) -> bool:
        """Whether more may wait."""
        desk = self._desk
        await self._carry_over()
        claim = await self._claim(conversation)
        if claim is None:
            return False
        running = Running(claim, scope_key(claim.rows[-1].message))
        scope = self._scopes.setdefault(running.scope, [])
        before = list(scope)
        scope.append(running)
        try:
            if self._newest.get(running.scope, 0) > claim.rows[-1].seq:
                running.stop("interrupt")
            if self._interrupts(claim.rows[-1]):
                for other in before:
                    await other.done.wait()
            finished = await self._finish(running)
            await self._complete(claim, replace(
                end_draft(running, finished),
                notes=desk.build_notes(claim.turn_id, finished)))
        except ShuttingDown:
            await desk.queue.unclaim(desk.lease(), claim)
            return False
        finally:
            running.done.set()
            scope.remove(running)
            if not scope:
                del self._scopes[running.scope]
                self._newest.pop(running.scope, None)
        self._beside.start(self._after(finished))
        return True

    async def _finish(self, running: Running) -> Finished:
        """The turn's end. Where the store failed on the way the rows go
        back; a fault of claw is told to the person."""
        desk, claim = self._desk, running.claim
        try:
            return await process(desk, running)
        except (ShuttingDown, LeaseLostError):
            raise
        except ClawError:
            await self._put_back(claim)
            raise
        except Exception as error:  # one turn's fault ends no other
            desk.log("turn.fault", turn=claim.turn_id,
                     error=describe(error))
            return Finished(Completion(
                "failed", describe(error), sends=self._build_reply(
                    claim, error_text(error))),
                claim.rows[-1].message, None, desk.live())

    async def _put_back(self, claim: Claim) -> None:
        """Let the rows wait again, as if they had not been claimed; what
        was remembered of them goes."""
        desk, attempt = self._desk, 0
        desk.histories.drop(history_key(claim.rows[-1].message))
        while True:
            try:
                await desk.queue.unclaim(desk.lease(), claim)
                return
            except LeaseLostError:
                raise
            except ClawError:
                if self._stopping:
                    raise  # the next start finds them
                await asyncio.sleep(_retry_s(attempt))
                attempt += 1

    async def _claim(self, conversation: str) -> Claim | None:
        """The next message; a burst at once where the channel joins them. A
        command is never joined to other words."""
        desk, joins = self._desk, self._joins(conversation)
        claim = await desk.queue.claim(desk.lease(), conversation,
                                       most=BURST if joins else 1)
        if claim is None or len(claim.rows) == 1:
            return claim
        fit = _count_before_command(claim)
        if fit == len(claim.rows):
            return claim
        await self._put_back(claim)
        return await desk.queue.claim(desk.lease(), conversation, most=fit)

    def _joins(self, conversation: str) -> bool:
        live = self._desk.live()
        names = [name for name in live.channels
                 if conversation.startswith((f"{name}_", f"{name}:"))]
        if not names:
            return False
        channel = live.channels[max(names, key=len)]
        return channel.options.interrupt or live.wait_s(channel) > 0

    async def _complete(self, claim: Claim, completion: Completion
                        ) -> list[OutboxRow]:
        """Commit the end of a turn; again until the disk takes it, since
        the model has answered and must not be asked twice."""
        desk, attempt = self._desk, 0
        while True:
            try:
                rows = await desk.queue.complete(
                    desk.lease(), claim, completion)
                break
            except LeaseLostError:
                raise
            except UsageError as error:  # no disk will ever take it
                completion = Completion("failed", describe(error), sends=(
                    self._build_reply(claim, error_text(error), whole=True)))
                desk.log("turn.fault", turn=claim.turn_id,
                         error=describe(error))
            except ClawError as error:
                wait = _retry_s(attempt)
                desk.log("turn.uncommitted", turn=claim.turn_id,
                         error=describe(error), wait_s=wait)
                if self._stopping and attempt:
                    raise ShuttingDown from error
                attempt += 1
                await asyncio.sleep(wait)
        desk.approver.note_completion(claim.turn_id)
        desk.log("turn", turn=claim.turn_id,
                 outcome=completion.outcome, reason=completion.reason,
                 id=claim.rows[-1].message.id)
        if rows:
            desk.wake_sender(claim.rows[-1].message.channel)
        return rows

    # -- beside the line

    async def _control(self, conversation: str) -> None:
        """A stop word or an answer to a question."""
        attempt = 0
        while True:
            try:
                await self._carry_over()
                claim = await self._desk.queue.claim(
                    self._desk.lease(), conversation)
                if claim is not None:
                    await self._handle_control(claim)
                return
            except LeaseLostError as error:
                self._lose_lease(error)
                return
            except ClawError as error:
                self._desk.log("control.error", conversation=conversation,
                               error=describe(error))
                if self._stopping:
                    return
                await asyncio.sleep(_retry_s(attempt))
                attempt += 1

    async def _handle_control(self, claim: Claim) -> None:
        message = claim.rows[0].message
        try:
            text = self._limit_stranger(message, await self._obey(message))
        except LeaseLostError:
            raise
        except ClawError:
            await self._put_back(claim)
            raise
        await self._complete(claim, Completion(
            "answered", "control", sends=self._build_reply(claim, text)))

    def _limit_stranger(self, message: ChannelMessage, text: str | None
                        ) -> str | None:
        """What is said to a control message; a stranger's counts."""
        desk = self._desk
        if STRANGER not in message.labels \
                or desk.limit_stranger(message) is None:
            return text
        return desk.strangers.tell(message)

    async def _obey(self, message: ChannelMessage) -> str | None:
        """What to say to a stop word or an answer, once it is obeyed."""
        word = command_word(message.content)
        if message.kind != "action" and word == "/estop":
            return self._stop_everything(message)
        if message.kind == "action" or word != "/stop":
            return await self._desk.approver.decide(message)
        running = self._scopes.get(scope_key(message), ())
        for turn in running:
            turn.stop("stop")
        jobs = 0 if STRANGER in message.labels else self._desk.stop_jobs(
            message.channel, message.reply_target)
        return STOPPED if running or jobs else NOTHING_TO_STOP

    def _stop_everything(self, message: ChannelMessage) -> str:
        """/estop; the service sees it and ends."""
        if STRANGER in message.labels:
            return OWNERS_ONLY
        self._desk.estop.set(f"/estop of {message.channel}:{message.sender}")
        return EVERYTHING_STOPPED

    def _build_reply(self, claim: Claim, text: str | None, *,
                     whole: bool = False) -> tuple[NewSend, ...]:
        message = claim.rows[0].message
        if text is None:
            return ()
        reply = SendMessage(text, message.reply_target,
                            thread_ts=message.thread_ts, answers=message.id)
        found = None if whole else self._desk.live().find(message.channel)
        parts = split_parts(found.channel if found else None, reply)
        return (NewSend(f"turn:{claim.turn_id}", message.channel, reply,
                        parts),)

    def _lose_lease(self, error: LeaseLostError) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_exception(error)


def _retry_s(attempt: int) -> float:
    """Seconds until the store is tried again."""
    return RETRY_S[min(attempt, len(RETRY_S) - 1)]


def _count_before_command(claim: Claim) -> int:
    """How many rows stand before the first command; 1 where it is the
    first."""
    for index, row in enumerate(claim.rows):
        if parse(row.message) is not None:
            return max(1, index)
    return len(claim.rows)
