"""The connection of one account: opened when it is needed, told apart from
those before it, and what came over it in order.

`listen` keeps one open; a send without a listener opens one of its own.
"""

import asyncio
import time
import uuid
from collections import deque
from contextlib import suppress
from itertools import count
from typing import NamedTuple

from claw.channels.connection import Connection
from claw.channels.irc.history import History
from claw.channels.irc.intake import Intake, Send
from claw.channels.irc.line import Line
from claw.channels.irc.session import Patience, Session
from claw.channels.irc.settings import IrcSettings
from claw.channels.irc.wire import open_wire
from claw.core.channel import ChannelDeps, Inbox
from claw.core.errors import UnavailableError

READY_S = 20.0
# A connection that ends within a minute is one that the server did not want:
# it must not be asked every second.
_SHORT_S = 60.0
_WAITS_S = (0.0, 5.0, 15.0, 30.0, 60.0, 120.0)
_MOST_WAITING = 5_000


class Waiting(NamedTuple):
    """A line that came; `id` is its own for good."""

    id: str
    line: Line


class Client:
    """One account on one network."""

    def __init__(self, settings: IrcSettings, deps: ChannelDeps,
                 history: History, patience: Patience) -> None:
        self.link = Connection(deps.log)
        self._settings = settings
        self._log = deps.log
        self._history = history
        self._patience = patience
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._ready = asyncio.Event()
        self._listens = False
        self._waiting: deque[Waiting] = deque()
        self._held: list[Waiting] | None = None  # while history is read
        self._news = asyncio.Event()
        self._run = uuid.uuid4().hex[:12]
        self._numbers = count(1)
        self._short = 0  # connections one after the other
        self._lived_s = _SHORT_S

    # -- the connection

    @property
    def current(self) -> Session | None:
        """The session, where one is open."""
        session = self._session
        return session if session is not None and session.is_open else None

    async def get(self) -> Session:
        """A session to send by: the listener's, or one that is opened.
        Raises AuthError, ConfigError, UnavailableError."""
        if not self._listens:
            return await self._open()
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_S):
                while self.current is None and self._listens:
                    self._ready.clear()
                    await self._ready.wait()
        if (session := self.current) is None:
            raise UnavailableError(
                f"there is no connection to {self._settings.server} now",
                hint="claw channel doctor irc")
        return session

    async def _open(self) -> Session:
        async with self._opening:
            if self.current is not None:
                return self.current
            await self.aclose()  # of the one before
            wire = await open_wire(self._settings)
            session = Session(
                wire, self._settings, self._log, hears=self._hear,
                heard=self.link.heard, patience=self._patience)
            try:
                await session.open()
            except BaseException:
                await session.aclose()
                raise
            self._session = session
            return session

    async def aclose(self) -> None:
        self._ready.clear()
        session, self._session = self._session, None
        if session is not None:
            await session.aclose()

    # -- listening

    async def listen(self, inbox: Inbox, intake: Intake,
                     send: Send) -> None:
        """Receive until cancelled; connects again after errors. Raises
        AuthError, ConfigError and what `put` raises."""
        self.link.begin(inbox)
        self._listens = True
        try:
            while True:
                try:
                    await self._live(inbox, intake, send)
                except UnavailableError as error:
                    await self.link.wait_out(error)
                    await self._pause()
        finally:
            self._listens = False
            await self.aclose()
            self._ready.set()  # who waits for a connection gets none

    async def _live(self, inbox: Inbox, intake: Intake,
                    send: Send) -> None:
        """One connection, to its end."""
        self._lived_s = _SHORT_S
        self._held = []
        try:
            await self._use(await self._open(), inbox, intake, send)
        finally:
            self._release([])

    async def _use(self, session: Session, inbox: Inbox, intake: Intake,
                   send: Send) -> None:
        """Raises what ended it."""
        began = time.monotonic()
        self._ready.set()
        self.link.recover()
        tasks = [asyncio.ensure_future(work) for work in (
            self._serve(session), self._work(session, inbox, intake, send))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
            raise session.closed.result()
        finally:
            self._ready.clear()
            self._lived_s = time.monotonic() - began
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, session: Session) -> None:
        """Join, read what was missed, then be there."""
        session.regain()
        self._history.begin(session)
        await session.join(*self._settings.channels)
        self._release(await self._history.catch_up(session))
        await asyncio.shield(session.closed)

    def _release(self, missed: list[Line]) -> None:
        """What was missed goes before what came since we are here."""
        told = {line.tags.get("msgid") for line in missed} - {None}
        held, self._held = self._held or [], None
        for waiting in (*map(self._name, missed), *(
                w for w in held if w.line.tags.get("msgid") not in told)):
            self._add(waiting)

    async def _pause(self) -> None:
        self._short = self._short + 1 if self._lived_s < _SHORT_S else 0
        wait = _WAITS_S[min(max(0, self._short - 1), len(_WAITS_S) - 1)]
        if wait:
            await self.link.rest(wait)

    # -- what came

    def _hear(self, session: Session, line: Line) -> None:
        waiting = self._name(line)
        if self._held is not None:
            self._held.append(waiting)
        else:
            self._add(waiting)

    def _name(self, line: Line) -> Waiting:
        msgid = line.tags.get("msgid", "")[:200]
        return Waiting(f"irc_{msgid}" if msgid else
                       f"irc_{self._run}_{next(self._numbers)}", line)

    def _add(self, waiting: Waiting) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            lost = self._waiting.popleft()
            self._log("dropped", id=lost.id,
                      hint="more was said than could be kept")
        self._waiting.append(waiting)
        self._news.set()

    async def _work(self, session: Session, inbox: Inbox, intake: Intake,
                    send: Send) -> None:
        """Take in what came, in order; what could not be kept stays first
        for the next try."""
        while True:
            while not self._waiting:
                self._news.clear()
                await self._news.wait()
            number, line = self._waiting[0]
            message = None
            try:
                message = await intake.read(session, line, number, inbox,
                                            send)
            except (ValueError, OverflowError) as error:
                self._log("line_unreadable", id=number,
                          error=str(error)[:300])
            if message is not None:
                await inbox.put(message)
            self._history.note(session, line, kept=message is not None)
            self._waiting.popleft()


