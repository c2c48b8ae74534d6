"""Receiving: what a connection, a webhook or the history brings goes through
here, one message of a chat at a time, each once, and is committed before it
counts as read."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

from claw.channels.connection import Connection
from claw.channels.lark.api import Bot, LarkApi
from claw.channels.lark.events import (
    MESSAGE,
    PRESSED,
    Incoming,
    read_header,
    read_message,
    read_press,
)
from claw.channels.lark.history import History
from claw.channels.lark.intake import Intake
from claw.channels.lark.outgoing import Sender
from claw.channels.lark.socket import PING_S, SILENCE_S, LongConnection
from claw.core.channel import ChannelDeps, Inbox
from claw.core.errors import ClawError, RequestRefusedError, UnavailableError

IDENTIFY_S = 10.0
_MOMENT_S = 1.5  # so long what is live waits for what was missed
_REMEMBERED = 5_000
_TOAST = {"toast": {"type": "info", "content": "Received", "i18n": {
    "en_us": "Received", "zh_cn": "已收到", "ja_jp": "受け付けました"}}}
_REFUSED = {"toast": {"type": "error", "content":
                      "You are not allowed to do this."}}


class Receiver:
    """The receiving half of one app; `link` tells how that goes."""

    def __init__(self, api: LarkApi, intake: Intake, sender: Sender,
                 deps: ChannelDeps, *, now: Callable[[], float],
                 ping_s: float = PING_S,
                 silence_s: float = SILENCE_S) -> None:
        self._api = api
        self._intake = intake
        self._sender = sender
        self._log = deps.log
        self._ping_s, self._silence_s = ping_s, silence_s
        self.link = Connection(deps.log, api.sleep)
        self._history = History(api, deps.marks, self.link, deps.log, now)
        self._bot = Bot()
        self._inbox: Inbox | None = None
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(
            asyncio.Lock)
        self._catching_up: asyncio.Task[None] | None = None

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError and what `put`
        raises."""
        await self.begin(inbox)
        try:
            await LongConnection(
                self._api, self.link, self.take, self.connected,
                log=self._log, ping_s=self._ping_s,
                silence_s=self._silence_s).run()
        finally:
            await self.stop()

    async def begin(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._turns.clear()
        self._seen.clear()
        self.link.begin(inbox)
        self._bot = await self._identify()
        self._intake.door.open_pairing()

    async def _identify(self) -> Bot:
        """Who we are; an app that can't tell leaves us without a name."""
        while True:
            try:
                bot = await self._api.me(timeout_s=IDENTIFY_S)
            except RequestRefusedError as error:
                self._log("unnamed", error=error.message, hint=error.hint)
                return Bot()
            except UnavailableError as error:
                await self.link.wait_out(error)
            else:
                self.link.forget_failures()
                return bot

    # -- what was missed

    async def connected(self) -> None:
        """Read what was said since the last message, beside what is said
        now."""
        await self.stop()
        if self._history.begin():
            self._catching_up = asyncio.create_task(self._catch_up())

    async def stop(self) -> None:
        task, self._catching_up = self._catching_up, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _catch_up(self) -> None:
        while True:
            try:
                await self._history.catch_up(partial(
                    self._take_message, note=self._history.note))
                return
            except ClawError as error:
                limit = getattr(error, "retry_after_s", None)
                if limit is None:
                    self._log("catch_up_failed", error=error.message,
                              hint=error.hint)
                await self._api.sleep(min(limit or 5.0, 120.0))

    async def caught_up(self, patience_s: float) -> None:
        """Until what was missed is in the inbox; a moment at most."""
        if self._catching_up is not None:
            await asyncio.wait({self._catching_up}, timeout=patience_s)

    # -- what came

    async def take(self, envelope: Any) -> Any:
        """Commit what an event holds; what the platform hears of it, None
        for just that it came. What can't be read is told of and holds up
        nothing."""
        kind, event = read_header(envelope)
        try:
            if kind == MESSAGE:
                incoming = read_message(event)
                if incoming is not None:
                    await self.caught_up(_MOMENT_S)
                    await self._take_message(incoming,
                                             self._history.note_live)
            elif kind == PRESSED:
                return await self._take_press(envelope, event)
        except ValueError as error:
            self._log("event_unreadable", kind=kind, error=str(error)[:300])
        return None

    async def _take_press(self, envelope: dict[str, Any],
                          event: dict[str, Any]) -> Any:
        press = read_press(envelope, event)
        if press is None:
            return None
        known = self._sender.read_card(press.message_id) or {}
        thread = known.get("thread")
        message = await self._intake.action(
            press, thread if isinstance(thread, str) else None)
        if message is None:
            return _REFUSED
        assert self._inbox is not None
        await self._inbox.put(message)
        return _TOAST

    async def _take_message(self, incoming: Incoming,
                            note: Callable[..., None]) -> None:
        """Commit a message that was not taken yet: the platform sends one
        again that was not acknowledged in time."""
        async with self._turns[incoming.chat]:
            if incoming.message_id in self._seen:
                return
            assert self._inbox is not None
            message = await self._intake.message(
                incoming, self._bot, self.link.heard, self._inbox)
            if message is not None:
                await self._inbox.put(message)
            self._seen[incoming.message_id] = None
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
            note(incoming, is_ours=message is not None)
