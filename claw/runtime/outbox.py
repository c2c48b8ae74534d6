"""The one sender of a channel: from the outbox to the platform.

A part is marked as being sent before the call, and as sent under the
platform's id after it. One whose fate is unknown (killed, timed out) is
looked up where the channel can, and goes out again with a visible note
where nobody can tell.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import chain, repeat

from claw.agent.background import cancel_all, wait_within
from claw.core.abilities import (
    FindsSent,
    KnowsKeys,
    MarksRepeats,
    TellsLeaving,
)
from claw.core.channel import Channel, Part, SendsParts
from claw.core.errors import (
    ClawError,
    LeaseLostError,
    RateLimitedError,
    UnavailableError,
    describe,
)
from claw.core.log import Log
from claw.core.times import until_tick
from claw.core.value import replace
from claw.runtime.message.parts import END_DRAFT, is_whole
from claw.runtime.process.health import Health
from claw.runtime.read_back import ReadBack
from claw.runtime.retry_rules import is_final, may_have_arrived, wait_s
from claw.security.redact.redaction import scrub_tokens
from claw.storage.queue.model import Lease, OutboxRow, Queue

REPEATED = "(possibly repeated) "
AT_ONCE = 8
NOTE_S = 1.0
GIVE_UP_S = 3 * 86_400.0  # a cut may be long; an answer is worth waiting
# Seconds before a part is looked for, or goes out again, that may have
# arrived; one that may each time, and can't be seen, is given up at last.
DOUBT_S = (1.0, 1.5, 2.5, 4.0, 7.0, 12.0, 30.0)
MOST_DOUBTS = 5
LOOKS = 20  # that fail, until nobody can tell
IDLE_S = 2.0  # until it is seen that another process has posted
LOOK_S = 30.0  # until the outbox is read again, whatever was seen
STORE_S = (0.2, 1.0, 5.0)  # until the store is tried again
END_DRAFT_TRIES = 3


class Sender:
    """Drains the outbox of one channel.

    `get_channel` gives the channel as it is configured now, None where it
    is not. A channel that can be asked what arrived, or that knows the keys
    of what it was sent, serves several chats at once; another one is sent to
    one at a time, so that a kill leaves one doubt at most. `on_sent` hears
    of each part that is confirmed.
    """

    def __init__(self, name: str, get_channel: Callable[[], Channel | None],
                 queue: Queue, lease: Callable[[], Lease], health: Health,
                 log: Log, *, now: Callable[[], float] = time.time,
                 on_sent: Callable[[OutboxRow], None] = lambda _: None
                 ) -> None:
        self.name = name
        self._get_channel = get_channel
        self._queue = queue
        self._lease = lease
        self._health = health
        self._log = log
        self._now = now
        self._on_sent = on_sent
        self._read_back = ReadBack(name, queue, lease, health, log, now=now)
        self._wake = asyncio.Event()
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._tries: dict[int, int] = {}  # that the store knows not of
        self._doubts: dict[int, int] = {}  # sends that may have arrived
        self._waits: set[int] = set()  # parts that no server was there for
        self._left: set[int] = set()  # parts whose call has left
        self._unseen: set[int] = set()  # parts that were looked for in vain

    def wake(self) -> None:
        """There may be something to send."""
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled; what is under way then goes on, for `flush` to
        wait for or `drop` to end. Raises LeaseLostError."""
        while True:
            self._wake.clear()
            seen = self._queue.fingerprint()
            try:
                await self._start_due()
                await self._read_back.look(self._get_channel())
                wait = await self._idle_s()
            except LeaseLostError:
                raise
            except ClawError as error:  # the store: later again
                self._log("outbox.store", channel=self.name,
                          error=describe(error), hint=error.hint)
                wait = 1.0
            await self._rest(wait, seen)

    async def _rest(self, seconds: float, seen: object) -> None:
        """Until the time is over, we are woken, or the queue is no longer
        as `seen`: another process has written, perhaps. Looking at its
        files wakes no thread."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            if await wait_within(self._wake, min(left, until_tick(IDLE_S))) \
                    or self._queue.fingerprint() != seen:
                return

    async def send_due(self) -> int:
        """Send what may go now, and wait for it; how many parts were
        tried. Raises LeaseLostError and what the store raises."""
        count = await self._start_due()
        while self._under_way:
            await asyncio.wait(self._under_way.values())
            self._reap()
        return count

    async def flush(self, patience_s: float) -> None:
        """Send what waits, for so long at most (a drain). Says so where
        that takes a moment: a platform may be away."""
        note = asyncio.get_running_loop().call_later(NOTE_S, partial(
            self._log, "outbox.flush", channel=self.name,
            patience_s=patience_s))
        try:
            async with asyncio.timeout(patience_s):
                while await self.send_due():
                    pass
        except TimeoutError:
            await self.drop()
            self._log("outbox.left", channel=self.name)
        finally:
            note.cancel()

    async def _start_due(self) -> int:
        """Begin to send what may go now; how many were begun. A chat that
        has to wait holds up no other."""
        self._reap()
        channel = self._get_channel()
        if channel is None:
            return 0
        free = (AT_ONCE if isinstance(channel, FindsSent)
                or channel.capabilities.key_holds_s else 1) \
            - len(self._under_way)
        if free <= 0:
            return 0
        rows = await self._queue.due(self.name, self._now(),
                                     free + len(self._under_way))
        fresh = [r for r in rows if r.seq not in self._under_way][:free]
        for row in fresh:
            send = (self._end_draft if row.part.kind == END_DRAFT
                    else self._send)
            task = asyncio.ensure_future(send(channel, row))
            self._under_way[row.seq] = task
            task.add_done_callback(lambda _: self.wake())
        return len(fresh)

    def _reap(self) -> None:
        """Forget what has ended; raise what ended badly."""
        for seq, task in list(self._under_way.items()):
            if task.done():
                del self._under_way[seq]
                if not task.cancelled():
                    task.result()

    async def wait_for_current(self, patience_s: float) -> None:
        """Wait until what is under way now has ended."""
        if self._under_way:
            await asyncio.wait(self._under_way.values(), timeout=patience_s)

    async def drop(self) -> None:
        """End what is under way; whether it arrived is then unknown."""
        tasks = list(self._under_way.values())
        self._under_way.clear()
        await cancel_all(tasks)

    async def _idle_s(self) -> float:
        """How long nothing will be due."""
        if self._under_way or self._get_channel() is None:
            return IDLE_S  # what ends wakes us
        due = await self._queue.next_due(self.name)
        return min(LOOK_S if due is None else max(0.02, due - self._now()),
                   LOOK_S if (look := self._read_back.next_s) is None
                   else max(0.02, look))

    async def _end_draft(self, channel: Channel, row: OutboxRow) -> None:
        """Take a draft away: safe to repeat, and no failure of its answer.
        One that a server will not let go holds up its chat for a moment and
        stays."""
        draft_id = str(row.part.data["draft"])
        try:
            await channel.cancel_draft(row.message.recipient, draft_id)
        except Exception as error:  # what matters has been sent
            attempts = self._tries.get(row.seq, 0)
            reached = (not isinstance(error, UnavailableError)
                       or error.status is not None
                       or may_have_arrived(error))
            if not is_final(error) and not (
                    reached and attempts >= END_DRAFT_TRIES) \
                    and self._now() - row.created_at <= GIVE_UP_S:
                self._tries[row.seq] = attempts + 1
                next_at = self._now() + wait_s(error, attempts)
                text = scrub_tokens(describe(error))
                await self._keep(lambda: self._queue.put_off(
                    self._lease(), row, next_at, text, uncertain=False))
                return
            self._log("draft.left", channel=self.name, source=row.source,
                      error=scrub_tokens(describe(error)))
        self._tries.pop(row.seq, None)
        await self._keep(lambda: self._queue.mark_sent(
            self._lease(), row, draft_id))

    async def _send(self, channel: Channel, row: OutboxRow) -> None:
        """One part, and what becomes of it. Raises LeaseLostError, and
        what the store raises before anything was sent."""
        repeats = row.uncertain and not self._is_keyed(channel, row)
        if repeats and not await self._settle(channel, row):
            return
        draft = (row.message_id is not None
                 and not isinstance(channel, SendsParts))
        self._left.discard(row.seq)
        if not draft:  # finishing one again harms nothing
            await self._queue.mark_sending(self._lease(), row)
        try:
            message_id = await self._deliver(channel, row, repeats=repeats)
        except LeaseLostError:
            raise
        except Exception as error:  # a channel's fault is this part's
            if draft and is_final(error):  # it is gone
                await self._send(channel, replace(row, message_id=None))
            else:
                await self._handle_error(
                    row, error, draft=draft,
                    keyed=self._is_keyed(channel, row))
            return
        await self._note_sent(row, message_id, repeated=repeats)
        if not draft:
            await self._tidy(channel, row)

    async def _note_sent(self, row: OutboxRow, message_id: str | None,
                         **more: bool) -> None:
        await self._keep(lambda: self._queue.mark_sent(
            self._lease(), row, message_id,
            seen="verified" if "found" in more else None))
        if message_id is None and row.message_id is None:
            self._read_back.note_silent()
        self._forget(row)
        self._health.note_send(f"channel:{self.name}")
        self._log("sent", channel=self.name, source=row.source,
                  part=row.number, id=message_id,
                  **{name: yes or None for name, yes in more.items()})
        self._on_sent(row)
        if self._waits:  # the server is back: for all
            seqs, self._waits = tuple(self._waits), set()
            await self._keep(lambda: self._queue.hasten(seqs))
            self.wake()

    def _is_keyed(self, channel: Channel, row: OutboxRow) -> bool:
        """Whether the platform still knows the key of a part, were it sent
        as soon as it was made: then it shows a repetition once. A clock
        that was set back says nothing."""
        if isinstance(channel, KnowsKeys) and not is_whole(row.part):
            return channel.knows_key(row.message, row.part)
        age = self._now() - row.created_at
        return not is_whole(row.part) \
            and 0 <= age < channel.capabilities.key_holds_s

    async def _settle(self, channel: Channel, row: OutboxRow) -> bool:
        """Look for a part in doubt. Whether it has to go out again now: it
        has arrived, or it is looked for again later."""
        if not isinstance(channel, FindsSent) or is_whole(row.part):
            return True
        try:
            await channel.catch_up()
            ids = await channel.find_sent(await self._queue.read_doubt(row))
        except LeaseLostError:
            raise
        except Exception as error:  # no answer: nothing is known yet
            return await self._look_again(row, error)
        if ids is None or len(ids) != 1:
            self._log("look.vain", channel=self.name, source=row.source,
                      part=row.number, seen=None if ids is None else len(ids))
            if ids == ():
                self._unseen.add(row.seq)
                await self._keep(lambda: self._queue.mark_seen(
                    self._lease(), row, None))
            return True
        await self._note_sent(row, ids[0], found=True)
        await self._tidy(channel, row)
        return False

    async def _look_again(self, row: OutboxRow, error: Exception) -> bool:
        """Put the look off; True where it has failed too often."""
        looks = self._tries.get(row.seq, 0) + (
            not isinstance(error, RateLimitedError))
        self._tries[row.seq] = looks
        text = scrub_tokens(describe(error))
        self._log("look.error", channel=self.name, source=row.source,
                  part=row.number, error=text)
        if looks > LOOKS or is_final(error):
            return True
        await self._put_off(row, error, wait_s(error, looks - 1), text,
                            uncertain=True)
        return False

    async def _deliver(self, channel: Channel, row: OutboxRow, *,
                       repeats: bool) -> str | None:
        part, leaving = row.part, partial(self._leave, row)
        if isinstance(channel, SendsParts) and not is_whole(part):
            if repeats:
                part = _mark(channel, part)
            if isinstance(channel, TellsLeaving):
                return await channel.send_part_telling(row.message, part,
                                                       leaving)
            leaving()
            return await channel.send_part(row.message, part)
        if row.message_id is not None:
            # The draft of a channel that has drafts and no parts.
            await channel.finalize_draft(row.message.recipient,
                                         row.message_id, part.text)
            return row.message_id
        leaving()
        await channel.send(replace(row.message, content=(
            REPEATED if repeats else "") + part.text))
        return None

    def _leave(self, row: OutboxRow) -> None:
        self._left.add(row.seq)
        self._queue.note_leaving(row)

    async def _tidy(self, channel: Channel, row: OutboxRow) -> None:
        """Remove what stood in the place of a part before it was sent (a
        draft; the placeholder of an older version)."""
        if row.message_id is None:
            return
        try:
            await channel.cancel_draft(row.message.recipient,
                                       row.message_id)
        except Exception as error:  # a stray one harms nobody
            self._log("draft.error", channel=self.name,
                      error=describe(error))

    async def _handle_error(self, row: OutboxRow, error: Exception, *,
                            draft: bool, keyed: bool) -> None:
        text = scrub_tokens(describe(error))
        attempts = max(row.attempts, self._tries.get(row.seq, 0))
        uncertain = row.seq in self._left and may_have_arrived(error)
        doubts = self._doubts.get(row.seq, 0)
        final = (is_final(error)
                 or self._now() - row.created_at > GIVE_UP_S
                 or (uncertain and doubts >= MOST_DOUBTS
                     and row.seq not in self._unseen and not keyed))
        self._log("send.error", channel=self.name, source=row.source,
                  part=row.number, error=text, final=final,
                  kind=getattr(error, "kind", None),
                  hint=getattr(error, "hint", None))
        if final:
            self._forget(row)
            await self._keep(lambda: self._queue.mark_failed(
                self._lease(), row, text))
            return
        self._tries[row.seq] = attempts + draft
        if uncertain:
            self._doubts[row.seq] = doubts + 1
        wait = (DOUBT_S[min(doubts, len(DOUBT_S) - 1)] if uncertain
                else wait_s(error, attempts))
        await self._put_off(row, error, wait, text,
                            uncertain=uncertain or row.uncertain)

    async def _put_off(self, row: OutboxRow, error: Exception, wait: float,
                       text: str, *, uncertain: bool) -> None:
        if isinstance(error, UnavailableError) and error.retry_after_s is None:
            self._waits.add(row.seq)
        next_at = self._now() + wait
        await self._keep(lambda: self._queue.put_off(
            self._lease(), row, next_at, text, uncertain=uncertain))

    def _forget(self, row: OutboxRow) -> None:
        self._tries.pop(row.seq, None)
        self._doubts.pop(row.seq, None)
        for known in (self._waits, self._left, self._unseen):
            known.discard(row.seq)

    async def _keep(self, change: Callable[[], Awaitable[None]]) -> None:
        """Write down what has happened; again until the store takes it,
        since a part whose end is not known holds up its chat."""
        for wait in chain(STORE_S, repeat(STORE_S[-1])):
            try:
                await change()
                return
            except LeaseLostError:
                raise
            except ClawError as error:
                self._log("outbox.store", channel=self.name,
                          error=describe(error), hint=error.hint)
            await asyncio.sleep(wait)


def _mark(channel: Channel, part: Part) -> Part:
    """The part with a note that it may have come before."""
    return (channel.mark_repeated(part, REPEATED)
            if isinstance(channel, MarksRepeats)
            else replace(part, text=REPEATED + part.text))
