"""Invitations by rule.

Where rooms are listed (room_id, allowed_rooms) the bot joins those and no
other. Where none are it joins when somebody invites it who may write to it,
and, while a pairing code waits for its owner, whoever starts a chat of two.
Every other invitation is declined.
"""

import json
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from claw.channels.access import Door
from claw.channels.matrix.api import MatrixApi
from claw.channels.matrix.events import (
    MEMBER,
    Event,
    items,
    read_event,
    table,
)
from claw.channels.matrix.intake import person
from claw.channels.matrix.rooms import Rooms
from claw.core.channel import KeepsMarks
from claw.core.errors import ClawError, RequestRefusedError
from claw.core.log import Log
from claw.core.value import Value

JOIN_S = 60.0
TRY_AGAIN_S = (5.0, 30.0, 120.0, 600.0)
MARK = "invitations"  # that were accepted and are not joined yet


class Invitation(Value):
    """Who invited us, and whether to a chat of two."""

    room_id: str
    inviter: str
    is_direct: bool


def read_invitation(room_id: str, invited: Any, me: str
                    ) -> Invitation | None:
    """None where nobody is named, or several are: all but one of these
    events are what the inviter's server says, signed by nobody."""
    state = table(invited, "invite_state") if isinstance(invited, dict) \
        else {}
    found: list[Invitation] = []
    for raw in items(state, "events"):
        try:
            event: Event = read_event(raw)
        except ValueError:
            continue
        if event.type == MEMBER and event.state_key == me:
            found.append(Invitation(
                room_id, event.sender,
                event.content.get("is_direct") is True))
    return found[-1] if len({one.inviter for one in found}) == 1 else None


def is_welcome(invitation: Invitation, door: Door,
               rooms: Collection[str]) -> bool:
    """The rule of this module."""
    if rooms:
        return invitation.room_id in rooms
    return door.allows(person(invitation.inviter)) or (
        invitation.is_direct and door.pairing is not None
        and door.pairing.code is not None)


class Invites:
    """Joins and declines; `run` starts what nobody waits for."""

    def __init__(self, api: MatrixApi, rooms: Rooms, door: Door,
                 marks: KeepsMarks, log: Log,
                 run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._api = api
        self._rooms = rooms
        self._door = door
        self._marks = marks
        self._log = log
        self._run = run
        self._waiting: dict[str, Invitation] = {}

    def resume(self) -> None:
        """Go on joining what was accepted before a restart."""
        try:
            found = json.loads(self._marks.get(MARK) or "[]")
            waiting = [Invitation(*one) for one in found]
        except (ValueError, TypeError):
            waiting = []
        for invitation in waiting:
            self._accept(invitation)

    def consider(self, room_id: str, invited: Any, me: str,
                 rooms: Collection[str]) -> None:
        invitation = read_invitation(room_id, invited, me)
        if invitation is None or room_id in self._waiting:
            return
        if is_welcome(invitation, self._door, rooms):
            self._accept(invitation)
            return
        self._log("invitation_declined", room=room_id,
                  inviter=invitation.inviter, hint=(
                      "add the room to channels_config.matrix.allowed_rooms"
                      if rooms else "add the inviter to "
                      "channels_config.matrix.allowed_users"))
        self._run(self._leave(room_id))

    def join(self, room_id: str, by: str) -> None:
        """Join a room that somebody leads us to."""
        if room_id not in self._waiting:
            self._accept(Invitation(room_id, by, False))

    def _accept(self, invitation: Invitation) -> None:
        self._waiting[invitation.room_id] = invitation
        self._save()
        self._run(self._join(invitation))

    def _save(self) -> None:
        self._marks.set(MARK, json.dumps([
            [one.room_id, one.inviter, one.is_direct]
            for one in self._waiting.values()]) if self._waiting else None)

    async def _join(self, invitation: Invitation) -> None:
        room_id = invitation.room_id
        for wait_s in (*TRY_AGAIN_S, None):
            try:
                await self._api.call(
                    "POST", "join", room_id, timeout_s=JOIN_S,
                    query={"via": invitation.inviter.partition(":")[2]})
                self._log("room_joined", room=room_id,
                          inviter=invitation.inviter)
                if invitation.is_direct:
                    await self._rooms.note_direct(invitation.inviter,
                                                  room_id)
                break
            except ClawError as error:
                self._log("join_failed", room=room_id, error=error.message)
                if isinstance(error, RequestRefusedError) or wait_s is None:
                    break
                await self._api.sleep(wait_s)
        self._waiting.pop(room_id, None)
        self._save()

    async def _leave(self, room_id: str) -> None:
        await self._api.cosmetic("POST", "rooms", room_id, "leave")
