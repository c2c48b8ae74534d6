"""Receiving: what a connection or a history brings goes through here, one
message at a time, each once, and is committed before it counts as read."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from typing import Any

from claw.channels.connection import Connection
from claw.channels.slack.api import Bot, SlackApi
from claw.channels.slack.events import Incoming, build_command, read_event
from claw.channels.slack.history import MOMENT_S, SLACK_S, History
from claw.channels.slack.intake import Intake
from claw.channels.slack.progress import FIRST_S, Progress
from claw.channels.slack.signs import Signs
from claw.channels.slack.socket import PING_S, SocketMode
from claw.core.channel import ChannelDeps, ChannelMessage, Inbox
from claw.core.errors import ClawError, RequestRefusedError, UnavailableError

IDENTIFY_S = 10.0
_REMEMBERED = 5_000


class Receiver:
    """The receiving half of one bot; `link` tells how that goes."""

    def __init__(self, api: SlackApi, intake: Intake, signs: Signs,
                 deps: ChannelDeps, *, clock: Callable[[], float],
                 ping_s: float = PING_S) -> None:
        self._api = api
        self._intake = intake
        self._signs = signs
        self._log = deps.log
        self._ping_s = ping_s
        self._progress = Progress(deps.marks)
        self.link = Connection(deps.log, api.sleep)
        self._history = History(
            api, self._progress, self.link, self._take_message,
            only_channel=intake.only_channel, log=deps.log, clock=clock)
        self._bot = Bot()
        self._inbox: Inbox | None = None
        self._seen: OrderedDict[Hashable, None] = OrderedDict()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(
            asyncio.Lock)
        self._live: defaultdict[str, asyncio.Lock] = defaultdict(
            asyncio.Lock)
        self._catching_up: asyncio.Task[None] | None = None
        self._first: asyncio.TimerHandle | None = None

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError and what `put`
        raises; a server that can't be reached is asked again."""
        self._inbox = inbox
        self._turns.clear()
        self._live.clear()
        self.link.begin(inbox)
        self._bot = await self._identify()
        self._intake.door.open_pairing()
        if not self._api.app_token:
            self._log("polling", hint="without app_token Slack is asked "
                      "every three seconds; see: claw channel setup slack")
            await self._history.poll()
            return
        try:
            await SocketMode(
                self._api, self.link, self._take_envelope, self._connected,
                log=self._log, ping_s=self._ping_s).run()
        finally:
            if self._first is not None:
                self._first.cancel()
            await self._stop_catching_up()

    async def _identify(self) -> Bot:
        """Who we are; a server that can't tell leaves us without a
        name."""
        while True:
            try:
                bot = await self._api.me(timeout_s=IDENTIFY_S)
            except RequestRefusedError as error:
                self._log("unnamed", error=error.message)
                return Bot()
            except UnavailableError as error:
                await self.link.wait_out(error)
            else:
                self.link.forget_failures()
                return bot

    # -- what was missed

    async def _connected(self, overlaps: bool) -> None:
        """Read what was said since the last message, beside what is said
        now."""
        task = self._catching_up
        if overlaps and task is not None:
            if task.done():
                self._progress.read_until(self._api.server_time() - SLACK_S)
            return
        await self._stop_catching_up()
        if self._progress.is_new:  # nothing was missed
            now = self._api.server_time()
            self._progress.begin(now)
            self._first = asyncio.get_running_loop().call_later(
                FIRST_S, self._progress.read_until, now)
            return
        self._history.begin()
        self._catching_up = asyncio.create_task(self._catch_up())

    async def _stop_catching_up(self) -> None:
        task, self._catching_up = self._catching_up, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _catch_up(self) -> None:
        while True:
            try:
                await self._history.catch_up()
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

    async def _take_envelope(self, kind: str, payload: Any,
                             number: str) -> None:
        """Commit what an envelope holds; what can't be read is told of and
        holds up nothing."""
        try:
            if kind == "events_api":
                event = payload.get("event") if isinstance(payload, dict) \
                    else None
                await self._take_event(event)
            elif kind == "interactive":
                await self._put(await self._intake.action(payload))
            elif kind == "slash_commands":
                await self._take_command(payload, number)
        except ValueError as error:
            self._log("event_unreadable", kind=kind, error=str(error)[:300])

    async def _take_event(self, event: Any) -> None:
        kind = event.get("type") if isinstance(event, dict) else None
        if kind in ("user_change", "user_profile_changed"):
            self._intake.people.forget(event.get("user"))
        elif kind in ("assistant_thread_started",
                      "assistant_thread_context_changed"):
            thread = event.get("assistant_thread")
            with suppress(TypeError, KeyError):
                self._signs.note(str(thread["channel_id"]),
                                 str(thread["thread_ts"]))
        elif (incoming := read_event(event)) is not None:
            async with self._in_turn(incoming.channel):
                await self._take_message(incoming)

    async def _take_command(self, payload: Any, number: str) -> None:
        command = build_command(payload, number, self._api.server_time())
        async with self._in_turn(command.reply_target):
            await self._put(await self._intake.judge(command))

    @asynccontextmanager
    async def _in_turn(self, channel: str) -> AsyncIterator[None]:
        """What comes live in a channel, as it came, and behind what was
        missed there."""
        until = asyncio.get_running_loop().time() + MOMENT_S
        async with self._live[channel]:
            await self._history.go_ahead(channel, until)
            yield

    async def _take_message(self, incoming: Incoming) -> None:
        """Commit a message that was not taken yet: a mention comes twice,
        as a message and as a mention, both with one ts."""
        async with self._turns[incoming.channel]:
            assert self._inbox is not None
            if incoming.key in self._seen:
                return
            message = await self._intake.message(
                incoming, self._bot, self.link.heard, self._inbox)
            await self._put(message)
            self._seen[incoming.key] = None
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
            self._progress.note(incoming, ours=message is not None)

    async def _put(self, message: ChannelMessage | None) -> None:
        if message is None:
            return
        assert self._inbox is not None
        if message.thread_ts:
            self._signs.note(message.reply_target, message.thread_ts)
        await self._inbox.put(message)


