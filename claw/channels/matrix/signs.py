"""Typing and reactions: what nobody waits for."""

import secrets
from collections import OrderedDict

from claw.channels.matrix.api import MatrixApi
from claw.channels.matrix.events import items, read_event, table
from claw.channels.matrix.intake import parse_id
from claw.channels.matrix.rooms import Rooms
from claw.core.errors import AuthError, UnavailableError

REACTION = "m.reaction"
TYPING_MS = 30_000
_MOST = 1000
_RELATIONS = "/_matrix/client/v1"


class Signs:
    """The signs of one account; none of them raises."""

    def __init__(self, api: MatrixApi, rooms: Rooms) -> None:
        self._api = api
        self._rooms = rooms
        self._given: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def type(self, recipient: str, *, on: bool) -> None:
        try:
            room_id = await self._find(recipient)
            me = await self._api.me()
        except (UnavailableError, AuthError):
            return  # no room: nobody to show a sign to
        await self._api.cosmetic(
            "PUT", "rooms", room_id, "typing", me.user_id, room=room_id,
            body={"typing": True, "timeout": TYPING_MS} if on
            else {"typing": False})

    async def react(self, recipient: str, own_id: str, emoji: str) -> None:
        event_id = parse_id(own_id)
        if event_id is None or not self._api.is_calm():
            return
        try:
            room_id = await self._find(recipient)
        except (UnavailableError, AuthError):
            return
        found = await self._api.cosmetic(
            "PUT", "rooms", room_id, "send", REACTION, secrets.token_hex(16),
            room=room_id, body={"m.relates_to": {
                "rel_type": "m.annotation", "event_id": event_id,
                "key": emoji}})
        if isinstance(found, dict) and isinstance(found.get("event_id"), str):
            self._given[event_id, emoji] = found["event_id"]
            if len(self._given) > _MOST:
                self._given.popitem(last=False)

    async def remove_reaction(self, recipient: str, own_id: str, emoji: str
                              ) -> None:
        event_id = parse_id(own_id)
        if event_id is None or not self._api.is_calm():
            return
        try:
            room_id = await self._find(recipient)
            given = self._given.pop((event_id, emoji), None) \
                or await self._look(room_id, event_id, emoji)
        except (UnavailableError, AuthError):
            return
        if given is not None:
            await self._api.cosmetic("PUT", "rooms", room_id, "redact",
                                     given, secrets.token_hex(16),
                                     room=room_id)

    async def _find(self, recipient: str) -> str:
        """The room; none is made to show a sign in."""
        return recipient if recipient.startswith("!") \
            else await self._rooms.resolve(recipient, makes=False)

    async def _look(self, room_id: str, event_id: str, emoji: str
                    ) -> str | None:
        """Our reaction of before a restart."""
        me = await self._api.me()
        body = await self._api.call(
            "GET", "rooms", room_id, "relations", event_id, "m.annotation",
            REACTION, root=_RELATIONS, room=room_id, query={"limit": 100})
        for raw in items(body, "chunk"):
            try:
                event = read_event(raw)
            except ValueError:
                continue
            if event.sender == me.user_id and table(
                    event.content, "m.relates_to").get("key") == emoji:
                return event.event_id
        return None
