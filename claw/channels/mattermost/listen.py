"""Receiving: the WebSocket, and polling while it is refused.

A handshake that fails while REST works is a proxy that lets no WebSocket
through: then posts are asked for every 3 s, and the WebSocket is tried again
after 15 s, 30 s ... 5 minutes.
"""

import asyncio
import json
import time
from collections.abc import Callable

from claw.channels.connection import Connection, put_all
from claw.channels.mattermost.api import Api
from claw.channels.mattermost.history import History
from claw.channels.mattermost.intake import Intake
from claw.channels.mattermost.live import PING_S, Event, Live
from claw.channels.mattermost.posts import is_edit, is_for_nobody
from claw.channels.mattermost.settings import MattermostSettings
from claw.channels.mattermost.wire import DIRECT, Me, Post, read_post
from claw.core.channel import ChannelDeps, Inbox
from claw.core.errors import (
    AuthError,
    MissingPartError,
    UnavailableError,
)
from claw.text.segment import clean

POLL_S = 3.0
AGAIN_S = (15.0, 300.0)  # until the WebSocket is tried again: first, longest
_FIRST_S = 4.0
_POLLED_EDITS_MS = 60_000
_EDIT_MS = 60_000  # an edit that is told of later is no edit


class Listener:
    """The receiving half of one bot; `link` tells how that goes."""

    def __init__(self, api: Api, intake: Intake,
                 settings: MattermostSettings, deps: ChannelDeps, *,
                 clock: Callable[[], float] = time.monotonic,
                 ping_s: float = PING_S) -> None:
        self._api = api
        self._intake = intake
        self._settings = settings
        self._log = deps.log
        self._marks = deps.marks
        self._clock = clock
        self.link = Connection(deps.log, api.sleep)
        self._live = Live(api, self.link, deps.log, ping_s=ping_s)
        self._chosen = frozenset(settings.channel_id.replace(
            ",", " ").split()) - {"*"}
        self.history = History(api, deps.marks, self.link, deps.log,
                               self._chosen)
        self._refusals = 0
        self._caught_up = asyncio.Event()  # what waited is in the inbox

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError, ConfigError and what
        `put` raises; a server that can't be reached is asked again."""
        self.link.begin(inbox)
        me = await self._identify()
        self._intake.door.open_pairing()
        while True:
            try:
                if self._settings.transport == "polling":
                    await self._poll(inbox, me)
                else:
                    await self._listen(inbox, me)
            except UnavailableError as error:
                await self.link.wait_out(error)

    async def wait_caught_up(self) -> None:
        """Until what waited is in the inbox; a moment at most."""
        try:
            async with asyncio.timeout(_FIRST_S):
                await self._caught_up.wait()
        except TimeoutError:
            pass

    async def _identify(self) -> Me:
        """Who we are, and how long a post may be."""
        while True:
            try:
                me = await self._api.me()
                limit = await self._api.post_limit()
            except UnavailableError as error:
                await self.link.wait_out(error)
                continue
            if limit is not None:
                self._marks.set("post_limit", str(limit))
            self.link.forget_failures()
            return me

    async def _listen(self, inbox: Inbox, me: Me) -> None:
        """One connection; polling where there can be none."""
        async def handle(event: Event) -> None:
            await self._handle(event, inbox, me)
        try:
            await self._live.run(handle, lambda: self._catch_up(inbox, me))
        except (AuthError, MissingPartError, UnavailableError) as error:
            if self._live.opened or self._settings.transport != "auto":
                raise
            # Where REST does not work either, this says why.
            await self._catch_up(inbox, me)
            if not self._refusals:
                self._log("websocket_refused", error=error.message, hint=(
                    "posts are polled; " + (
                        error.hint or "" if isinstance(
                            error, MissingPartError) else
                        "let the proxy before Mattermost pass on the headers "
                        "Upgrade and Connection")))
        else:
            return
        wait = min(AGAIN_S[0] * 2 ** self._refusals, AGAIN_S[1])
        self._refusals = min(self._refusals + 1, 10)
        until = self._clock() + wait
        while self._clock() < until:
            await self._poll(inbox, me)

    async def _poll(self, inbox: Inbox, me: Me) -> None:
        await self._catch_up(inbox, me, polls=self._caught_up.is_set())
        self.link.recover()
        await self.link.rest(POLL_S)

    async def _catch_up(self, inbox: Inbox, me: Me, *,
                        polls: bool = False) -> None:
        async def take(post: Post, kind: str) -> None:
            await self._take(post, kind, None, (), inbox, me)
        await self.history.catch_up(
            me, take, **({"edits_ms": _POLLED_EDITS_MS} if polls else {}))
        self._caught_up.set()
        if self._live.opened:
            self._refusals = 0

    # -- what came

    async def _handle(self, event: Event, inbox: Inbox, me: Me) -> None:
        """Posts and edits; the rest is of no use here."""
        if event.name not in ("posted", "post_edited"):
            return
        post = read_post(_load(event.data.get("post")))
        if post is None:
            self._log("event_unreadable", kind=event.name)
            return
        if event.name == "post_edited" and not (
                is_edit(post) and post.edit_at > post.update_at - _EDIT_MS):
            return  # it was pinned, or answered
        kind = event.data.get("channel_type")
        if not isinstance(kind, str) or not kind:
            kind = await self.history.kind(post.channel_id)
        name = event.data.get("sender_name")
        mentions = _load(event.data.get("mentions"))
        was_read = await self._take(
            post, kind, clean(name).removeprefix("@")
            if isinstance(name, str) and name else None,
            mentions if isinstance(mentions, list) else (), inbox, me)
        self.history.advance(post, was_read=was_read)

    async def _take(self, post: Post, kind: str, name: str | None,
                    mentions: "list[object] | tuple[()]", inbox: Inbox,
                    me: Me) -> bool:
        """Put a post into the inbox; whether it was read, be it that its
        author may not write. Raises what `put` raises."""
        if self.history.has(post) or is_for_nobody(post, me) or not (
                kind == DIRECT or not self._chosen
                or post.channel_id in self._chosen):
            return False
        if name is None:
            name = await self._api.username(post.user_id)
        message = await self._intake.read(
            post, kind, name, me, inbox, heard=self.link.heard,
            mentions=[m for m in mentions if isinstance(m, str)])
        if message is not None:
            await put_all(inbox, [message])
        self.history.note(post)
        return True


def _load(text: object) -> object:
    """What stands as JSON inside of JSON."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return None


