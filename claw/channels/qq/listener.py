"""Receiving over the gateway: connect, take the events in order, commit.

A process that ends leaves its session to the next one, which resumes it, and
QQ gives what came meanwhile. Where it no longer knows the session nothing
can be asked for: QQ keeps no history for bots. Then the log says since when
messages may be missing.
"""

import contextlib
import random
from collections.abc import Callable
from contextlib import aclosing

from claw.channels.connection import Connection
from claw.channels.gate import bound_wait
from claw.channels.gateway import (
    KEEPS_SESSION,
    Frame,
    Gateway,
    ReconnectError,
    is_gateway,
)
from claw.channels.qq import frames
from claw.channels.qq.api import Api
from claw.channels.qq.events import Events
from claw.channels.qq.session import Session
from claw.core.channel import Inbox
from claw.core.errors import (
    AuthError,
    ClawError,
    RateLimitedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.core.times import rfc3339
from claw.net.websocket import SocketClosedError, connect

# Between two sessions that are begun; after short ones it is doubled. QQ
# lets a bot begin 1,000 a day.
IDENTIFY_S, LONGEST_IDENTIFY_S = 5.0, 120.0
_SHORT_S = 60.0
_REFUSALS = 2  # of a token in a row, until it is the secret's fault


class Listener:
    """The receiving half of one bot; `link` tells how that goes. `pace` is
    told how many seconds are between heartbeats."""

    def __init__(self, api: Api, events: Events, session: Session, *,
                 log: Log, clock: Callable[[], float],
                 now: Callable[[], float], pace: Callable[[float], None],
                 rng: Callable[[], float] = random.random) -> None:
        self._api = api
        self._events = events
        self._session = session
        self._log = log
        self._clock = clock
        self._now = now
        self._rng = rng
        self.link = Connection(log, api.sleep)
        self._tell_pace = pace
        self._level = 0  # of the intents
        self._refusals = 0
        self._identified = float("-inf")
        self._pause_s = IDENTIFY_S

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError, ConfigError and what
        `put` raises; a gateway that can't be reached is asked again."""
        self.link.begin(inbox)
        self._api.check_settings()
        self._session.open()
        while True:
            try:
                await self._connect(inbox)
            except ReconnectError as error:
                await self.link.rest(error.wait_s)
            except UnavailableError as error:
                await self.link.wait_out(error)

    async def _connect(self, inbox: Inbox) -> None:
        """One connection, to its end: raises what that was."""
        token = await self._api.token()
        url = await self._find_url()
        place, resumes = self._session.place, self._session.is_resumable
        async with connect(url, self._api.peer,
                           proxy_url=self._api.proxy_url) as socket:
            gateway = Gateway(
                "QQ", socket, self._session, heard=self.link.heard,
                rng=self._rng, explain=self._explain, first=lambda _: (
                    frames.resume(token, place.session_id, place.sequence)
                    if resumes else
                    frames.identify(token, frames.INTENTS[self._level])))
            try:
                async with aclosing(gateway.events()) as events:
                    async for event in events:
                        self._tell_pace(gateway.heartbeat_s)
                        await self._take(event, inbox)
            finally:
                self._session.save()
                with contextlib.suppress(UnavailableError):
                    await socket.close(KEEPS_SESSION)

    async def _find_url(self) -> str:
        found = await self._api.call("GET", "/gateway/bot")
        url = found.get("url") if isinstance(found, dict) else None
        if not is_gateway(url):
            raise UnavailableError(
                "QQ answered /gateway/bot without an address",
                hint="see: claw channel doctor qq")
        if not self._session.is_resumable:
            _check_starts(found.get("session_start_limit"))
            await self._pace()
        return str(url)

    async def _pace(self) -> None:
        """Wait until another session may be begun."""
        age = self._clock() - self._identified
        self._pause_s = IDENTIFY_S if age > max(_SHORT_S, self._pause_s) \
            else min(2 * self._pause_s, LONGEST_IDENTIFY_S)
        if age < self._pause_s:
            await self.link.rest(self._pause_s - age)
        self._identified = self._clock()

    def _explain(self, error: SocketClosedError) -> ClawError:
        """What a close code means, and what is done about it."""
        if frames.ends_session(error.code):
            self._session.forget()
        if error.code in frames.NO_INTENTS:
            if self._level + 1 == len(frames.INTENTS):
                return frames.intents_error(error.code)
            self._level += 1
            self._identified = float("-inf")
            self._log("intents_refused", code=error.code, left=frames.INTENTS[
                self._level], hint="it goes on with fewer: no buttons, or no "
                      "messages of guilds")
            return ReconnectError("QQ refused some kinds of events")
        if error.code == frames.BAD_TOKEN:
            self._api.forget_token()
            self._refusals += 1
            if self._refusals >= _REFUSALS:
                return AuthError(
                    "qq's gateway refused the access token (close code "
                    "4004)", hint="are app_id and app_secret those of one "
                    "bot? see: claw channel doctor qq")
        return frames.close_error(error.code) or error

    # -- events

    async def _take(self, event: Frame, inbox: Inbox) -> None:
        """One event: what it says is committed when this returns."""
        if event.t in ("READY", "RESUMED"):
            self._refusals = 0
            self.link.recover()
        if event.t == "READY":
            self._ready(event.d if isinstance(event.d, dict) else {})
        elif event.t == "RESUMED":
            self._log("resumed")
        message = await self._events.read(event, inbox, self.link.heard)
        if message is not None:
            await inbox.put(message)
            if event.t == "INTERACTION_CREATE":
                self._events.tell_pressed(event.d["id"])
        self._session.note(event.s, self._now())
        if message is not None or event.t == "READY":
            self._session.save()

    def _ready(self, data: dict[str, object]) -> None:
        user = data.get("user")
        if isinstance(user, dict):
            self._events.bot_id = str(user.get("id") or "")
        since = self._session.begin(str(data.get("session_id") or ""),
                                    self._now())
        if since is not None:
            self._log("messages_may_be_missing", since=rfc3339(since),
                      hint="QQ no longer knows the session and keeps no "
                           "history for bots: what was written since then "
                           "has to be written again")


def _check_starts(limit: object) -> None:
    """Raises RateLimitedError where no new session may be begun."""
    if not isinstance(limit, dict) or limit.get("remaining") != 0 \
            or isinstance(limit["remaining"], bool):
        return
    after = limit.get("reset_after")
    wait_s = bound_wait(after / 1000 if isinstance(after, int | float)
                        and abs(after) < 1e12 else 300.0)
    raise RateLimitedError(
        "QQ lets this bot begin no more sessions today",
        hint="does another program use its secret? reset it at "
             "https://q.qq.com", retry_after_s=wait_s)
