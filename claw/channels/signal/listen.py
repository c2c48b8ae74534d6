"""Receiving: the stream of events, and the journal behind it.

One task reads the stream and writes each event down at once; another hands
them over, one by one, since files take their time. An event that is done is
struck out; what was left by a process that was killed comes first.

Signal's server keeps what was written while nobody was connected, so nothing
is asked for after an outage. At the very first start that may be weeks of
messages: what the server had a minute before is not read.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable

from claw.channels.connection import Connection, put_all
from claw.channels.signal.api import SignalApi, read_chunks
from claw.channels.signal.intake import Intake
from claw.channels.signal.journal import Journal
from claw.channels.signal.wire import Incoming, load, read_event
from claw.core.channel import ChannelDeps, Inbox
from claw.core.errors import UnavailableError
from claw.net.sse import Decoder

EVENT_CHARS = 1024 * 1024
MOST_CHARS = 8 * 1024 * 1024  # that wait; then the stream is left to wait
_GRACE_MS = 60_000
# What comes of a form that nobody thought of.
_HOSTILE = (ValueError, TypeError, LookupError, AttributeError,
            RecursionError)


class Listener:
    """The receiving half of one account."""

    def __init__(self, api: SignalApi, intake: Intake, deps: ChannelDeps, *,
                 now: Callable[[], float] = time.time) -> None:
        self._api = api
        self._intake = intake
        self._marks = deps.marks
        self._log = deps.log
        self._now = now
        self.link = Connection(deps.log, api.sleep)
        digest = hashlib.blake2b(f"{api.url} {api.account}".encode(),
                                 digest_size=6).hexdigest()
        self._journal = Journal(
            deps.workspace, f"state/signal/events_{digest}.jsonl", deps.log)
        self._more, self._less = asyncio.Event(), asyncio.Event()

    async def run(self, inbox: Inbox) -> None:
        """Until cancelled. An AuthError and what `put` raises rise; a
        daemon that can't be reached is asked again."""
        self.link.begin(inbox)
        self._intake.door.open_pairing()
        if self._marks.get("from") is None:
            self._marks.set("from", str(int(1000 * self._now())))
        self._journal.load()
        handing = asyncio.create_task(self._hand_over(inbox))
        reading = asyncio.create_task(self._read())
        try:
            await asyncio.wait({handing, reading},
                               return_when=asyncio.FIRST_COMPLETED)
            for task in (handing, reading):
                if task.done():
                    task.result()
        finally:
            for task in (handing, reading):
                task.cancel()
            await asyncio.gather(handing, reading, return_exceptions=True)

    async def _read(self) -> None:
        while True:
            try:
                await self._stream()
            except UnavailableError as error:
                await self.link.wait_out(error)
            else:
                await self.link.wait_out(UnavailableError(
                    "signal-cli ended the stream of messages",
                    hint="was its daemon stopped?"))

    async def _stream(self) -> None:
        """One connection, to its end."""
        decoder = Decoder("signal-cli", EVENT_CHARS)
        async with self._api.events() as answer:
            self.link.recover()
            async for chunk in read_chunks(answer):
                self.link.heard()
                for event in decoder.feed(chunk):
                    self._journal.add(event.data)
                self._more.set()
                while self._journal.chars > MOST_CHARS:
                    self._less.clear()
                    await self._less.wait()

    async def _hand_over(self, inbox: Inbox) -> None:
        while True:
            while self._journal:
                await self._take(self._journal.first(), inbox)
                self._journal.done()
                self._less.set()
            self._more.clear()
            await self._more.wait()

    async def _take(self, text: str, inbox: Inbox) -> None:
        """Put what an event says into the inbox. Raises what `put`
        raises. One that can't be read would come again after each start."""
        message = None
        try:
            event = load(text)
            incoming = read_event(event)
            if incoming is None:
                self._note_exception(event.get("exception"))
            elif not self._is_old(incoming):
                message = await self._intake.read(incoming, inbox,
                                                  self.link.heard)
        except _HOSTILE as error:
            self._log("event_unreadable", error=str(error)[:200])
        if message is not None:
            await put_all(inbox, [message])

    def _is_old(self, incoming: Incoming) -> bool:
        """Whether it was there before claw first was."""
        came = incoming.envelope.server_received_timestamp \
            or incoming.envelope.timestamp
        start = self._marks.get("from") or ""
        return start.isdigit() and came < int(start) - _GRACE_MS

    def _note_exception(self, exception: object) -> None:
        """A message that the daemon could not open; its sender is not
        told."""
        if isinstance(exception, dict):
            self._log("message_not_opened",
                      error=str(exception.get("type"))[:80],
                      hint="signal-cli could not decrypt a message; is it "
                           "older than 0.14.5? see its log")
