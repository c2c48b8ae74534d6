"""The one sender of a channel: from the outbox to the platform.

A text part of a channel that can edit goes out as a placeholder whose id is
committed, and is then edited: repeating that harms nothing. Elsewhere the
part is marked as being sent before the call; one whose fate is unknown
(killed, timed out) is sent again with a visible note.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import chain, repeat

from claw.agent.background import cancel_all, wait_within
from claw.core.channel import Channel, EditsParts, SendsParts
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    LeaseLostError,
    NotFoundError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
    describe,
)
from claw.core.log import Log
from claw.core.value import replace
from claw.net.errors import class_names
from claw.runtime.health import Health
from claw.runtime.message.parts import END_DRAFT, is_whole, split_parts
from claw.security.redaction import scrub_tokens
from claw.storage.queue.model import Lease, OutboxRow, Queue

REPEATED = "(possibly repeated) "
NOT_SENT = "⚠️ This answer could not be sent: "
AT_ONCE = 8
LONGEST_S = 300.0
UNREACHED_S = 15.0
GIVE_UP_S = 3 * 86_400.0  # a cut may be long; an answer is worth waiting
# Seconds before a part goes out again that may have arrived each time; after
# the last one it is given up.
DOUBT_S = (1.0, 5.0, 30.0, 120.0, 300.0)
IDLE_S = 2.0
STORE_S = (0.2, 1.0, 5.0)  # until the store is tried again
END_DRAFT_TRIES = 3


class Sender:
    """Drains the outbox of one channel.

    `get_channel` gives the channel as it is configured now, None where it
    is not. A channel that edits serves several chats at once; another one
    is sent to one at a time, so that a kill leaves one doubt at most.
    """

    def __init__(self, name: str, get_channel: Callable[[], Channel | None],
                 queue: Queue, lease: Callable[[], Lease], health: Health,
                 log: Log, *, now: Callable[[], float] = time.time) -> None:
        self.name = name
        self._get_channel = get_channel
        self._queue = queue
        self._lease = lease
        self._health = health
        self._log = log
        self._now = now
        self._wake = asyncio.Event()
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._tries: dict[int, int] = {}

    def wake(self) -> None:
        """There may be something to send."""
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled; what is under way then goes on, for `flush` to
        wait for or `drop` to end. Raises LeaseLostError."""
        while True:
            self._wake.clear()
            try:
                await self._start_due()
                wait = await self._idle_s()
            except LeaseLostError:
                raise
            except ClawError as error:  # the store: later again
                self._log("outbox.store", channel=self.name,
                          error=describe(error), hint=error.hint)
                wait = 1.0
            await wait_within(self._wake, wait)

    async def send_due(self) -> int:
        """Send what may go now, and wait for it; how many parts were
        tried. Raises LeaseLostError and what the store raises."""
        count = await self._start_due()
        while self._under_way:
            await asyncio.wait(self._under_way.values())
            self._reap()
        return count

    async def flush(self, patience_s: float) -> None:
        """Send what waits, for so long at most (a drain)."""
        try:
            async with asyncio.timeout(patience_s):
                while await self.send_due():
                    pass
        except TimeoutError:
            await self.drop()
            self._log("outbox.left", channel=self.name)

    async def _start_due(self) -> int:
        """Begin to send what may go now; how many were begun. A chat that
        has to wait holds up no other."""
        self._reap()
        channel = self._get_channel()
        if channel is None:
            return 0
        free = (AT_ONCE if isinstance(channel, EditsParts) else 1) \
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
        """How long nothing will be due. Looked at again every two seconds,
        for what other processes post."""
        if self._under_way or self._get_channel() is None:
            return IDLE_S  # what ends wakes us
        due = await self._queue.next_due(self.name)
        return (IDLE_S if due is None
                else min(IDLE_S, max(0.02, due - self._now())))

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
        # A placeholder that is then edited, or the part itself.
        edits = (isinstance(channel, EditsParts) and row.part.kind == "text"
                 and not is_whole(row.part))
        if not edits and row.message_id is None:
            await self._queue.sending(self._lease(), row)
        try:
            message_id: str | None
            if edits and isinstance(channel, EditsParts):
                message_id = await self._edit(channel, row)
            elif row.message_id is not None:
                # The draft of a channel that has drafts and no parts.
                message_id = row.message_id
                await channel.finalize_draft(row.message.recipient,
                                             message_id, row.part.text)
            else:
                message_id = await self._deliver(channel, row)
        except LeaseLostError:
            raise
        except Exception as error:  # a channel's fault is this part's
            if not edits and row.message_id is not None and is_final(error):
                # The draft is gone: a message of its own.
                await self._send(channel, replace(row, message_id=None))
            else:
                await self._handle_error(row, error, edits=edits)
            return
        self._tries.pop(row.seq, None)
        await self._keep(lambda: self._queue.mark_sent(
            self._lease(), row, message_id))
        self._health.note_send(f"channel:{self.name}")
        self._log("sent", channel=self.name, source=row.source,
                  part=row.number, id=message_id,
                  repeated=row.uncertain or None)

    async def _deliver(self, channel: Channel,
                       row: OutboxRow) -> str | None:
        part = row.part
        if row.uncertain:
            part = replace(part, text=REPEATED + part.text)
        message = replace(row.message, content=part.text)
        if isinstance(channel, SendsParts) and not is_whole(part):
            return await channel.send_part(message, part)
        await channel.send(message)
        return None

    async def _edit(self, channel: EditsParts, row: OutboxRow
                    ) -> str | None:
        """Placeholder, then edit; a placeholder that is gone is made
        anew, once."""
        for last in (False, True):
            message_id = row.message_id
            if message_id is None:
                message_id = await channel.send_placeholder(row.message)
                await self._keep(lambda row=row, placed=message_id:  # type: ignore[misc]
                                 self._queue.mark_placed(self._lease(), row,
                                                    placed))
            try:
                await channel.edit_part(row.message, message_id, row.part)
                return message_id
            except NotFoundError:
                if last:
                    return await self._instead(channel, row, message_id)
                row = replace(row, message_id=None)
            except RequestRefusedError:
                return await self._instead(channel, row, message_id)
        raise AssertionError("unreachable")

    async def _instead(self, channel: EditsParts, row: OutboxRow,
                       placed: str) -> str | None:
        """The part as a message of its own, where a server will not edit
        (some can't); the placeholder goes."""
        assert isinstance(channel, Channel)
        try:
            sent = await self._deliver(channel, row)
        except RequestRefusedError as error:
            note = replace(row.message, content=NOT_SENT + describe(error))
            await self._try_tidy(placed, channel.edit_part(
                note, placed, split_parts(channel, note)[0]))
            raise
        await self._try_tidy(placed, channel.cancel_draft(
            row.message.recipient, placed))
        return sent

    async def _try_tidy(self, placed: str, work: Awaitable[None]) -> None:
        """Do something about a placeholder; a stray one harms nobody."""
        try:
            await work
        except Exception as error:  # what matters is decided already
            self._log("placeholder.left", channel=self.name, id=placed,
                      error=describe(error))

    async def _handle_error(self, row: OutboxRow, error: Exception, *,
                            edits: bool) -> None:
        text = scrub_tokens(describe(error))
        attempts = max(row.attempts, self._tries.get(row.seq, 0))
        # An edit in doubt is repeated and nobody sees it.
        uncertain = not edits and row.message_id is None \
            and may_have_arrived(error)
        final = is_final(error) or (
            attempts >= len(DOUBT_S) if uncertain
            else self._now() - row.created_at > GIVE_UP_S)
        self._log("send.error", channel=self.name, source=row.source,
                  part=row.number, error=text, final=final,
                  hint=getattr(error, "hint", None))
        if final:
            self._tries.pop(row.seq, None)
            await self._keep(lambda: self._queue.mark_failed(
                self._lease(), row, text))
            return
        # An edit is begun without a word to the store.
        self._tries[row.seq] = attempts + 1
        wait = DOUBT_S[attempts] if uncertain else wait_s(error, attempts)
        next_at = self._now() + wait
        await self._keep(lambda: self._queue.put_off(
            self._lease(), row, next_at, text,
            uncertain=uncertain or row.uncertain))

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


def may_have_arrived(error: Exception) -> bool:
    """Whether a failed call may have done its work. A server's refusal
    says that it did not; so does a connection that was never made."""
    if isinstance(error, AuthError | ConfigError | NotFoundError
                  | RateLimitedError | RequestRefusedError):
        return False
    given = getattr(error, "maybe_sent", None)
    if given is not None:
        return bool(given)
    cause = error.__cause__
    return cause is None or not class_names(cause) & _NEVER_CONNECTED


_NEVER_CONNECTED = {"ConnectionRefusedError", "ConnectError",
                    "ConnectTimeout", "ProxyError", "gaierror"}


def is_final(error: Exception) -> bool:
    """Whether trying again is useless: the platform understood and will
    not have it."""
    return isinstance(error, RequestRefusedError | NotFoundError)


def wait_s(error: Exception, attempts: int) -> float:
    """Seconds until the next try: what the server asked for, else
    1, 2, 4 ... 300; at most 15 where no server was reached, since trying
    to reach one costs nobody anything."""
    asked = (error.retry_after_s if isinstance(error, UnavailableError)
             else None)
    if asked is not None:
        return asked
    if isinstance(error, AuthError | ConfigError):
        return 60.0
    unreached = (isinstance(error, UnavailableError)
                 and error.status is None and not may_have_arrived(error))
    return float(min(UNREACHED_S if unreached else LONGEST_S,
                     2 ** min(attempts, 10)))
