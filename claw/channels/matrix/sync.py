"""/sync: ask, commit, then move the token.

The token is set as a mark once all that came before it is committed: after
a kill the server gives the same again. A first start asks for no messages:
what was said before is not answered. A timeline with a gap is filled from
the room's history, down to the last token; in a room that has let us in,
down to the invitation. A token that the server no longer knows (it was set
up anew) makes all rooms be read again: what is younger than the last sync,
TIMELINE events of each at most; that there were more is logged.
"""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from claw.channels.connection import Connection, put_all
from claw.channels.matrix.api import MatrixApi, MatrixRefusedError, Me
from claw.channels.matrix.encryption import Encryption
from claw.channels.matrix.events import (
    ENCRYPTED,
    ENCRYPTION,
    MEMBER,
    MESSAGE,
    STICKER,
    TOMBSTONE,
    Event,
    find_successor,
    items,
    read_event,
    table,
    text,
)
from claw.channels.matrix.history import (
    History,
    after_entry,
    is_coming,
    is_entry,
)
from claw.channels.matrix.intake import Intake, Origin, person
from claw.channels.matrix.invites import Invites
from claw.channels.matrix.machine import is_installed, missing
from claw.channels.matrix.parts import make_content
from claw.channels.matrix.rooms import Rooms
from claw.core.channel import ChannelMessage, Inbox, KeepsMarks
from claw.core.errors import (
    RequestRefusedError,
    UnavailableError,
    describe,
)
from claw.core.log import Log

T = TypeVar("T")

TIMELINE = 50  # events of a room that one sync gives
CREATE = "m.room.create"
KINDS = (MESSAGE, STICKER, ENCRYPTED, MEMBER, ENCRYPTION, TOMBSTONE)
UNREADABLE = ("I can't read your message: the key to it has not arrived. "
              "Please send it again.")
MISSING = ("This room is encrypted, and the part of claw that reads such "
           "rooms is not installed: its owner sees how with `claw channel "
           "doctor matrix`. Until then please write in a room without "
           "encryption.")
CLOCKS_S = 300  # between our clock and the server's, when a token is lost


def make_filter(timeline: int) -> str:
    """What a sync is asked for: words, members and invitations."""
    nothing: dict[str, Any] = {"types": []}
    return json.dumps({
        "presence": nothing, "account_data": nothing, "room": {
            "account_data": nothing, "ephemeral": nothing,
            "state": {"types": [MEMBER, ENCRYPTION, CREATE],
                      "lazy_load_members": True},
            "timeline": {"types": list(KINDS), "limit": timeline,
                         "lazy_load_members": True}},
    }, separators=(",", ":"))


class Syncer:
    """The receiving half of one account; `link` tells how that goes."""

    def __init__(self, api: MatrixApi, intake: Intake, rooms: Rooms,
                 encryption: Encryption, history: History,
                 marks: KeepsMarks, log: Log,
                 listed: tuple[str, ...]) -> None:
        self._api = api
        self._intake = intake
        self._rooms = rooms
        self._encryption = encryption
        self._history = history
        self._marks = marks
        self._log = log
        self._listed = listed  # rooms, as the settings name them
        self._heard: set[str] = set()  # their ids
        self._tasks: set[asyncio.Task[None]] = set()
        self.invites = Invites(api, rooms, intake.door, marks, log,
                               self._start)
        self.link = Connection(log, api.sleep)
        self.caught_up = asyncio.Event()  # what waited is committed

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError and what `put`
        raises; a server that can't be reached is asked again."""
        self.link.begin(inbox)
        me = await self._insist(self._api.me)
        self._intake.door.open_pairing()
        await self._insist(self._encryption.resume)
        self.invites.resume()
        try:
            while True:
                await self.once(inbox, me)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What a call gives, once the server can be reached."""
        while True:
            try:
                found = await ask()
            except UnavailableError as error:
                await self.link.wait_out(error)
            else:
                self.link.forget_failures()
                return found

    async def once(self, inbox: Inbox, me: Me) -> None:
        """One call and what it brought."""
        mark = f"since {me.user_id}"
        since = self._marks.get(mark)
        try:
            await self._find_listed()
            body = await self._ask(since, mark)
            self.link.heard()
            after = text(body, "next_batch")
            if not after:
                raise UnavailableError("Matrix answered sync without a token")
            await self._encryption.take(body)
            await self._take(body, since, me, inbox)
            await self._take_waiting(inbox)
            self.link.recover()
        except UnavailableError as error:
            await self.link.wait_out(error)
            return
        if after != since:
            self._marks.set(mark, after)
            minute = int(self._api.now()) // 60 * 60
            self._marks.set("synced", str(minute))
        self.caught_up.set()

    async def _ask(self, since: str | None, mark: str) -> dict[str, Any]:
        try:
            return await self._api.sync({
                "since": since or None, "filter": make_filter(
                    TIMELINE if since is not None else 0)},
                self._api.sync_s if self.caught_up.is_set() else 0)
        except MatrixRefusedError as error:
            if since and error.status == 400:
                self._log("sync_token_refused", error=error.message,
                          hint="messages since the last sync are read again")
                self._marks.set(mark, "")
            raise

    # -- what came

    async def _take(self, body: dict[str, Any], since: str | None, me: Me,
                    inbox: Inbox) -> None:
        """Commit what was said, then join and decline."""
        rooms = table(body, "rooms")
        for room_id, joined in table(rooms, "join").items():
            if isinstance(joined, dict):
                await self._take_room(room_id, joined, since, me, inbox)
        for room_id in table(rooms, "leave"):
            self._rooms.forget(room_id)
            self._log("room_left", room=room_id)
        for room_id, invited in table(rooms, "invite").items():
            self.invites.consider(room_id, invited, me.user_id, self._heard)

    async def _take_room(self, room_id: str, joined: dict[str, Any],
                         since: str | None, me: Me, inbox: Inbox) -> None:
        raws = items(table(joined, "timeline"), "events")
        if since is not None and self._hears(room_id):
            raws = await self._complete(room_id, joined, raws, since, me)
        events = [event for raw in raws
                  if (event := self._read(raw)) is not None]
        self._rooms.learn(room_id, joined, events)
        if since is None or not self._hears(room_id):
            return
        ready: list[ChannelMessage] = []
        last: str | None = None
        for event in events:
            if successor := find_successor(event):
                self._follow(room_id, successor, event.sender)
            message = await self._build(event, room_id, inbox)
            if message is not None:
                ready.append(message)
                last = event.event_id
        await put_all(inbox, ready)
        if last is not None:
            self._start(self._confirm(room_id, last))

    async def _complete(self, room_id: str, joined: dict[str, Any],
                        raws: list[Any], since: str, me: Me) -> list[Any]:
        """A timeline with what the sync has left out of it."""
        timeline = table(joined, "timeline")
        before = text(timeline, "prev_batch")
        limited = timeline.get("limited") is True and before
        if since == "":  # the token was lost
            oldest = int(self._marks.get("synced") or 0) - CLOCKS_S
            found = [raw for raw in raws if _time(raw) > oldest]
            if limited and len(found) == len(raws):
                self._log("gap_not_read", room=room_id, error="the sync "
                          f"token was lost, and more than {len(raws)} events "
                          "are newer than the last sync",
                          hint="older messages were not seen: send them "
                               "again")
            return found
        is_new = _has_create(joined) or any(
            is_coming(event, me.user_id) for event in map(
                self._read, raws) if event is not None)
        if limited and not (is_new and any(
                is_entry(raw, me.user_id) for raw in raws)):
            try:
                raws = [*await self._history.fill(
                    room_id, before, None if is_new else since, kinds=KINDS,
                    user=me.user_id if is_new else None), *raws]
            except RequestRefusedError as error:
                self._log("gap_not_read", room=room_id, error=error.message)
        return after_entry(raws, me.user_id) if is_new else raws

    async def _build(self, event: Event, room_id: str, inbox: Inbox
                     ) -> ChannelMessage | None:
        """The message of one event. One that can't be read, or not be
        asked about, stops no other."""
        try:
            origin = Origin(room_id, await self._rooms.is_private(room_id))
            if event.type == ENCRYPTED:
                opened = await self._open(event, origin)
                if opened is None:
                    return None
                event = opened
            return await self._intake.message(event, origin, inbox,
                                              self.link.heard)
        except RequestRefusedError as error:
            self._log("event_not_taken", room=room_id, id=event.event_id,
                      error=error.message)
        except (ValueError, TypeError, RecursionError) as error:
            self._log("event_unreadable", room=room_id,
                      id=event.event_id, error=str(error)[:300])
        return None

    async def _open(self, event: Event, origin: Origin) -> Event | None:
        """An encrypted event in the clear. Without the extra it is said
        once what is missing; without its key it waits."""
        room_id, allowed = origin.room_id, self._intake.door.allows(
            person(event.sender))
        if event.sender == (await self._api.me()).user_id or not (
                allowed or origin.is_private):
            return None
        if not is_installed():
            if allowed:
                await self._tell_missing(room_id)
            return None
        opened = await self._encryption.decrypt(room_id, event)
        if opened is None and allowed:
            self._encryption.wait_for_key(room_id, event)
        return opened

    async def _take_waiting(self, inbox: Inbox) -> None:
        """What can be read now that its key has come, and a word to whom
        we could not read."""
        for one in self._encryption.ready():
            if await self._encryption.decrypt(one.room_id, one.event) is None:
                continue
            message = await self._build(one.event, one.room_id, inbox)
            if message is not None:
                await inbox.put(message)
            self._encryption.done(one.event.event_id)
        for one in self._encryption.overdue():
            await self._intake.reply(one.event, Origin(one.room_id, True),
                                     UNREADABLE, inbox)

    async def _tell_missing(self, room_id: str) -> None:
        """The one thing that is said in the clear in an encrypted room."""
        mark = f"told {room_id}"
        if self._marks.get(mark):
            return
        error = missing()
        self._log("encryption_missing", room=room_id, error=error.message,
                  hint=error.hint)
        told = await self._api.cosmetic(
            "PUT", "rooms", room_id, "send", MESSAGE, secrets.token_hex(16),
            body=make_content({"body": MISSING}, "m.notice"), room=room_id)
        if isinstance(told, dict):
            self._marks.set(mark, "1")

    def _read(self, raw: Any) -> Event | None:
        try:
            return read_event(raw)
        except ValueError as error:  # also msgspec's and unicode's
            self._log("event_unreadable", error=str(error)[:300])
            return None

    async def _confirm(self, room_id: str, event_id: str) -> None:
        """What is committed has been read."""
        await self._api.cosmetic("POST", "rooms", room_id, "receipt",
                                 "m.read", event_id)

    # -- which rooms

    def _hears(self, room_id: str) -> bool:
        return not self._listed or room_id in self._heard

    def _follow(self, room_id: str, successor: str, by: str) -> None:
        """A room was upgraded: go along, and hear the new one where the
        old one was listed."""
        self._log("room_upgraded", room=room_id, successor=successor)
        if self._listed:
            self._marks.set(f"successor {room_id}", successor)
            self._heard.add(successor)
        self.invites.join(successor, by)

    async def _find_listed(self) -> None:
        """The ids of the rooms that are listed."""
        if len(self._heard) >= len(self._listed):
            return
        found = set()
        for room in self._listed:
            try:
                found.add(room if room[0] == "!"
                          else await self._rooms.resolve(room))
            except RequestRefusedError as error:
                found.add(room)  # of no room's name: nothing is heard there
                self._log("room_unknown", room=room, error=error.message,
                          hint="is channels_config.matrix.room_id or "
                               "allowed_rooms right?")
        for room in list(found):
            while (room := self._marks.get(f"successor {room}") or "") \
                    and room not in found:
                found.add(room)
        self._heard = found

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that no message waits for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._log("task_failed", error=describe(error))


def _time(raw: Any) -> float:
    try:
        return read_event(raw).timestamp
    except ValueError:
        return 0


def _has_create(joined: dict[str, Any]) -> bool:
    """Whether a sync gives all of a room, as it does of a new one."""
    return any(isinstance(raw, dict) and raw.get("type") == CREATE
               for raw in (*items(table(joined, "state"), "events"),
                           *items(table(joined, "timeline"), "events")))
