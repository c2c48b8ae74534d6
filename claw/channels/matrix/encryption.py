"""Encrypted rooms: what the machine wants to ask and tell goes through our
own client, what comes for it from our own sync.

It is loaded once a room needs it: when one is encrypted, when an invitation
to one arrives (its keys must be known before people write there), or when
it was needed before. Whoever is in a room, or invited, reads what is sent;
a new key is made when somebody goes, comes or has another device. What
can't be read yet waits a day for its key.
"""

import asyncio
import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claw.channels.matrix.api import MatrixApi
from claw.channels.matrix.events import (
    ENCRYPTED,
    ENCRYPTION,
    KEY,
    MEMBER,
    Event,
    items,
    read_event,
    table,
    text,
)
from claw.channels.matrix.machine import (
    Machine,
    is_installed,
    missing,
    store_path,
)
from claw.channels.matrix.rooms import Rooms
from claw.core.channel import KeepsMarks
from claw.core.errors import RequestRefusedError
from claw.core.log import Log
from claw.core.value import Value

MARK = "undecrypted"
KEPT_S = 86_400.0  # so long an event waits for its key
TELL_S = 60.0  # its writer is told after this
MOST_WAITING = 50


class Waiting(Value):
    """An event whose key has not come, since when, and whether its writer
    was told."""

    room_id: str
    event: Event
    since: float
    told: bool = False


class Encryption:
    """The encrypted half of one account."""

    def __init__(self, api: MatrixApi, rooms: Rooms, folder: Path,
                 marks: KeepsMarks, log: Log) -> None:
        self._api = api
        self._rooms = rooms
        self._folder = folder
        self._marks = marks
        self._log = log
        self._machine: Machine | None = None
        self._lock = asyncio.Lock()
        self._syncs = False
        self._shared: dict[str, frozenset[tuple[str, str]]] = {}
        self._waiting: dict[str, Waiting] = {}  # by event id
        self._came: set[str] = set()  # sessions whose key is new

    def close(self) -> None:
        if self._machine is not None:
            self._machine.close()
            self._machine = None

    # -- receiving

    async def take(self, body: dict[str, Any]) -> None:
        """What a sync brought for the machine. Raises UnavailableError:
        then the sync is asked for again."""
        me = await self._api.me()
        self._syncs = True
        if self._machine is None:
            if not is_installed() or not me.device_id or not (
                    needs_encryption(body)
                    or store_path(self._folder, me).exists()):
                return
            await self.open()
        async with self._lock:
            machine = await self.open()
            for raw in items(table(body, "to_device"), "events"):
                self._take_to_device(machine, raw)
            machine.note_changed(items(table(body, "device_lists"),
                                       "changed"))
            count = table(body, "device_one_time_keys_count").get(
                "signed_curve25519")
            machine.note_counts(count if isinstance(count, int) else None)
            await self._settle(machine)

    async def open(self) -> Machine:
        """The machine. Raises MissingPartError, UnavailableError."""
        if self._machine is None:
            if not is_installed():
                raise missing()
            me = await self._api.me()
            if not me.device_id:
                raise RequestRefusedError(
                    "the token belongs to no device, so it has no keys for "
                    "an encrypted room", hint="log in for a token: claw "
                    "channel setup matrix")
            if self._machine is None:
                self._machine = Machine(self._folder, me)
        return self._machine

    def _take_to_device(self, machine: Machine, raw: Any) -> None:
        """One that can't be read stops no other."""
        try:
            session = machine.take_to_device(raw)
        except Exception as error:  # of the library, for what is hostile
            self._log("to_device_unreadable", error=type(error).__name__)
            return
        if session is not None:
            self._came.add(session)

    async def decrypt(self, room_id: str, event: Event) -> Event | None:
        """The event in the clear; None where that can't be (yet)."""
        machine = await self.open()
        try:
            return machine.decrypt(room_id, event)
        except Exception as error:  # of the library, for what is hostile
            self._log("event_unreadable", room=room_id, id=event.event_id,
                      error=type(error).__name__)
            return None

    # -- what waits for its key

    def wait_for_key(self, room_id: str, event: Event) -> None:
        """Keep an event until its key comes."""
        if event.event_id in self._waiting:
            return
        self._log("key_missing", room=room_id, id=event.event_id)
        self._waiting[event.event_id] = Waiting(room_id, event,
                                                self._api.now())
        while len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._save()

    def done(self, event_id: str) -> None:
        """An event was taken."""
        if self._waiting.pop(event_id, None) is not None:
            self._save()

    def ready(self) -> list[Waiting]:
        """What waited for keys that have come."""
        came, self._came = self._came, set()
        now = self._api.now()
        for waiting in list(self._waiting.values()):
            if now - waiting.since > KEPT_S:
                self.done(waiting.event.event_id)
        return [waiting for waiting in self._waiting.values()
                if text(waiting.event.content, "session_id") in came]

    def overdue(self) -> list[Waiting]:
        """What has waited so long that its writer should know; each is
        given once."""
        now, found = self._api.now(), []
        for number, one in self._waiting.items():
            if not one.told and now - one.since > TELL_S:
                self._waiting[number] = Waiting(one.room_id, one.event,
                                                one.since, True)
                found.append(one)
        if found:
            self._save()
        return found

    def _save(self) -> None:
        self._marks.set(MARK, json.dumps([
            [one.room_id, one.event.event_id, one.since, one.told]
            for one in self._waiting.values()]) if self._waiting else None)

    async def resume(self) -> None:
        """Go on waiting for what waited before a restart. Raises
        UnavailableError."""
        try:
            kept = [(str(room), str(number), float(since), bool(told))
                    for room, number, since, told in json.loads(
                        self._marks.get(MARK) or "[]")]
        except (ValueError, TypeError):
            kept = []
        for room_id, number, since, told in kept:
            try:
                event = read_event(await self._api.call(
                    "GET", "rooms", room_id, "event", number, room=room_id))
            except (RequestRefusedError, ValueError) as error:
                self._log("event_unknown", room=room_id, id=number,
                          error=str(error)[:300])
                continue
            if event.type == ENCRYPTED:
                self._waiting[number] = Waiting(room_id, event, since, told)
                self._came.add(text(event.content, "session_id"))

    # -- sending

    async def encrypt(self, room_id: str, kind: str,
                      content: dict[str, Any]) -> dict[str, Any]:
        """The content of the encrypted event. What relates it to others,
        and our key, stay in the clear."""
        async with self._lock:
            machine = await self.open()
            users = await self._find_readers(room_id)
            untracked = users - machine.olm.tracked_users
            machine.olm.users_for_key_query.update(untracked)
            await self._settle(machine)
            readers = machine.devices(users)
            if readers != self._shared.get(room_id):
                machine.forget_session(room_id)
            if machine.needs_sharing(room_id):
                await self._claim(machine, users)
                for body in machine.share(room_id, users):
                    await self._tell_devices(ENCRYPTED, body)
                self._shared[room_id] = readers
            inner = {key: value for key, value in content.items()
                     if key not in ("m.relates_to", KEY)}
            return {**machine.encrypt(room_id, kind, inner), **{
                key: content[key] for key in ("m.relates_to", KEY)
                if key in content}}

    async def _find_readers(self, room_id: str) -> set[str]:
        """Who is in a room or invited; where we sync it is known until
        somebody comes or goes."""
        room = self._rooms[room_id]
        if room.readers is not None and self._syncs:
            return room.readers
        body = await self._api.call("GET", "rooms", room_id, "members",
                                    query={"not_membership": "leave"},
                                    room=room_id)
        found: set[str] = set()
        for raw in items(body, "chunk"):
            try:
                event = read_event(raw)
            except ValueError:
                continue
            if event.type == MEMBER and event.state_key and event.content.get(
                    "membership") in ("join", "invite"):
                found.add(event.state_key)
        room.readers = found
        return found

    # -- the machine's requests

    async def _settle(self, machine: Machine) -> None:
        """Upload, ask and tell until the machine wants nothing more."""
        keys = machine.keys_to_upload()
        if keys is not None:
            try:
                machine.take_uploaded(await self._api.call(
                    "POST", "keys", "upload", body=keys))
            except RequestRefusedError as error:
                machine.note_refused()
                self._log("keys_refused", error=error.message,
                          hint="was state/matrix lost? then log in for a new "
                               "token; see: claw channel setup matrix")
        if machine.olm.should_query_keys:
            asked = set(machine.olm.users_for_key_query)
            machine.take_devices(await self._api.call(
                "POST", "keys", "query", body={
                    "device_keys": {user: [] for user in asked}}), asked)
        await self._claim(machine, ())
        for message in machine.outgoing():
            try:
                await self._tell_devices(message.type, message.as_dict())
            except RequestRefusedError as error:
                self._log("letter_refused", error=error.message)
            machine.mark_sent(message)

    async def _claim(self, machine: Machine, users: Iterable[str]) -> None:
        """One-time keys of devices that we share no session with. Who has
        none left does not read this message."""
        wanted = machine.claims(users)
        if wanted:
            machine.take_claimed(await self._api.call(
                "POST", "keys", "claim", body={"one_time_keys": wanted}))

    async def _tell_devices(self, kind: str, body: dict[str, Any]) -> None:
        await self._api.call("PUT", "sendToDevice", kind,
                             secrets.token_hex(16), body=body)


def needs_encryption(body: dict[str, Any]) -> bool:
    """Whether a sync tells of an encrypted room, or of an invitation to
    one."""
    rooms = table(body, "rooms")
    states = [items(table(invited, "invite_state"), "events")
              for invited in table(rooms, "invite").values()
              if isinstance(invited, dict)]
    for joined in table(rooms, "join").values():
        if isinstance(joined, dict):
            states += [items(table(joined, key), "events")
                       for key in ("state", "timeline")]
    return any(isinstance(raw, dict)
               and raw.get("type") in (ENCRYPTION, ENCRYPTED)
               for events in states for raw in events)
