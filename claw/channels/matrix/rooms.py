"""What is known of rooms: who is in them, what they are called by people,
and which room a recipient means.
"""

import asyncio
import json
from typing import Any

from claw.channels.matrix.api import MatrixApi, MatrixRefusedError
from claw.channels.matrix.events import (
    ENCRYPTION,
    MEMBER,
    Event,
    items,
    read_event,
    read_membership,
    table,
    text,
)
from claw.core.channel import KeepsMarks
from claw.core.errors import RequestRefusedError, UnavailableError
from claw.core.log import Log

_NAME_CHARS = 80
_MOST_SCANNED = 50  # rooms that are looked through for a person's own
DIRECT = "m.direct"


def parse_recipient(recipient: str, default: str = "") -> str:
    """A room's id or alias, or a person's id, of `!id`, `#alias`,
    `@user:server` or `<sender>||!id`; `default` where none is named.
    Raises RequestRefusedError for anything else."""
    found = recipient.strip().rpartition("||")[2].strip() or default.strip()
    if len(found) < 2 or len(found.encode("utf-8", "replace")) > 255 \
            or found[0] not in "!#@" or not found.isprintable() \
            or (found[0] != "!" and ":" not in found):
        raise RequestRefusedError(
            f"{json.dumps(recipient[:80])} is no room of Matrix", status=400,
            hint="write !room:server (rooms of version 12 have no server), "
                 "#alias:server or @user:server")
    return found


class Room:
    """One room as far as it is known. `members` are ids and display names
    of those who are in it, None while they were not asked for."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.invited: set[str] = set()
        self.members: set[str] | None = None
        self.count: int | None = None
        self.readers: set[str] | None = None  # joined or invited
        self.encryption: dict[str, Any] | None = None
        self.is_asked = False  # whether it is encrypted

    def learn(self, event: Event) -> None:
        """What a state event tells."""
        if event.type == ENCRYPTION and event.state_key == "":
            self.encryption = event.content
        member = read_membership(event)
        if member is None:
            return
        user, membership, name = member
        self.names[user] = name
        self.invited.discard(user)
        if membership == "invite":
            self.invited.add(user)
        self.readers = None
        self.count = None  # what a sync sums up comes after this
        if self.members is not None:
            (self.members.add if membership == "join"
             else self.members.discard)(user)


class Rooms:
    """The rooms of one account."""

    def __init__(self, api: MatrixApi, marks: KeepsMarks, log: Log,
                 default: str = "") -> None:
        self._api = api
        self._marks = marks
        self._log = log
        self._default = default
        self._rooms: dict[str, Room] = {}
        self._found: dict[str, str] = {}  # alias or person -> room id
        self._lock = asyncio.Lock()

    def __getitem__(self, room_id: str) -> Room:
        return self._rooms.setdefault(room_id, Room())

    def forget(self, room_id: str) -> None:
        """We are no longer in it."""
        self._rooms.pop(room_id, None)
        self._found = {name: room for name, room in self._found.items()
                       if room != room_id}

    # -- people

    def learn(self, room_id: str, joined: dict[str, Any],
              timeline: list[Event]) -> None:
        """What a sync told of a room."""
        room = self[room_id]
        if table(joined, "timeline").get("limited") is True:
            room.members = room.readers = None  # who came or left is left out
        for raw in items(table(joined, "state"), "events"):
            try:
                room.learn(read_event(raw))
            except ValueError:
                continue  # of no use to anybody
        for event in timeline:
            if event.state_key is not None:
                room.learn(event)
                if self._found.get(event.state_key) == room_id and \
                        event.content.get("membership") in ("leave", "ban"):
                    del self._found[event.state_key]  # he is not there now
        if room.encryption is not None:
            self._note_encrypted(room_id)
        summary = table(joined, "summary")
        counts = [summary.get(f"m.{kind}_member_count")
                  for kind in ("joined", "invited")]
        if isinstance(counts[0], int):
            room.count = counts[0] + (
                counts[1] if isinstance(counts[1], int) else 0)

    async def load_members(self, room_id: str) -> set[str]:
        """Who has joined; asked once, then kept by what syncs tell."""
        room = self[room_id]
        if room.members is None:
            body = await self._api.call("GET", "rooms", room_id,
                                        "joined_members", room=room_id)
            joined = table(body, "joined")
            room.members = set(joined)
            room.names.update({
                user: text(table(joined, user), "display_name")
                for user in joined})
        return room.members

    async def is_private(self, room_id: str) -> bool:
        """Whether it is a chat with one person."""
        room = self[room_id]
        if room.count is None:
            members = await self.load_members(room_id)
            room.count = len(members | room.invited)
        return room.count <= 2

    async def name(self, room_id: str, user: str) -> str:
        """What people read in the place of an id."""
        if user not in self[room_id].names:
            try:
                await self.load_members(room_id)
            except UnavailableError as error:
                self._log("members_unknown", room=room_id,
                          error=error.message)
        name = " ".join(self[room_id].names.get(user, "").split())
        return name[:_NAME_CHARS] or user

    async def is_encrypted(self, room_id: str) -> bool:
        """Once encrypted it always is, whatever a server says later."""
        room = self[room_id]
        if self._marks.get(f"encrypted {room_id}"):
            return True
        if room.encryption is None and not room.is_asked:
            try:
                room.encryption = await self._api.call(
                    "GET", "rooms", room_id, "state", ENCRYPTION, "",
                    room=room_id)
            except MatrixRefusedError as error:
                if error.errcode != "M_NOT_FOUND":
                    raise
            room.is_asked = True
        if room.encryption is not None:
            self._note_encrypted(room_id)
        return room.encryption is not None

    def _note_encrypted(self, room_id: str) -> None:
        if not self._marks.get(f"encrypted {room_id}"):
            self._marks.set(f"encrypted {room_id}", "1")

    # -- addresses

    async def resolve(self, recipient: str, *, makes: bool = True) -> str:
        """The room id of a recipient; of a person, the room with nobody
        but the two of us, made where there is none (`makes`)."""
        address = parse_recipient(recipient, self._default)
        if address[0] == "!":
            return address
        async with self._lock:  # two at once would make two rooms
            if address not in self._found:
                self._found[address] = (
                    await self.find_alias(address) if address[0] == "#"
                    else await self._find_direct(address, makes=makes))
            return self._found[address]

    async def find_alias(self, alias: str) -> str:
        body = await self._api.call("GET", "directory", "room", alias)
        room_id = body.get("room_id")
        if not isinstance(room_id, str) or not room_id.startswith("!"):
            raise UnavailableError(f"Matrix told no room for {alias}")
        return room_id

    async def note_direct(self, user: str, room_id: str) -> None:
        """Let every client of the account know that this is the room of
        the two of us."""
        direct = await self._load_direct()
        rooms = [room for room in items(direct, user)
                 if isinstance(room, str)]
        if room_id not in rooms:
            me = await self._api.me()
            await self._api.call(
                "PUT", "user", me.user_id, "account_data", DIRECT,
                body={**direct, user: [*rooms, room_id]})

    async def _load_direct(self) -> dict[str, Any]:
        me = await self._api.me()
        try:
            return await self._api.call("GET", "user", me.user_id,
                                        "account_data", DIRECT)
        except MatrixRefusedError as error:
            if error.errcode != "M_NOT_FOUND":
                raise
            return {}

    async def _find_direct(self, user: str, *, makes: bool) -> str:
        me = await self._api.me()
        if user == me.user_id:
            raise RequestRefusedError(f"{user} is the bot itself",
                                      status=400)
        body = await self._api.call("GET", "joined_rooms")
        joined = [room for room in items(body, "joined_rooms")
                  if isinstance(room, str)]
        direct = items(await self._load_direct(), user)
        known = [room for room in joined if room in direct]
        for room in [*reversed(known), *joined[:_MOST_SCANNED]]:
            if await self._is_ours(room, me.user_id, user,
                                   noted=room in known):
                return room
        if not makes:
            raise RequestRefusedError(f"there is no room with {user}")
        return await self._make_direct(user)

    async def _is_ours(self, room_id: str, me: str, user: str, *,
                       noted: bool) -> bool:
        """Whether nobody but the two of us is in it; or, where it is noted
        as theirs, whether the other one is invited: into a room of his own
        a stranger can invite anybody, and come back."""
        members = await self.load_members(room_id)
        if members != {me} or not noted:
            return members == {me, user}
        try:
            state = await self._api.call("GET", "rooms", room_id, "state",
                                         MEMBER, user, room=room_id)
        except MatrixRefusedError:
            return False
        return state.get("membership") == "invite"

    async def _make_direct(self, user: str) -> str:
        body = await self._api.call("POST", "createRoom", body={
            "is_direct": True, "invite": [user],
            "preset": "trusted_private_chat"})
        room_id = body.get("room_id")
        if not isinstance(room_id, str) or not room_id.startswith("!"):
            raise UnavailableError("Matrix made a room without telling its "
                                   "id")
        self._log("room_made", room=room_id, user=user)
        try:
            await self.note_direct(user, room_id)
        except UnavailableError as error:
            self._log("direct_unsaved", room=room_id, error=error.message)
        return room_id
