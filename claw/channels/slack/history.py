"""What was said while nobody listened, and all of it where there is no app
token: conversations.history of each channel since its mark, and
conversations.replies of the threads that are known.

Bounded: 1,000 messages a channel and thread, 50 threads of the last day.
Source: docs.slack.dev/reference/methods/conversations.history.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from claw.channels.connection import Connection
from claw.channels.slack.api import SlackApi
from claw.channels.slack.events import Incoming, is_ts, order, read_event
from claw.channels.slack.progress import Progress
from claw.channels.slack.sent import next_cursor
from claw.core.errors import (
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log

POLL_S = 3.0
LIST_S = 60.0
SLACK_S = 2.0  # clocks differ
AT_ONCE = 4
# So long live messages wait for older ones, which they would overtake;
# Slack waits no more than three seconds for an acknowledgement.
MOMENT_S = 2.0
PAGES, PAGE = 5, 200
_LIST_PAGES = 20
_LONGEST_S = 120.0
_TYPES = "public_channel,private_channel,mpim,im"


class History:
    """Reads the channels of one bot; `take` is given each message."""

    def __init__(self, api: SlackApi, progress: Progress, link: Connection,
                 take: Callable[[Incoming], Awaitable[None]], *,
                 only_channel: str, log: Log,
                 clock: Callable[[], float]) -> None:
        self._api = api
        self._progress = progress
        self._link = link
        self._take = take
        self._only = only_channel
        self._log = log
        self._clock = clock
        self._channels: list[str] = []
        self._listed_at = float("-inf")
        self._refused: set[str] = set()
        self._active = False
        self._begun = 0.0
        self._done: set[str] = set()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(
            asyncio.Lock)

    async def poll(self) -> None:
        """Ask for news for ever. Raises AuthError and what `put` raises."""
        limited = 0
        while True:
            try:
                if self._progress.is_new:
                    await self._skip_old()
                else:
                    await self.catch_up()
            except RateLimitedError as error:
                # As often as it was limited in a row, and not in step with
                # other pollers.
                error.retry_after_s = min(_LONGEST_S, (
                    error.retry_after_s or 1.0) * 2**limited
                    + random.uniform(0, 0.5))
                limited = min(limited + 1, 7)
                await self._link.wait_out(error)
            except UnavailableError as error:
                await self._link.wait_out(error)
            else:
                limited = 0
                self._link.recover()
                await self._api.sleep(POLL_S)

    async def _skip_old(self) -> None:
        """Begin behind what each channel has now. Not by the clock: there
        are servers that count whole seconds."""
        begun = self._api.server_time()
        for channel in await self._list():
            try:
                page, _ = await self._ask(channel, limit=1)
            except RequestRefusedError as error:
                self._tell(channel, error)
                continue
            self._progress.begin_at(channel, max(
                map(_ts, page), key=order, default="0"))
        self._progress.read_until(begun - SLACK_S)

    async def catch_up(self) -> None:
        """Read what is new everywhere, several places at once; after an
        error the next call goes on with those that are left. Raises
        UnavailableError and what `put` raises."""
        if not self._active:
            self.begin()
        todo = iter(await self._list())

        async def work() -> None:
            for channel in todo:
                await self._read_once(channel)

        workers = [asyncio.create_task(work()) for _ in range(AT_ONCE)]
        try:
            await asyncio.gather(*workers)
            self._active = False
            self._progress.read_until(self._begun - SLACK_S)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    def begin(self) -> None:
        """From now on every channel has to be read anew."""
        self._active = True
        self._begun = self._api.server_time()
        self._done.clear()

    async def go_ahead(self, channel: str, until: float) -> None:
        """Somebody speaks in a channel: what was said there before comes
        first, where that is read by then (the time of the loop)."""
        if self._active and channel not in self._done \
                and self._only in ("", channel):
            with suppress(UnavailableError, TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._read_once(channel)

    async def _read_once(self, channel: str) -> None:
        """A channel and its threads, where they were not read yet."""
        async with self._locks[channel]:
            if channel in self._done:
                return
            await self._read(channel, None, self._progress.after(channel))
            for place, thread, last in self._progress.threads(
                    self._api.server_time()):
                if place == channel:
                    await self._read(channel, thread, last)
            self._done.add(channel)

    async def _list(self) -> list[str]:
        """The channels that the bot is in; where it may not list them,
        those it has heard something in."""
        if self._only:
            return [self._only]
        if self._clock() >= self._listed_at + LIST_S:
            try:
                self._channels = await self._ask_for_list()
            except RequestRefusedError as error:
                self._tell("conversations.list", error)
                self._channels = self._progress.channels()
            self._listed_at = self._clock()
        return self._channels

    async def _ask_for_list(self) -> list[str]:
        found: list[str] = []
        cursor = None
        for _ in range(_LIST_PAGES):
            page = await self._api.call("conversations.list", {
                "types": _TYPES, "exclude_archived": True, "limit": PAGE,
                "cursor": cursor})
            listed = page.get("channels")
            found += [str(one["id"]) for one in (
                listed if isinstance(listed, list) else ())
                if isinstance(one, dict) and _is_in(one)]
            cursor = next_cursor(page)
            if cursor is None:
                break
        return found

    def _tell(self, place: str, error: RequestRefusedError) -> None:
        if error.message not in self._refused:
            self._refused.add(error.message)
            self._log("history_refused", place=place, error=error.message,
                      hint=error.hint)

    async def _read(self, channel: str, thread: str | None,
                    after: str) -> None:
        """Take what one place has that is newer, oldest first. A place that
        can't be read is told of once and holds up no other."""
        try:
            messages = await self._fetch(channel, thread, after)
        except RequestRefusedError as error:
            self._tell(channel, error)
            return
        found = []
        for message in messages:
            try:
                incoming = read_event({"type": "message", **message}, channel)
            except ValueError as error:
                self._log("event_unreadable", error=str(error)[:300])
                continue
            if incoming is not None and order(incoming.ts) > order(after):
                found.append(incoming)
        for incoming in sorted(found, key=lambda one: order(one.ts)):
            await self._take(incoming)
            self._link.heard()

    async def _fetch(self, channel: str, thread: str | None, after: str
                     ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = None
        for _ in range(PAGES):
            page, cursor = await self._ask(channel, ts=thread, oldest=after,
                                           limit=PAGE, cursor=cursor)
            found += page
            # A history begins with the newest; there are servers that give
            # all of it, whatever is asked for.
            if cursor is None or (thread is None and any(
                    order(_ts(one)) <= order(after) for one in page)):
                return found
        self._log("history_cut", place=channel, messages=len(found),
                  hint="more was said while nobody listened than is read")
        return found

    async def _ask(self, channel: str, **params: Any
                   ) -> tuple[list[dict[str, Any]], str | None]:
        """A page of messages, and where the next one begins."""
        method = "replies" if params.get("ts") else "history"
        page = await self._api.call(
            f"conversations.{method}", {"channel": channel, **params},
            patience_s=0.0)
        self._link.heard()
        messages = page.get("messages")
        return [one for one in (messages if isinstance(messages, list)
                                else ()) if isinstance(one, dict)], \
            next_cursor(page)


def _ts(message: dict[str, Any]) -> str:
    """Its ts; "0" where it has none."""
    ts = message.get("ts")
    return ts if isinstance(ts, str) and is_ts(ts) else "0"


def _is_in(channel: dict[str, Any]) -> bool:
    """Whether the bot is in it; of private messages Slack does not say."""
    return (isinstance(channel.get("id"), str)
            and not channel.get("is_archived")
            and bool(channel.get("is_member", channel.get("is_im")
                                 or channel.get("is_mpim"))))
