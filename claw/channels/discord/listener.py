"""Receiving: connect, take the events in order, commit, move on.

An event counts as read once its message is committed. A process that ends
leaves its session to the next one, which resumes it; where Discord has
forgotten the session, history tells what was missed. What comes twice is
known by its id.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from claw.channels.connection import Connection
from claw.channels.discord.api import Api
from claw.channels.discord.gateway import QUERY, open_gateway
from claw.channels.discord.history import History
from claw.channels.discord.intake import Intake
from claw.channels.discord.interactions import COMMANDS, answer, read_action
from claw.channels.discord.messages import message_id
from claw.channels.discord.outgoing import Sender
from claw.channels.discord.rooms import Rooms
from claw.channels.discord.session import Session
from claw.channels.discord.wire import (
    THREADS,
    Interaction,
    Message,
    is_id,
    read_message,
)
from claw.channels.gate import bound_wait
from claw.channels.gateway import (
    HEARTBEAT_S,
    KEEPS_SESSION,
    Frame,
    ReconnectError,
    is_gateway,
)
from claw.core.channel import Inbox
from claw.core.errors import (
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.log import Log
from claw.core.value import replace
from claw.net.websocket import connect

# Between two IDENTIFYs; Discord allows 1,000 a day, and resets the token of
# a bot that takes more. After sessions that were short it is doubled.
IDENTIFY_S, LONGEST_IDENTIFY_S = 5.0, 120.0
_SHORT_S = 60.0
_MISSES = 3  # of the address to resume at, until the other one is taken
_CLOSE_S = 0.5
_MOST_DONE = 2000
_AT_ONCE = 5  # channels whose history is asked for
MOST_OWNERS = 20  # whose direct messages are looked up


class Listener:
    """The receiving half of one bot; `link` tells how that goes."""

    def __init__(self, api: Api, intake: Intake, rooms: Rooms,
                 session: Session, sender: Sender,
                 owners: Sequence[str | int], *, log: Log,
                 clock: Callable[[], float], now: Callable[[], float],
                 rng: Callable[[], float] = random.random) -> None:
        self._api = api
        self._intake = intake
        self._rooms = rooms
        self._session = session
        self._sender = sender
        self._owners = [owner for owner in map(str, owners)
                        if is_id(owner)][:MOST_OWNERS]
        self._done: dict[str, None] = {}  # ids of what is committed
        self._history = History(api, log, now)
        self._log = log
        self._clock = clock
        self._now = now
        self._rng = rng
        self.link = Connection(log, api.sleep)
        self.heartbeat_s = HEARTBEAT_S
        self._bot_id = ""
        self._misses = 0
        self._sent_away = 0
        self._identified = float("-inf")
        self._pause_s = IDENTIFY_S
        self._registered = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError, ConfigError and what
        `put` raises; a gateway that can't be reached is asked again."""
        self.link.begin(inbox)
        self._intake.door.open_pairing()
        self._session.open()
        try:
            while True:
                try:
                    self._bot_id = await self._api.bot_id()
                    await self._connect(inbox)
                except ReconnectError as error:
                    # Who is sent away again and again comes less often.
                    await self.link.rest(max(error.wait_s, min(
                        2.0 ** self._sent_away - 1, LONGEST_IDENTIFY_S)))
                    self._sent_away = min(self._sent_away + 1, 10)
                except UnavailableError as error:
                    await self.link.wait_out(error)
        finally:
            await self._end_tasks()

    # -- connecting

    async def _connect(self, inbox: Inbox) -> None:
        """One connection, to its end: raises what that was."""
        url = await self._find_url()
        heard = False

        def hear() -> None:
            nonlocal heard
            heard = True
            self._misses = 0
            self.link.heard()

        try:
            async with connect(url + QUERY, self._api.peer,
                               proxy_url=self._api.proxy_url) as socket:
                gateway = open_gateway(
                    socket, self._session, self._api.checked_token(),
                    heard=hear, rng=self._rng)
                try:
                    async with aclosing(gateway.events()) as events:
                        async for event in events:
                            self.heartbeat_s = gateway.heartbeat_s
                            await self._take(event, inbox)
                finally:
                    self._session.save()
                    with contextlib.suppress(TimeoutError, UnavailableError):
                        async with asyncio.timeout(_CLOSE_S):
                            await socket.close(KEEPS_SESSION)
        finally:
            self._misses += not heard

    async def _find_url(self) -> str:
        """Where to connect to: the session's own address, or after a pause
        the one for new sessions."""
        place = self._session.place
        if self._session.is_resumable and self._misses < _MISSES \
                and is_gateway(place.url):
            return place.url.rstrip("/")
        found = await self._api.call("GET", "/gateway/bot")
        url = found.get("url") if isinstance(found, dict) else None
        if not is_gateway(url):
            raise UnavailableError(
                "Discord answered /gateway/bot without an address",
                hint="see: claw channel doctor discord")
        self._session.begin_at(self._now())
        if not self._session.is_resumable:
            _check_starts(found.get("session_start_limit"))
            await self._pace()
        return str(url).rstrip("/")

    async def _pace(self) -> None:
        """Wait until another IDENTIFY is due."""
        age = self._clock() - self._identified
        self._pause_s = IDENTIFY_S if age > max(_SHORT_S, self._pause_s) \
            else min(2 * self._pause_s, LONGEST_IDENTIFY_S)
        if age < self._pause_s:
            await self.link.rest(self._pause_s - age)
        self._identified = self._clock()

    # -- events

    async def _take(self, event: Frame, inbox: Inbox) -> None:
        """One event: what it says is committed when this returns."""
        data = event.d if isinstance(event.d, dict) else {}
        said = False
        if event.t == "READY":
            await self._ready(data, inbox)
        elif event.t == "RESUMED":
            self._log("resumed")
            self._recover()
        elif event.t in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            said = await self._message(
                data, inbox, edit=event.t == "MESSAGE_UPDATE")
        elif event.t == "INTERACTION_CREATE":
            said = await self._interaction(data, inbox)
        elif event.t == "GUILD_CREATE":
            await self._guild(data, inbox)
        elif event.t in ("CHANNEL_CREATE", "THREAD_CREATE"):
            self._rooms.note(data)
        self._session.note(event.s)
        if said or event.t in ("READY", "GUILD_CREATE"):
            self._session.save()

    def _recover(self) -> None:
        self._sent_away = 0
        self.link.recover()

    async def _ready(self, data: dict[str, Any], inbox: Inbox) -> None:
        """A new session; direct messages that were missed come first."""
        self._recover()
        user = data.get("user")
        if isinstance(user, dict) and is_id(user.get("id")):
            self._bot_id = user["id"]
        self._session.is_behind = True
        await self._open_chats()
        await self._read_on(list(self._session.place.chats), None, inbox)
        guilds = data.get("guilds")
        self._session.begin(
            str(data.get("session_id") or ""),
            str(data.get("resume_gateway_url") or ""),
            [guild["id"] for guild in guilds if isinstance(guild, dict)
             and is_id(guild.get("id"))] if isinstance(guilds, list) else [])
        self._session.is_behind = False
        application = data.get("application")
        if not self._registered and isinstance(application, dict) \
                and is_id(application.get("id")):
            self._registered = True
            self._start(self._register(application["id"]))

    async def _open_chats(self) -> None:
        """The direct messages with the owners, each looked up once: what
        one writes first of all can be missed, too."""
        for owner in self._owners:
            if owner in self._session.place.opened:
                continue
            try:
                chat = await self._sender.find_chat(f"user:{owner}")
            except RequestRefusedError as error:
                self._log("chat_not_opened", user=owner, error=error.message)
                self._session.place.opened.append(owner)
            except UnavailableError as error:  # when it connects again
                self._log("chat_not_opened", user=owner, error=error.message)
            else:
                self._session.note_chat(chat, owner)
        self._session.save()

    async def _guild(self, guild: dict[str, Any], inbox: Inbox) -> None:
        """A server shows itself; what was missed there is read."""
        self._rooms.note_guild(guild, self._bot_id)
        place, guild_id = self._session.place, guild.get("id")
        if guild_id not in place.gap or guild.get("unavailable"):
            return
        await self._read_on(self._history.find_behind(
            guild, self._session.read_until), guild_id, inbox)
        place.gap.remove(guild_id)

    async def _read_on(self, chats: Sequence[str], guild_id: str | None,
                       inbox: Inbox) -> None:
        """What was missed in these channels, some of them at a time."""
        since = self._session.read_until
        for at in range(0, len(chats), _AT_ONCE):
            for rows in await asyncio.gather(*(
                    self._history.read_on(chat, since)
                    for chat in chats[at:at + _AT_ONCE])):
                for raw in rows:
                    # REST names no server.
                    await self._message({**raw, "guild_id": guild_id}, inbox)
                    self.link.heard()

    async def _message(self, raw: dict[str, Any], inbox: Inbox, *,
                       edit: bool = False) -> bool:
        """Whether it is in the inbox."""
        try:
            message = _checked(read_message(raw))
        except ValueError as error:  # also msgspec's
            self._log("event_unreadable", id=str(raw.get("id"))[:40],
                      error=str(error)[:300])
            return False
        if edit and message.edited_timestamp is None:
            return False  # a preview was added, a thread begun
        if message_id(message) in self._done:
            return True
        found = await self._intake.message(message, self._bot_id,
                                           self.link.heard, inbox)
        if found is not None:
            await inbox.put(found)
        if len(self._done) >= _MOST_DONE:
            del self._done[next(iter(self._done))]
        self._done[message_id(message)] = None
        if not edit:
            self._session.note_message(
                message.id, message.channel_id,
                private=message.guild_id is None and found is not None)
        return found is not None

    async def _interaction(self, raw: dict[str, Any], inbox: Inbox) -> bool:
        """A button or a command: commit, then tell the person."""
        try:
            interaction = msgspec.convert(raw, Interaction)
        except ValueError as error:
            self._log("event_unreadable", id=str(raw.get("id"))[:40],
                      error=str(error)[:300])
            return False
        room = interaction.channel or {}
        thread = (interaction.channel_id if room.get("type") in THREADS
                  else None)
        message = read_action(interaction, thread, self._now())
        if message is None:
            return False
        allowed = self._intake.allows(interaction.person,
                                      interaction.guild_id)
        if allowed:
            await inbox.put(replace(message, labels=self._intake.labels(
                interaction.person)))
        self._start(self._api.cosmetic(
            "POST", f"/interactions/{interaction.id}/{interaction.token}"
                    "/callback",
            answer(interaction, message.content if allowed else None)))
        return allowed

    # -- what nobody waits for

    async def _register(self, application: str) -> None:
        """Offer the slash commands that are not there yet."""
        path = f"/applications/{application}/commands"
        try:
            there = await self._api.call("GET", path)
            names = {command.get("name") for command in there
                     if isinstance(command, dict)} \
                if isinstance(there, list) else set()
            for command in COMMANDS:
                if command["name"] not in names:
                    await self._api.call("POST", path, command)
        except ClawError as error:
            self._log("commands_not_offered", error=error.message,
                      hint="people can type them all the same")

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end_tasks(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)


def _checked(message: Message) -> Message:
    """Raises ValueError where its ids are none."""
    if not all(map(is_id, (message.id, message.channel_id,
                           message.author.id))):
        raise ValueError("a message whose ids are none")
    return message


def _check_starts(limit: Any) -> None:
    """Raises RateLimitedError where no new session may be begun."""
    if not isinstance(limit, dict) or limit.get("remaining") != 0:
        return
    after = limit.get("reset_after")
    wait_s = bound_wait(after / 1000 if isinstance(after, float)
                        else after // 1000 if isinstance(after, int)
                        else 300)
    raise RateLimitedError(
        "Discord lets this bot begin no more sessions today",
        hint="another program with its token connects again and again? "
             "make a new token", retry_after_s=wait_s)
